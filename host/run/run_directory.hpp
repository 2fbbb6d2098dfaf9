// The files of a run, and the rules by which its checkpoints are kept and removed:
//
//   config.toml   metrics.jsonl   samples.png   report.html   play.html
//   sessions.jsonl                              when and on what it was started and resumed
//   data.jsonl                                  own files: what was found in them at the start
//   events.out.tfevents.0.sfnn                 for TensorBoard, if it was asked for
//   search.json, search.jsonl                   --search-lr: what was asked for, each rate tried
//   lock                                        held by the process that trains here
//   checkpoints/step-00000600.safetensors ...   the newest train.keep of them
//   checkpoints/best.safetensors                by validation NLL
//   checkpoints/latest                          the name of the newest, for people and scripts
//
// Nothing is written or read through a link in it: a link throws DataError.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/function_ref.hpp"
#include "host/formats/file_lock.hpp"
#include "host/run/checkpoint.hpp"
#include "host/run/config.hpp"

namespace sfnn {

class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  // Makes and locks the first of parent/name-1, -2, ... that is unused: of several processes that
  // ask at once, each gets its own.
  static RunDirectory claim_new(const std::filesystem::path& parent, const std::string& name);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path sessions() const { return path_ / "sessions.jsonl"; }
  std::filesystem::path report() const { return path_ / "report.html"; }
  std::filesystem::path play() const { return path_ / "play.html"; }
  std::filesystem::path samples() const { return path_ / "samples.png"; }
  // TensorBoard knows such files by the word between the dots.
  std::filesystem::path events() const { return path_ / "events.out.tfevents.0.sfnn"; }
  std::filesystem::path data() const { return path_ / "data.jsonl"; }
  std::filesystem::path search() const { return path_ / "search.jsonl"; }
  std::filesystem::path search_options() const { return path_ / "search.json"; }
  Config config() const;  // config of the run in it
  std::filesystem::path best() const { return path_ / "checkpoints" / "best.safetensors"; }

  bool holds_run() const;  // is there a config of a run?
  // Makes the directory and keeps other runs out as long as this object or the process lives.
  // Throws ConfigError if another process trains there. Whatever writes to the directory locks it
  // first. Temporaries of killed runs are removed.
  void lock();
  // Locks the directory for a search, whose files `create` then accepts. is_known: the files there
  // belong to a search. If not, throws ConfigError if files are in the way.
  void begin_search(bool is_known);
  // Locks the directory for a new run and writes its config, or throws ConfigError: it already
  // holds a run, of this config or another, or files with names that a run uses.
  void create(const Config&);
  // Throws ConfigError, which says how to continue, if there are checkpoints but no config.
  void require_config_of_checkpoints() const;
  // Throws ConfigError, with the differences, if the directory's config is not this one.
  void require_same(const Config&) const;
  // The same, but the schedule may be another; own: config(), read before.
  void require_continues(const Config& own, const Config& other) const;
  // Writes the config of a run that continues with another schedule; the directory is locked.
  void change_config(const Config&) const;

  // Locks the directory and removes the files of a run of this config, and nothing else. Throws
  // ConfigError, before anything is touched, if the directory holds something else; a missing or
  // empty one is fine.
  void clear(const Config&);

  // Saves it as the newest. Older ones beyond the config's train.keep are removed.
  void save(const Checkpoint&);
  void save_best(const Checkpoint&);
  // The newest whole checkpoint. Damaged ones are reported to `warn` and skipped.
  std::optional<Checkpoint> newest(const std::function<void(const std::string&)>& warn) const;
  // For a run without a whole checkpoint. Throws DataError if it must have saved one: there are
  // damaged ones, or `latest` or the metrics mention one that is gone.
  void require_never_saved() const;
  std::vector<std::filesystem::path> steps() const;  // all that are kept, newest first

 private:
  bool is_unused() const;              // missing, or nothing in it but a lock
  bool try_lock(std::string& holder);  // false: another process trains there
  void lock_after(FunctionRef<void()> require_room);
  void require_nothing_in_the_way() const;
  void remove_temporaries() const;
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  struct StepFile {
    std::int64_t step;
    std::filesystem::path path;
  };
  std::vector<StepFile> step_files() const;  // newest first

  std::filesystem::path path_;
  std::shared_ptr<const FileLock> lock_;
  bool searches_ = false;
};

// For people: the directory's own name, or the file's.
std::string name_of_run(const std::filesystem::path&);

// A run directory's newest (or best) checkpoint, or the file itself.
Checkpoint open_checkpoint(const std::filesystem::path& run_or_file, bool best,
                           const std::function<void(const std::string&)>& warn);

}  // namespace sfnn

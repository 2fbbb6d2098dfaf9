#include "host/run/run_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/run/records.hpp"

namespace sfnn {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kStep = "step-", kEnding = ".safetensors";

std::string step_name(std::int64_t step) { return fmt::format("{}{:08}{}", kStep, step, kEnding); }

// None: not a name made by step_name.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kStep)) return std::nullopt;
  std::int64_t step = -1;
  std::from_chars(name.data() + kStep.size(), name.data() + name.size(), step);
  return step >= 0 && step_name(step) == name ? std::optional(step) : std::nullopt;
}

}  // namespace

bool RunDirectory::holds_run() const { return fs::exists(path_ / "config.toml"); }

Config RunDirectory::config() const {
  require_no_link(path_ / "config.toml");
  return load_config(path_ / "config.toml");
}

RunDirectory RunDirectory::claim_new(const fs::path& parent, const std::string& name) {
  for (int number = 1;; ++number) {
    RunDirectory directory(parent / fmt::format("{}-{}", name, number));
    std::string holder;
    // Looked at again with the lock: a short run may have come and gone in between.
    if (directory.is_unused() && directory.try_lock(holder) && directory.is_unused())
      return directory;
  }
}

bool RunDirectory::is_unused() const {
  const auto is_lock = [](const fs::directory_entry& e) { return e.path().filename() == "lock"; };
  return !fs::exists(fs::symlink_status(path_)) ||
         (fs::is_directory(path_) && std::ranges::all_of(fs::directory_iterator(path_), is_lock));
}

void RunDirectory::lock() {
  std::string holder;
  if (try_lock(holder)) return;
  throw ConfigError(fmt::format("{} is in use by {}: wait for its end, or choose another --out",
                                path_.string(), holder));
}

bool RunDirectory::try_lock(std::string& holder) {
  if (lock_) return true;
  make_directories(path_);
  require_no_link(checkpoints());
  if (fs::exists(checkpoints()) && !fs::is_directory(checkpoints())) {
    throw ConfigError(
        fmt::format("{} exists and is no directory: choose another --out", checkpoints().string()));
  }
  lock_ = FileLock::take(path_ / "lock", holder);
  // Outside a run, such a name belongs to somebody else.
  if (lock_ && (holds_run() || fs::exists(search_options()))) remove_temporaries();
  return lock_ != nullptr;
}

// Without a lock file nothing is left among somebody else's files; with one, its holder may be
// writing them.
void RunDirectory::lock_after(FunctionRef<void()> require_room) {
  if (!fs::exists(fs::symlink_status(path_ / "lock"))) require_room();
  lock();
  require_room();
}

// Those of the report stay: a process that writes it holds no lock and may still be busy.
void RunDirectory::remove_temporaries() const {
  constexpr std::array<std::string_view, 7> kFiles = {"config.toml",
                                                      "metrics.jsonl",
                                                      "samples.png",
                                                      "data.jsonl",
                                                      "search.json",
                                                      "search.jsonl",
                                                      "events.out.tfevents.0.sfnn"};
  constexpr std::array<std::string_view, 2> kCheckpoints = {"latest", "best.safetensors"};
  const auto remove = [](const fs::path& directory, const auto& is_ours) {
    std::error_code ignored;  // one leftover file is no reason to stop
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      const auto target = target_of_temporary(entry.path().filename().string());
      if (target && is_ours(*target) && entry.symlink_status().type() == fs::file_type::regular)
        fs::remove(entry.path(), ignored);
    }
  };
  remove(path_,
         [&](const std::string& name) { return std::ranges::find(kFiles, name) != kFiles.end(); });
  remove(checkpoints(), [&](const std::string& name) {
    return step_of(name) || std::ranges::find(kCheckpoints, name) != kCheckpoints.end();
  });
}

void RunDirectory::create(const Config& config) {
  const auto require_room = [&] {
    if (holds_run()) {
      require_same(config);
      throw ConfigError(
          fmt::format("{} holds a run of this config already: continue it with "
                      "--resume, or choose another --out",
                      path_.string()));
    }
    require_nothing_in_the_way();
  };
  lock_after(require_room);
  write_file_atomically(path_ / "config.toml", to_toml(config));
}

// A run's config is written first: files without one belong to somebody else, and would be replaced
// or, like old checkpoints, removed.
void RunDirectory::require_nothing_in_the_way() const {
  require_config_of_checkpoints();
  std::vector<fs::path> files = steps();
  for (const fs::path& file : {best(), checkpoints() / "latest", metrics(), sessions(), report(),
                               play(), samples(), events(), data(), search(), search_options()}) {
    if (searches_ && (file == search() || file == search_options())) continue;
    const fs::file_type type = fs::symlink_status(file).type();
    if (type != fs::file_type::not_found && type != fs::file_type::directory) files.push_back(file);
  }
  if (files.empty()) return;
  throw ConfigError(fmt::format("{} exists and belongs to no run of {}: choose another --out",
                                files.front().string(), path_.string()));
}

void RunDirectory::require_config_of_checkpoints() const {
  const std::vector<fs::path> files = steps();
  if (files.empty() || holds_run()) return;
  throw ConfigError(fmt::format(
      "{} exists, and {} does not: to continue that run, write its config there "
      "again, which `sfnn info {}` shows; else choose another --out",
      files.front().string(), (path_ / "config.toml").string(), files.front().string()));
}

void RunDirectory::begin_search(bool is_known) {
  if (is_known) {
    lock();
  } else {
    lock_after([&] { require_nothing_in_the_way(); });
  }
  searches_ = true;
}

void RunDirectory::require_same(const Config& other) const {
  const auto changed = differences(config(), other);
  if (changed.empty()) return;
  throw ConfigError(fmt::format("{} holds a run of another config ({}): choose another --out",
                                path_.string(), fmt::join(changed, "; ")));
}

void RunDirectory::require_continues(const Config& own, const Config& other) const {
  const auto changed = differences(with_schedule_of(own, other), other);
  if (changed.empty()) return;
  throw ConfigError(
      fmt::format("{0} holds a run of another config ({1}), and --resume may change only {2}: "
                  "choose another --out, with --init-from {0} to start from its weights",
                  path_.string(), fmt::join(changed, "; "), kMayChange));
}

void RunDirectory::change_config(const Config& config) const {
  write_file_atomically(path_ / "config.toml", to_toml(config));
}

void RunDirectory::clear(const Config& config) {
  if (is_unused()) return;
  if (!holds_run()) {
    throw ConfigError(
        fmt::format("{} exists and holds no run: choose another --out", path_.string()));
  }
  require_same(config);  // before a lock is left in somebody else's run
  lock();
  require_same(config);
  for (const StepFile& file : step_files()) fs::remove(file.path);
  for (const fs::path& file :
       {best(), checkpoints() / "latest", metrics(), sessions(), report(), play(), data(), search(),
        search_options(), samples(), events(), path_ / "config.toml"}) {
    fs::remove(file);
  }
}

void RunDirectory::save(const Checkpoint& checkpoint) {
  make_directories(checkpoints());
  const std::string name = step_name(checkpoint.state.step);
  save_checkpoint(checkpoints() / name, checkpoint);
  write_file_atomically(checkpoints() / "latest", name + "\n");

  // Files of later steps are damaged ones that this run did not resume from: they neither count nor
  // are removed.
  std::vector<StepFile> files = step_files();
  std::erase_if(files, [&](const StepFile& file) { return file.step > checkpoint.state.step; });
  for (std::size_t i = checkpoint.config.save.keep; i < files.size(); ++i) {
    std::error_code ignored;  // one leftover file is no reason to stop
    fs::remove(files[i].path, ignored);
  }
}

void RunDirectory::save_best(const Checkpoint& checkpoint) {
  make_directories(checkpoints());
  save_checkpoint(best(), checkpoint);
}

std::vector<RunDirectory::StepFile> RunDirectory::step_files() const {
  require_no_link(checkpoints());
  std::vector<StepFile> files;
  std::error_code ec, gone;
  fs::directory_iterator entry(checkpoints(), ec);
  for (; !ec && entry != fs::directory_iterator(); entry.increment(ec)) {
    const auto step = step_of(entry->path().filename().string());
    if (step && entry->symlink_status(gone).type() == fs::file_type::regular)
      files.push_back({*step, entry->path()});
  }
  // A checkpoint that cannot be listed may exist all the same.
  if (ec && ec != std::errc::no_such_file_or_directory && ec != std::errc::not_a_directory)
    throw DataError(fmt::format("{}: cannot be read: {}", checkpoints().string(), ec.message()));
  std::ranges::sort(files, std::greater(), &StepFile::step);
  return files;
}

std::vector<fs::path> RunDirectory::steps() const {
  std::vector<fs::path> paths;
  for (const StepFile& file : step_files()) paths.push_back(file.path);
  return paths;
}

std::optional<Checkpoint> RunDirectory::newest(
    const std::function<void(const std::string&)>& warn) const {
  const std::vector<StepFile> files = step_files();
  for (const StepFile& file : files) {
    try {
      return load_checkpoint(file.path);
    } catch (const DataError& error) {
      const bool oldest = file.step == files.back().step;
      warn(
          fmt::format("{}: {}", error.what(),
                      oldest ? "there is none before it" : "skipped for the checkpoint before it"));
    }
  }
  return std::nullopt;
}

void RunDirectory::require_never_saved() const {
  const auto stop = [&](const std::string& what) {
    throw DataError(
        fmt::format("{}: put a whole one back, or start anew with another --out", what));
  };
  if (const std::size_t count = step_files().size(); count > 0) {
    stop(count == 1
             ? fmt::format("the only checkpoint of {} is not whole", path_.string())
             : fmt::format("none of the {} checkpoints of {} is whole", count, path_.string()));
  }
  const fs::path latest = checkpoints() / "latest";
  if (fs::exists(fs::symlink_status(latest)))
    stop(fmt::format("{} names a checkpoint, and there is none", latest.string()));
  // An epoch's line comes before its checkpoint, and after all that were due earlier.
  const SaveConfig save = config().save;
  for (const EpochRecord& record : read_epochs(metrics(), [](const std::string&) {})) {
    if (record.never_saved) continue;
    const std::uint64_t epoch = record.epoch.value_or(0), step = record.step.value_or(0);
    const std::uint64_t per_epoch = epoch > 0 ? step / epoch : 0, every = save.steps;
    const bool within = every > 0 && every < step && per_epoch > 0 && every % per_epoch != 0;
    if (epoch > std::uint64_t(save.every) || within) {
      stop(fmt::format(
          "{} tells of epoch {}, before which a checkpoint was saved, and there is none",
          metrics().string(), epoch));
    }
  }
}

std::string name_of_run(const fs::path& run) {
  const fs::path path = run.lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

Checkpoint open_checkpoint(const fs::path& run_or_file, bool best,
                           const std::function<void(const std::string&)>& warn) {
  if (!fs::is_directory(run_or_file)) return load_checkpoint(run_or_file);
  const RunDirectory run(run_or_file);
  if (best) {
    require_no_link(run.best().parent_path());
    require_no_link(run.best());
  }
  if (best && !fs::exists(run.best())) {
    throw ConfigError(
        fmt::format("{} has no best checkpoint, as its run has validated nothing (data.valid): "
                    "leave --best out",
                    run_or_file.string()));
  }
  if (best) return load_checkpoint(run.best());
  if (auto checkpoint = run.newest(warn)) return std::move(*checkpoint);
  throw DataError(fmt::format("{} has no checkpoint that can be read", run_or_file.string()));
}

}  // namespace sfnn

// A run on disk, opened once: its directory, its config and its newest checkpoint, which is read
// with the lock held. The code that continues the run takes all of it over.
#pragma once

#include <exception>
#include <filesystem>
#include <optional>

#include "host/run/metrics.hpp"
#include "host/run/run_directory.hpp"

namespace sfnn {

class Run {
 public:
  explicit Run(std::filesystem::path directory) : directory_(std::move(directory)) {}
  explicit Run(RunDirectory directory) : directory_(std::move(directory)) {}

  RunDirectory& directory() { return directory_; }
  const RunDirectory& directory() const { return directory_; }
  // Config of the run in the directory; read when first asked for. None: there is no run.
  const std::optional<Config>& config();
  // Throws ConfigError, with the differences, if the directory's run cannot continue with this one.
  void require_continues(const Config&);

  // Locks the directory, then reads its newest checkpoint. Damaged ones are reported to `warn` and
  // skipped. Throws ConfigError if another process trains there. A read-only directory is opened
  // all the same: require_lock() then throws.
  void open(const Warn& warn);
  void look(const Warn& warn) { newest_ = directory_.newest(warn); }  // the same without a lock
  void require_lock() const;

  // The checkpoint found by open() or look(); none: there is no whole one.
  const std::optional<Checkpoint>& newest() const { return newest_; }
  // Is it the last that a run of this config has to make?
  bool is_finished(const Config&) const;
  std::optional<Checkpoint> take_newest() { return std::exchange(newest_, std::nullopt); }

 private:
  RunDirectory directory_;
  std::optional<Config> config_;
  std::optional<Checkpoint> newest_;
  std::exception_ptr not_locked_;
};

}  // namespace sfnn

// A run on disk, opened once: its directory, its config and its newest checkpoint, which is read
// with the lock held. Whoever goes on with the run hands all of it over.
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

  RunDirectory& directory() { return directory_; }
  const RunDirectory& directory() const { return directory_; }
  // Of the run that the directory holds; read when it is first asked for. None: it holds none.
  const std::optional<Config>& config();
  // Throws ConfigError, with the differences, if the directory's run has another config.
  void require_same(const Config&);

  // Locks the directory, then reads its newest checkpoint. Damaged ones are named to `warn` and
  // passed over. Throws ConfigError if another process trains there. What lies where one may not
  // write is opened all the same: require_lock() then throws.
  void open(const Warn& warn);
  void look(const Warn& warn) { newest_ = directory_.newest(warn); }  // the same without a lock
  void require_lock() const;

  // Of what was opened; none: there is no whole one.
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

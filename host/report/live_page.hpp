// report.html of a run that is being trained: rewritten after each epoch, and reloads itself as
// long as the run lives. Made of the run's own records; nothing is measured on the test examples
// for it.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "host/run/training_run.hpp"

namespace sfnn {

class LivePage {
 public:
  // warn: told, once, if the page cannot be written; training continues.
  explicit LivePage(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}

  void write(const TrainingRun&);       // reloads itself
  void write_last(const TrainingRun&);  // does not: the run has stopped
  static std::filesystem::path path_of(const TrainingRun&);

 private:
  void write(const TrainingRun&, int reload_seconds);

  std::function<void(const std::string&)> warn_;
  bool failed_ = false;
};

}  // namespace sfnn

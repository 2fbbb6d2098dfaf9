// What a training tells of itself while it goes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sfnn {

struct ProgressFigures {
  std::int64_t epoch = 0, epochs = 0;  // epoch counts from 1
  std::int64_t step = 0, total_steps = 0;
  double C_hat = 0;                               // mean over the epoch's examples so far
  bool by_R = false;                              // C_hat is by draws of R
  std::optional<double> valid_nll;                // at the end of the last epoch
  std::optional<double> valid_nll_proposal = {};  // by draws of R, if there is one
  std::optional<double> valid_error;              // classifiers: share of wrong ones
  double examples_per_second = 0;
  double seconds_left = 0;
};

// All are called by the thread that trains, and any may be left empty. What one throws ends the
// training and reaches its caller.
struct Callbacks {
  std::function<bool()> stop = {};  // asked after each step: true ends the training early
  std::function<void(const ProgressFigures&)> step = {};   // on a GPU every few steps
  std::function<void(const ProgressFigures&)> epoch = {};  // at the end of each epoch
  std::function<void(const std::string&)> message = {};    // a line for people
  std::function<void(const std::string&)> warning = {};    // the same, for what went wrong
};

}  // namespace sfnn

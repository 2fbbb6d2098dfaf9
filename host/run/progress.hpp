// What a run reports while it trains. This base class is silent; a program overrides what it shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sfnn {

struct ProgressFigures {
  std::int64_t epoch = 0, epochs = 0;  // epoch counts from 1
  std::int64_t step = 0, total_steps = 0;
  double C_hat = 0;
  std::optional<double> valid_nll;    // at the end of the last epoch
  std::optional<double> valid_error;  // classifiers: share of wrong answers
  double examples_per_second = 0;
  double seconds_left = 0;
};

class Progress {
 public:
  virtual ~Progress() = default;

  virtual void say(const std::string&) {}       // one line
  virtual void warn(const std::string&) {}      // the same, for what went wrong
  virtual bool due() const { return false; }    // should step() be called now?
  virtual void step(const ProgressFigures&) {}  // called if due
  virtual void show(const std::string&) {}      // the progress of a search, called often
  virtual void epoch(const ProgressFigures&, double /*seconds*/) {}
};

}  // namespace sfnn

// What a run reports while it trains. This base class is silent; a program overrides what it shows.
#pragma once

#include <cstdint>
#include <sfnn/progress.hpp>
#include <string>

#include "host/train/trainer.hpp"

namespace sfnn {

// Where a trainer is, and how fast it went since `first_step`, which is `seconds` ago. Waits for
// the device; validation is for the caller to fill in.
ProgressFigures progress_of(Trainer&, const DataSet&, std::int64_t first_step, double seconds);

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

// What a run tells of itself while it goes. This one is silent; a program overrides what it shows.
#pragma once

#include <sfnn/progress.hpp>
#include <string>

namespace sfnn {

class Progress {
 public:
  virtual ~Progress() = default;

  virtual void say(const std::string&) {}       // a line of its own
  virtual void warn(const std::string&) {}      // the same, for what went wrong
  virtual bool due() const { return false; }    // does it want to hear of a step now?
  virtual void step(const ProgressFigures&) {}  // called if due
  virtual void show(const std::string&) {}      // where a search is, often
  virtual void epoch(const ProgressFigures&, double /*seconds*/) {}
};

}  // namespace sfnn

// What a person sees of a long run: a line that moves on a terminal, a line an epoch elsewhere. One
// that cannot be written (a full disk, a terminal that is gone) is no reason to end the run.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "host/run/progress.hpp"

namespace sfnn {

class TerminalProgress : public Progress {
 public:
  enum class Mode { quiet, lines, terminal };

  // interval: from one move of the line to the next, at least.
  explicit TerminalProgress(Mode mode, std::FILE* out = stdout,
                            std::chrono::milliseconds interval = std::chrono::milliseconds(100))
      : mode_(mode), out_(out), interval_(interval) {}
  static Mode suitable_mode(bool quiet);  // terminal where stdout is one

  void say(const std::string& line) override;
  void warn(const std::string& line) override;  // on stderr, even if all else is quiet
  bool due() const override;                    // is it time to move the line again?
  void step(const ProgressFigures&) override;   // moves the line, on a terminal
  void show(const std::string& line) override;  // the same with any text, cut where it ends
  void epoch(const ProgressFigures&, double seconds) override;

 private:
  void clear_line();

  Mode mode_;
  std::FILE* out_;
  std::chrono::milliseconds interval_;
  bool line_shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

std::string moving_line(const ProgressFigures&, int columns);  // fits into so many

}  // namespace sfnn

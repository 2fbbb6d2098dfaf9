// What a person sees of a long run: a moving line on a terminal, one line per epoch elsewhere. A
// line that cannot be written (disk full, terminal closed) does not end the run.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "host/run/progress.hpp"

namespace sfnn {

class TerminalProgress : public Progress {
 public:
  enum class Mode { quiet, lines, terminal };

  // interval: least time between two moves of the line.
  explicit TerminalProgress(Mode mode, std::FILE* out = stdout,
                            std::chrono::milliseconds interval = std::chrono::milliseconds(100))
      : mode_(mode), out_(out), interval_(interval) {}
  static Mode suitable_mode(bool quiet);  // terminal if stdout is one

  void say(const std::string& line) override;
  void warn(const std::string& line) override;  // on stderr, even if all else is quiet
  bool due() const override;                    // is it time to move the line again?
  void step(const ProgressFigures&) override;   // moves the line, on a terminal
  void show(
      const std::string& line) override;  // the same with any text, cut at the terminal's width
  void epoch(const ProgressFigures&, double seconds) override;

 private:
  void clear_line();

  Mode mode_;
  std::FILE* out_;
  std::chrono::milliseconds interval_;
  bool line_shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

std::string moving_line(const ProgressFigures&, int columns);  // fits into `columns`

}  // namespace sfnn

// What a person sees of a long run: a line that moves on a terminal, a line an epoch elsewhere. One
// that cannot be written (a full disk, a terminal that is gone) is no reason to end the run.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace sfnn {

struct ProgressFigures {
  std::int64_t epoch = 0, epochs = 0;  // epoch counts from 1
  std::int64_t step = 0, total_steps = 0;
  double C_hat = 0;
  std::optional<double> valid_nll;    // of the last epoch's end
  std::optional<double> valid_error;  // classifiers: share of wrong ones
  double examples_per_second = 0;
  double seconds_left = 0;
};

class Progress {
 public:
  enum class Mode { quiet, lines, terminal };

  // interval: from one move of the line to the next, at least.
  explicit Progress(Mode mode, std::FILE* out = stdout,
                    std::chrono::milliseconds interval = std::chrono::milliseconds(100))
      : mode_(mode), out_(out), interval_(interval) {}
  static Mode suitable_mode(bool quiet);  // terminal where stdout is one

  void say(const std::string& line);   // a line of its own
  void warn(const std::string& line);  // the same on stderr, even where all else is quiet
  bool due() const;                    // is it time to move the line again?
  void step(const ProgressFigures&);   // moves the line, on a terminal
  void show(std::string line);         // the same with any text, cut where the terminal ends
  void epoch(const ProgressFigures&, double seconds);

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

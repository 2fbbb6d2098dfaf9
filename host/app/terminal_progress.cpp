#include "host/app/terminal_progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "host/base/duration.hpp"

namespace sfnn {
namespace {

int terminal_columns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string bar(double share, int width) {
  const int filled = std::clamp(int(share * width), 0, width);
  return std::string(filled, '#') + std::string(width - filled, '.');
}

const char* criterion(const ProgressFigures& f) { return f.by_R ? "C_hat by R" : "C_hat"; }

std::string validation(const ProgressFigures& f) {
  std::string text;
  if (f.valid_nll) text += fmt::format("  valid NLL {:.3f}", *f.valid_nll);
  if (f.valid_nll_proposal) text += fmt::format(" (by R {:.3f})", *f.valid_nll_proposal);
  if (f.valid_error) text += fmt::format(" error {:.2f} %", 100 * *f.valid_error);
  return text;
}

// The same in fewer letters.
std::string short_validation(const ProgressFigures& f) {
  std::string text;
  if (f.valid_nll) text += fmt::format("  valid {:.2f}", *f.valid_nll);
  if (f.valid_nll_proposal) text += fmt::format(" (by R {:.2f})", *f.valid_nll_proposal);
  if (f.valid_error) text += fmt::format(" {:.2f} %", 100 * *f.valid_error);
  return text;
}

// duration() in fewer letters.
std::string short_duration(double seconds) {
  std::string text = duration(seconds);
  std::erase(text, ' ');
  if (const auto minutes = text.find("min"); minutes != std::string::npos)
    text.erase(minutes + 1, 2);
  return text;
}

}  // namespace

TerminalProgress::Mode TerminalProgress::suitable_mode(bool quiet) {
  if (quiet) return Mode::quiet;
  return isatty(STDOUT_FILENO) ? Mode::terminal : Mode::lines;
}

void TerminalProgress::clear_line() {
  if (line_shown_) std::fputs("\r\033[K", out_);
  line_shown_ = false;
}

void TerminalProgress::say(const std::string& line) {
  if (mode_ == Mode::quiet) return;
  clear_line();
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

void TerminalProgress::warn(const std::string& line) {
  clear_line();
  std::fflush(out_);
  std::fprintf(stderr, "sfnn: %s\n", line.c_str());
}

bool TerminalProgress::due() const {
  return mode_ == Mode::terminal && std::chrono::steady_clock::now() - last_ >= interval_;
}

// The bar takes the space that the figures leave. If there is none, words are shortened, then the
// step is dropped (the bar shows it, too), and finally everything but the time left.
std::string moving_line(const ProgressFigures& f, int columns) {
  const std::string epoch = fmt::format("epoch {}/{}  ", f.epoch, f.epochs);
  const std::string step = fmt::format("{}/{}  ", f.step, f.total_steps);
  const std::string left = fmt::format("{} left", duration(f.seconds_left));
  const std::string brief =
      fmt::format("{} {:.2f}{}  {:.0f} ex/s  {} left", criterion(f), f.C_hat, short_validation(f),
                  f.examples_per_second, short_duration(f.seconds_left));
  const std::string full =
      fmt::format("step {}{} {:.2f}{}  {:.0f} examples/s  {}", step, criterion(f), f.C_hat,
                  validation(f), f.examples_per_second, left);
  constexpr int kNarrowest = 5, kWidest = 30;
  for (const std::string& figures : {full, "step " + step + brief, step + brief, brief}) {
    const int room = columns - 4 - int(epoch.size() + figures.size());
    if (room < kNarrowest) continue;
    return fmt::format("{}[{}] {}", epoch,
                       bar(double(f.step) / double(f.total_steps), std::min(room, kWidest)),
                       figures);
  }
  std::string line = int(epoch.size() + brief.size()) < columns ? epoch + brief : epoch + left;
  line.resize(std::min<std::size_t>(line.size(), std::max(columns - 1, 0)));
  return line;
}

void TerminalProgress::step(const ProgressFigures& f) {
  if (due()) show(moving_line(f, terminal_columns()));
}

void TerminalProgress::show(const std::string& line) {
  if (!due()) return;
  last_ = std::chrono::steady_clock::now();
  const std::string shown = line.substr(0, terminal_columns() - 1);
  std::fprintf(out_, "\r\033[K%s", shown.c_str());
  std::fflush(out_);
  line_shown_ = true;
}

void TerminalProgress::epoch(const ProgressFigures& f, double seconds) {
  say(fmt::format("epoch {:>{}}/{}  {} {:.3f}{}  {:.1f} s  {:.0f} examples/s  {} left", f.epoch,
                  std::to_string(f.epochs).size(), f.epochs, criterion(f), f.C_hat, validation(f),
                  seconds, f.examples_per_second, duration(f.seconds_left)));
}

}  // namespace sfnn

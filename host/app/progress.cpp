#include "host/app/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace sfnn {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

int terminal_columns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string bar(double share, int width) {
  const int filled = std::clamp(int(share * width), 0, width);
  return std::string(filled, '#') + std::string(width - filled, '.');
}

}  // namespace

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  const auto s = std::max<long>(0, std::lround(seconds));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s % 3600 / 60);
}

Progress::Mode Progress::suitable_mode(bool quiet) {
  if (quiet) return Mode::quiet;
  return isatty(STDOUT_FILENO) ? Mode::terminal : Mode::lines;
}

void Progress::clear_line() {
  if (line_shown_) fmt::print(out_, "\r\033[K");
  line_shown_ = false;
}

void Progress::say(const std::string& line) {
  if (mode_ == Mode::quiet) return;
  clear_line();
  fmt::print(out_, "{}\n", line);
  std::fflush(out_);
}

bool Progress::due() const {
  return mode_ == Mode::terminal && std::chrono::steady_clock::now() - last_ >= kInterval;
}

void Progress::step(const ProgressFigures& f) {
  if (!due()) return;
  last_ = std::chrono::steady_clock::now();
  std::string line =
      fmt::format("epoch {}/{} [{}] step {}/{}  C_hat {:.2f}  {:.0f} examples/s  {} left", f.epoch,
                  f.epochs, bar(double(f.step) / double(f.total_steps), 20), f.step, f.total_steps,
                  f.C_hat, f.examples_per_second, duration(f.seconds_left));
  line.resize(std::min<std::size_t>(line.size(), terminal_columns() - 1));
  fmt::print(out_, "\r\033[K{}", line);
  std::fflush(out_);
  line_shown_ = true;
}

void Progress::epoch(const ProgressFigures& f, double seconds) {
  const std::string valid = f.valid_nll ? fmt::format("  valid NLL {:.3f}", *f.valid_nll) : "";
  say(fmt::format("epoch {:>{}}/{}  C_hat {:.3f}{}  {:.1f} s  {:.0f} examples/s  {} left", f.epoch,
                  std::to_string(f.epochs).size(), f.epochs, f.C_hat, valid, seconds,
                  f.examples_per_second, duration(f.seconds_left)));
}

}  // namespace sfnn

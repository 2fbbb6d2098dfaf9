#include "host/io/metrics.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "host/backend/error.hpp"
#include "host/io/atomic_file.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = std::size_t(256) << 20;

// A line is whole once its newline is there.
std::string_view whole_lines(std::string_view text) { return text.substr(0, text.rfind('\n') + 1); }

}  // namespace

void append_metrics(const fs::path& path, const MetricsLine& line) {
  const auto fail = [&](const std::string& why) {
    throw Error(fmt::format("{}: cannot be written: {}", path.string(), why));
  };
  if (fs::exists(path)) {
    const std::string text = read_file(path, kMaxBytes);
    const std::size_t whole = whole_lines(text).size();
    std::error_code error;
    if (whole < text.size()) fs::resize_file(path, whole, error);
    if (error) fail(error.message());
  }
  std::ofstream out(path, std::ios::app | std::ios::binary);
  out << line.dump() + '\n' << std::flush;
  if (!out) fail(std::generic_category().message(errno));
}

std::vector<MetricsLine> parse_metrics(std::string_view text, std::string_view name) {
  std::vector<MetricsLine> lines;
  std::string_view rest = whole_lines(text);
  for (int number = 1; !rest.empty(); ++number) {
    const auto refuse = [&](const char* why) {
      throw DataError(fmt::format("{}:{}: {}", name, number, why));
    };
    const std::size_t end = rest.find('\n');
    MetricsLine line = MetricsLine::parse(rest.substr(0, end), nullptr, /*allow_exceptions=*/false);
    if (!line.is_object()) refuse("not a JSON object");
    if (line.contains("epoch") && !line["epoch"].is_number_unsigned())
      refuse("its epoch is not a count");
    lines.push_back(std::move(line));
    rest.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<MetricsLine> read_metrics(const fs::path& path) {
  if (!fs::exists(path)) return {};
  return parse_metrics(read_file(path, kMaxBytes), path.string());
}

void rewrite_metrics(const fs::path& path, const std::vector<MetricsLine>& lines) {
  std::string text;
  for (const MetricsLine& line : lines) text += line.dump() + '\n';
  write_file_atomically(path, text);
}

}  // namespace sfnn

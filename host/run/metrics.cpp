#include "host/run/metrics.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/file_descriptor.hpp"
#include "host/formats/json_depth.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = std::size_t(256) << 20;

// A line is whole once its newline is there.
std::string_view whole_lines(std::string_view text) { return text.substr(0, text.rfind('\n') + 1); }

void cut_torn_line(const fs::path& path, const FileDescriptor& file) {
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  char last = '\n';
  if (size <= 0 || (::pread(file.get(), &last, 1, size - 1) == 1 && last == '\n')) return;
  const std::size_t whole = whole_lines(read_file(path, kMaxBytes)).size();
  if (::ftruncate(file.get(), off_t(whole)) != 0) {
    throw SaveError(fmt::format("{}: cannot be written: {}", path.string(),
                                std::generic_category().message(errno)));
  }
}

}  // namespace

void append_metrics(const fs::path& path, const MetricsLine& line) {
  const auto fail = [&](const std::string& why) {
    throw SaveError(fmt::format("{}: cannot be written: {}", path.string(), why));
  };
  // A link in a directory that others made is not followed, and a pipe keeps nothing.
  const FileDescriptor file(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW);
  struct stat facts {};
  if (!file.is_open() || ::fstat(file.get(), &facts) != 0)
    fail(std::generic_category().message(errno));
  if (!S_ISREG(facts.st_mode)) fail("not a regular file");
  cut_torn_line(path, file);
  const std::string text = line.dump() + '\n';
  const ssize_t count = ::write(file.get(), text.data(), text.size());
  if (count < 0) fail(std::generic_category().message(errno));
  if (std::size_t(count) < text.size()) fail("the disk is full");
  // The next checkpoint counts on this line.
  if (::fsync(file.get()) != 0) fail(std::generic_category().message(errno));
  // A directory that is writable but not readable cannot be opened: the system syncs it when it
  // likes.
  if (facts.st_size == 0 && !sync_directory(path.parent_path()) && errno != EACCES)
    fail(std::generic_category().message(errno));
}

void for_each_line(std::string_view text, std::string_view name, const Warn& warn,
                   FunctionRef<void(MetricsLine&&)> f) {
  std::string_view rest = whole_lines(text);
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const std::string_view json = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const char* fault = nullptr;
    MetricsLine line;
    if (is_nested_too_deeply(json)) {
      fault = "nested too deeply";
    } else if (line = MetricsLine::parse(json, nullptr, /*allow_exceptions=*/false);
               !line.is_object()) {
      fault = "not a JSON object";
    } else if (line.contains(kEpochKey) && !line[kEpochKey].is_number_unsigned()) {
      fault = "its epoch is not a count";
    }
    if (fault == nullptr) {
      f(std::move(line));
    } else if (warn) {
      warn(fmt::format("{}:{}: {}: skipped", name, number, fault));
    } else {
      throw DataError(fmt::format("{}:{}: {}", name, number, fault));
    }
  }
}

std::vector<MetricsLine> parse_metrics(std::string_view text, std::string_view name,
                                       const Warn& warn) {
  std::vector<MetricsLine> lines;
  for_each_line(text, name, warn, [&](MetricsLine&& line) { lines.push_back(std::move(line)); });
  return lines;
}

std::string text_of_lines(const fs::path& path) {
  require_no_link(path);
  return fs::exists(path) ? read_file(path, kMaxBytes) : std::string();
}

std::vector<MetricsLine> read_metrics(const fs::path& path, const Warn& warn) {
  return parse_metrics(text_of_lines(path), path.string(), warn);
}

std::string to_text(const std::vector<MetricsLine>& lines) {
  std::string text;
  for (const MetricsLine& line : lines) text += line.dump() + '\n';
  return text;
}

void rewrite_metrics(const fs::path& path, const std::vector<MetricsLine>& lines) {
  write_file_atomically(path, to_text(lines));
}

}  // namespace sfnn

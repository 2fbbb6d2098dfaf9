// Files of JSON objects, one per line: metrics.jsonl has one per epoch. Their contents, and those
// of sessions.jsonl, are described in records.hpp.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/function_ref.hpp"

namespace sfnn {

using MetricsLine = nlohmann::ordered_json;
inline constexpr const char* kEpochKey = "epoch";

// Appends one line with a single write and syncs it, and the directory if the file is new. A torn
// line that a killed run left at the end is cut off first. Throws SaveError.
void append_metrics(const std::filesystem::path&, const MetricsLine&);

// All whole lines; a torn last one is skipped. Each is an object, nested no deeper than
// kMaxJsonDepth (host/formats/json_depth.hpp), and its "epoch", if it has one, is a count: nothing
// else is promised. Other lines are reported to `warn` and skipped; without `warn`, DataError is
// thrown. Takes at most 64 times the memory of the text, and a file of more than 256 MiB is
// refused, as is a link.
using Warn = std::function<void(const std::string&)>;
std::vector<MetricsLine> parse_metrics(std::string_view text, std::string_view name_for_errors,
                                       const Warn& warn = nullptr);
std::vector<MetricsLine> read_metrics(const std::filesystem::path&,
                                      const Warn& warn = nullptr);  // no file: no lines
// The same, line by line.
void for_each_line(std::string_view text, std::string_view name_for_errors, const Warn& warn,
                   FunctionRef<void(MetricsLine&&)> f);
std::string text_of_lines(const std::filesystem::path&);  // no file: empty

// Replaces the file by these lines, atomically: a resumed run removes epochs that come after its
// checkpoint.
void rewrite_metrics(const std::filesystem::path&, const std::vector<MetricsLine>&);
std::string to_text(const std::vector<MetricsLine>&);  // as the file has them

}  // namespace sfnn

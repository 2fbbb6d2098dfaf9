// metrics.jsonl: what a run measured, a JSON object a line, a line an epoch.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace sfnn {

using MetricsLine = nlohmann::ordered_json;

// Appends one line, handed to the system in one piece. A torn line that a killed run left at the
// end is cut off first. Throws Error.
void append_metrics(const std::filesystem::path&, const MetricsLine&);

// All whole lines; a torn last one is passed over, no file means no lines. Throws DataError naming
// file and line.
std::vector<MetricsLine> read_metrics(const std::filesystem::path&);

// Puts these lines in place of whatever the file holds, atomically: a resumed run takes back epochs
// that its checkpoint does not know of.
void rewrite_metrics(const std::filesystem::path&, const std::vector<MetricsLine>&);

}  // namespace sfnn

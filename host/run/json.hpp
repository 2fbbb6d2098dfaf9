// What --json prints of runs and measurements; docs/json.md has every key. Keys of a record of
// metrics.jsonl and sessions.jsonl are those of the file (host/run/records.hpp).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "host/run/checkpoint.hpp"
#include "host/run/config.hpp"
#include "host/run/records.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn {

using Json = nlohmann::ordered_json;

Json json_of(const Config&);  // by key; numbers, text, true or false, lists
Json json_of(const Evaluation&);
Json json_of(const NetworkSpec&);     // text, parameters and tensors
const char* best_key(const Config&);  // of the lowest validation figure: which one it is
Json json_of_state(const Checkpoint&);
Json json_of(const std::vector<EpochRecord>&);
Json json_of(const std::vector<SessionRecord>&);

std::string to_text(const Json&);  // indented, with a newline at the end

}  // namespace sfnn

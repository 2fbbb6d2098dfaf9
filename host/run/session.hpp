// When a run was trained, on which device and by which version: one line of sessions.jsonl each
// time it is started or resumed. None of it changes the result, so none of it belongs to the
// config.
#pragma once

#include <cstdint>
#include <string>

#include "host/backend/backend.hpp"
#include "host/run/records.hpp"

namespace sfnn {

std::string program_version();  // "0.1.0"
std::string utc_now();          // "2026-01-31 12:30 UTC"
std::string cpu_model();        // as the system names it; empty if it does not

SessionRecord session_record(const Backend&, std::int64_t first_step);

}  // namespace sfnn

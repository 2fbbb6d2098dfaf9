// The page of runs on disk, or its figures: reads their files, measures them where their data are
// at hand.
#pragma once

#include <filesystem>
#include <sfnn/report.hpp>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"

namespace sfnn {

// What <sfnn/report.hpp> says of report_html and report_json.
std::string page_of_runs(Backend&, const std::vector<std::filesystem::path>& runs,
                         const ReportOptions&);
std::string json_of_runs(Backend&, const std::vector<std::filesystem::path>& runs,
                         const ReportOptions&);

}  // namespace sfnn

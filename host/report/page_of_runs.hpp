// The page of runs on disk, or its figures: reads their files, measures them where their data are
// at hand.
#pragma once

#include <filesystem>
#include <sfnn/report.hpp>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/report/page.hpp"

namespace sfnn {

// What <sfnn/report.hpp> says of report_html and report_json.
std::string page_of_runs(Backend&, const std::vector<std::filesystem::path>& runs,
                         const ReportOptions&);
// The same page, and its charts and numbers as files.
struct PageWithFiles {
  std::string page;
  std::vector<ReportFile> files;
};
PageWithFiles page_with_files(Backend&, const std::vector<std::filesystem::path>& runs,
                              const ReportOptions&);
std::string json_of_runs(Backend&, const std::vector<std::filesystem::path>& runs,
                         const ReportOptions&);

}  // namespace sfnn

// The page's charts as SVG files and its numbers as CSV, to put into slides and papers.
#include <fmt/format.h>

#include <set>

#include "host/report/sections.hpp"

namespace sfnn {
namespace {

// "C_hat against M: glyphs halves" -> "c_hat-against-m-glyphs-halves"
std::string file_name(const std::string& title) {
  constexpr std::size_t kMostLetters = 80;
  std::string name;
  for (const char letter : title.substr(0, kMostLetters)) {
    const bool upper = letter >= 'A' && letter <= 'Z';
    const bool kept = upper || (letter >= 'a' && letter <= 'z') || letter == '_' ||
                      (letter >= '0' && letter <= '9');
    if (kept) {
      name += upper ? char(letter - 'A' + 'a') : letter;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "chart" : name;
}

class Files {
 public:
  void add(const std::string& title, std::string svg, std::string csv) {
    const std::string name = unused(file_name(title));
    files_.push_back({name + ".svg", std::move(svg)});
    files_.push_back({name + ".csv", std::move(csv)});
  }
  void add(const std::vector<Chart>& charts) {
    for (const Chart& chart : charts)
      add(chart.title, to_svg_file({chart}, /*columns=*/1), to_csv(chart));
  }
  void add_csv(const std::string& name, std::string csv) {
    files_.push_back({unused(name) + ".csv", std::move(csv)});
  }
  std::vector<ReportFile> take() { return std::move(files_); }

 private:
  std::string unused(const std::string& wanted) {
    std::string name = wanted;
    for (int k = 2; !names_.insert(name).second; ++k) name = fmt::format("{}-{}", wanted, k);
    return name;
  }

  std::vector<ReportFile> files_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<ReportFile> report_files(const std::vector<ReportRun>& runs) {
  Files files;
  files.add_csv("final-figures", final_csv(runs));
  files.add(learning_charts(runs));
  files.add(particles_charts(runs));
  files.add(hidden_units_charts(runs));
  for (ConfusionFile& file : confusion_files(runs))
    files.add("classes " + file.run, std::move(file.svg), std::move(file.csv));
  return files.take();
}

}  // namespace sfnn

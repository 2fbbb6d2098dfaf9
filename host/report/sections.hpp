// What the report's sections share. For the files of this folder alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/report/chart.hpp"
#include "host/report/page.hpp"

namespace sfnn {

using Runs = std::vector<ReportRun>;

inline constexpr std::string_view kNothing = "\u2013";  // in place of a figure that does not exist

std::string fixed(std::optional<double> value, int digits);

// As measured for this page, else as the run itself found it.
std::optional<Evaluation> test_of(const ReportRun&);
bool draws_in_test(const ReportRun&);  // are there hidden units to draw when it is tested?

std::string section(std::string_view title, std::string_view text, const std::string& content);
std::string card(const std::string& content);
std::string named(const Runs&, std::size_t r);  // a run's name with its colour

// Runs whose configs differ in the seed alone, in the order of the first of each.
struct SeedGroup {
  std::string name;
  std::vector<std::size_t> runs;  // their places
};
std::vector<SeedGroup> by_seed(const Runs&);

std::string final_section(const Runs&, const ReportOrigin&);
std::string final_csv(const Runs&);  // the numbers of its table

std::string seeds_section(const Runs&);  // empty if no config has several seeds

// Sections that are charts, and the charts; empty if there is nothing to draw.
std::string learning_section(const Runs&);
std::string particles_section(const Runs&);
std::string hidden_units_section(const Runs&);
std::vector<Chart> learning_charts(const Runs&);
std::vector<Chart> particles_charts(const Runs&);
std::vector<Chart> hidden_units_charts(const Runs&);

// Which classes are taken for which, one matrix per run that was tested on classes.
std::string confusion_section(const Runs&);
struct ConfusionFile {
  std::string run, svg, csv;
};
std::vector<ConfusionFile> confusion_files(const Runs&);

}  // namespace sfnn

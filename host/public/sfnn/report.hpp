// Runs and samples to look at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <sfnn/data.hpp>
#include <sfnn/device.hpp>
#include <sfnn/network.hpp>
#include <string>
#include <vector>

namespace sfnn {

struct ReportOptions {
  bool best = false;  // measure the checkpoints of lowest validation NLL, not the newest
  std::vector<std::string> settings = {};  // "eval.particles=1000": changes to the runs' configs
  std::filesystem::path data_root = {};    // as in Data::load
  std::int64_t draws = 1;                  // as in EvaluateOptions
  // Told of what is left out of the page; a line each.
  std::function<void(const std::string&)> warning = [](const std::string&) {};
};

// One self-contained HTML page that shows a run, or compares several. Throws ConfigError if a
// directory holds no run, DataError if it has no sound checkpoint. A run whose data are not at hand
// is shown without what takes them.
std::string report_html(const Device&, const std::vector<std::filesystem::path>& runs,
                        const ReportOptions& = {});

// The figures of the same page for programs; docs/json.md has every key.
std::string report_json(const Device&, const std::vector<std::filesystem::path>& runs,
                        const ReportOptions& = {});

struct PictureOptions {
  std::int64_t rows = 10;     // test examples
  std::int64_t samples = 10;  // draws of the hidden units for each
  std::int64_t first = 0;     // the first test example shown
  bool draw_pixels = false;   // Bernoulli: pixels drawn as bits, else their probabilities
};

// Test examples, what the network was given of them and what it makes of that, as a PNG file.
// Throws ConfigError if the data have no pictures.
std::string sample_png(const Network&, const Data&, const PictureOptions& = {});

}  // namespace sfnn

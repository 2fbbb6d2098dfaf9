// One self-contained page that compares runs: what they measured, what they are, and where they
// ran.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/run/checkpoint.hpp"
#include "host/run/rate_search.hpp"
#include "host/run/records.hpp"
#include "host/train/activity.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn {

// Measurements that needed the network and its data, not only the run's files.
struct Measured {
  std::string data_name;
  Evaluation test;
  std::vector<LayerActivity> start;    // with the initial weights; empty: they are gone
  std::vector<LayerActivity> trained;  // the same layers with the run's weights
};

struct ReportRun {
  std::string name, path;
  NetworkSpec network;
  Config config;
  ByteEncoding x_bytes = ByteEncoding::numbers;  // how its inputs are read
  TrainState state;
  std::vector<EpochRecord> metrics;
  std::vector<SessionRecord> sessions;
  std::vector<RateTrial> trials;  // of --search-lr; empty: there was no search
  std::optional<Measured> measured;
  std::optional<Evaluation> own_test;  // of its last epoch; only if not measured for the page
  std::string note;                    // why something is missing; empty: nothing is
  std::string png;                     // samples; empty: none
  std::string posterior_png = {};      // the same with draws of R
};

struct ReportOrigin {
  std::string version, date, device;
  std::vector<std::string> settings = {};  // "data.test_limit=500": changes made for the page
  int reload_seconds = 0;                  // a page of a run under way reloads itself; 0: never
};

std::string report_page(const std::vector<ReportRun>&, const ReportOrigin&);
// Its charts as SVG, and its numbers as CSV.
struct ReportFile {
  std::string name, content;
};
std::vector<ReportFile> report_files(const std::vector<ReportRun>&);
std::string report_json(const std::vector<ReportRun>&, const ReportOrigin&);  // docs/json.md

}  // namespace sfnn

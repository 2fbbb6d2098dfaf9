// A run's figures for TensorBoard: events.out.tfevents.0.sfnn in its directory, one event per
// epoch, made of the epoch's record in metrics.jsonl and, while the run trains, of what no record
// has: the distribution of p and sample pictures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/formats/png.hpp"
#include "host/run/records.hpp"
#include "host/run/run_directory.hpp"
#include "host/train/activity.hpp"

namespace sfnn {

// "valid_nll" becomes "valid/nll", "learning_rate" "train/learning_rate": TensorBoard shows a page
// for each word before a slash.
std::string tag_of(std::string_view metric);

class Dashboard {
 public:
  // Brings the file up to date: events that it has up to `step` stay, epochs of metrics.jsonl
  // that it has none of are added, all else goes, atomically. The directory is locked. Throws
  // SaveError.
  Dashboard(const RunDirectory&, std::int64_t step, const Warn& warn);

  // Appends an event; one that was torn by a full disk before is cut off. Throws SaveError.
  void add(const EpochRecord&, std::span<const LayerActivity>, const Picture* samples);

  std::int64_t events() const { return events_; }

 private:
  std::filesystem::path path_;
  std::int64_t size_ = 0, events_ = 0;  // bytes and events that are whole
  double last_time_ = 0;                // of an event
};

// The file of a run that is not training now, up to its last epoch, with samples.png if there is
// one. Returns the number of events. Throws ConfigError if the directory holds no run or another
// process trains there.
std::int64_t write_dashboard(const std::filesystem::path& run, const Warn& warn);

}  // namespace sfnn

// The lines of metrics.jsonl and sessions.jsonl, each key once. The files may have been edited by
// anybody: a value of the wrong type is read as missing, unknown keys are ignored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/run/metrics.hpp"

namespace sfnn {

enum class IfEmpty { left_out, null };  // how an empty value is written

// Measurements of a run in one epoch.
struct EpochRecord {
  std::optional<std::uint64_t> epoch, step;
  std::optional<double> train_c_hat;
  std::optional<double> valid_nll;
  std::optional<double> learning_rate, effective_particles;
  std::optional<double> valid_error;
  // Test figures, in the last epoch only: see test_figures.hpp.
  std::optional<double> test_nll, test_error, test_criterion_sse, test_mean_sse;
  std::optional<std::int64_t> test_particles;
  std::vector<std::string> warnings;
  std::optional<double> seconds;  // training time so far
  bool never_saved = false;       // checkpoints were due before, and none could be written

  // Calls v(key, value, if_empty) for each member, in the order of the file.
  template <class Self, class V>
  static void visit(Self& self, V&& v) {
    v(kEpochKey, self.epoch, IfEmpty::left_out);
    v("step", self.step, IfEmpty::left_out);
    v("train_c_hat", self.train_c_hat, IfEmpty::left_out);
    v("valid_nll", self.valid_nll, IfEmpty::null);
    v("learning_rate", self.learning_rate, IfEmpty::left_out);
    v("effective_particles", self.effective_particles, IfEmpty::left_out);
    v("valid_error", self.valid_error, IfEmpty::left_out);
    v("test_nll", self.test_nll, IfEmpty::left_out);
    v("test_error", self.test_error, IfEmpty::left_out);
    v("test_criterion_sse", self.test_criterion_sse, IfEmpty::left_out);
    v("test_mean_sse", self.test_mean_sse, IfEmpty::left_out);
    v("test_particles", self.test_particles, IfEmpty::left_out);
    v("warnings", self.warnings, IfEmpty::left_out);
    v("seconds", self.seconds, IfEmpty::left_out);
    v("never_saved", self.never_saved, IfEmpty::left_out);
  }
};

// When a run was started or resumed, on which device and by which version.
struct SessionRecord {
  std::optional<std::string> started;
  std::optional<std::uint64_t> step;  // the step it continued from
  std::optional<std::string> device, cpu, version;

  template <class Self, class V>
  static void visit(Self& self, V&& v) {
    v("started", self.started, IfEmpty::left_out);
    v("step", self.step, IfEmpty::left_out);
    v("device", self.device, IfEmpty::left_out);
    v("cpu", self.cpu, IfEmpty::left_out);
    v("version", self.version, IfEmpty::left_out);
  }
};

std::string to_text(const EpochRecord&);  // as in the file, without its newline
std::string to_text(const SessionRecord&);

// Like append_metrics and read_metrics. A record takes at most 96 times the memory of its line.
void append_record(const std::filesystem::path&, const EpochRecord&);
void append_record(const std::filesystem::path&, const SessionRecord&);
std::vector<EpochRecord> parse_epochs(std::string_view text, std::string_view name_for_errors,
                                      const Warn& warn = nullptr);
std::vector<EpochRecord> read_epochs(const std::filesystem::path&, const Warn& warn = nullptr);
std::vector<SessionRecord> read_sessions(const std::filesystem::path&, const Warn& warn = nullptr);

// Removes the lines of later epochs from the file, atomically, and leaves the others as they are: a
// resumed run trains and reports those epochs again.
void take_back_epochs_after(const std::filesystem::path&, std::uint64_t epoch, const Warn& warn);

}  // namespace sfnn

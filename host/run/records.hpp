// The lines of metrics.jsonl and sessions.jsonl, each key once. The files may have been edited by
// anybody: what is of another type than it should be is read as nothing, other keys are passed
// over.
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

// What a run measured in an epoch.
struct EpochRecord {
  std::optional<std::uint64_t> epoch, step;
  std::optional<double> train_c_hat;
  std::optional<double> valid_nll;
  std::optional<double> learning_rate, effective_particles;
  std::optional<double> valid_error;
  // Of the last epoch, as test_figures.hpp has them.
  std::optional<double> test_nll, test_error, test_criterion_sse, test_mean_sse;
  std::optional<std::int64_t> test_particles;
  std::vector<std::string> warnings;
  std::optional<double> seconds;  // of training so far
  bool never_saved = false;       // checkpoints were due before, and none could be written

  // v(key, value, if_empty) for each member, in the order of the file.
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

// On what, by what and when a run was started or resumed.
struct SessionRecord {
  std::optional<std::string> started;
  std::optional<std::uint64_t> step;  // the one it went on from
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

std::string to_text(const EpochRecord&);  // as the file has it, without its newline
std::string to_text(const SessionRecord&);

// As append_metrics and read_metrics have it. A record takes at most 96 times the memory of its
// line.
void append_record(const std::filesystem::path&, const EpochRecord&);
void append_record(const std::filesystem::path&, const SessionRecord&);
std::vector<EpochRecord> parse_epochs(std::string_view text, std::string_view name_for_errors,
                                      const Warn& warn = nullptr);
std::vector<EpochRecord> read_epochs(const std::filesystem::path&, const Warn& warn = nullptr);
std::vector<SessionRecord> read_sessions(const std::filesystem::path&, const Warn& warn = nullptr);

// Takes the lines of later epochs out of the file, atomically, and leaves the others as they are:
// a resumed run trains, and reports, again what its checkpoint does not know of.
void take_back_epochs_after(const std::filesystem::path&, std::uint64_t epoch, const Warn& warn);

}  // namespace sfnn

// The lines of metrics.jsonl and sessions.jsonl, each key once; the records themselves are public:
// <sfnn/run.hpp>. The files may have been edited by anybody: a value of the wrong type is read
// as missing, unknown keys are ignored.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <sfnn/run.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "host/run/metrics.hpp"

namespace sfnn {

enum class IfEmpty { left_out, null };  // how an empty value is written

// v(key, value, if_empty) for each member, in the order of the file.
template <class Self, class V>
requires std::same_as<std::remove_const_t<Self>, EpochRecord>
void visit_record(Self& record, V&& v) {
  v(kEpochKey, record.epoch, IfEmpty::left_out);
  v("step", record.step, IfEmpty::left_out);
  v("train_c_hat", record.train_c_hat, IfEmpty::left_out);
  v("train_c_hat_proposal", record.train_c_hat_proposal, IfEmpty::left_out);
  v("valid_nll", record.valid_nll, IfEmpty::null);
  v("valid_nll_proposal", record.valid_nll_proposal, IfEmpty::left_out);
  v("learning_rate", record.learning_rate, IfEmpty::left_out);
  v("effective_particles", record.effective_particles, IfEmpty::left_out);
  v("effective_particles_proposal", record.effective_particles_proposal, IfEmpty::left_out);
  v("valid_error", record.valid_error, IfEmpty::left_out);
  v("valid_effective_particles", record.valid_effective_particles, IfEmpty::left_out);
  v("valid_effective_particles_proposal", record.valid_effective_particles_proposal,
    IfEmpty::left_out);
  v("gradient_norm", record.gradient_norm, IfEmpty::left_out);
  v("clipped", record.clipped, IfEmpty::left_out);
  v("train_c_hat_within", record.train_c_hat_within, IfEmpty::left_out);
  v("train_c_hat_proposal_within", record.train_c_hat_proposal_within, IfEmpty::left_out);
  v("average_valid_nll", record.average_valid_nll, IfEmpty::left_out);
  v("average_valid_nll_proposal", record.average_valid_nll_proposal, IfEmpty::left_out);
  v("average_valid_error", record.average_valid_error, IfEmpty::left_out);
  v("average_valid_effective_particles", record.average_valid_effective_particles,
    IfEmpty::left_out);
  v("average_valid_effective_particles_proposal", record.average_valid_effective_particles_proposal,
    IfEmpty::left_out);
  v("test_nll", record.test_nll, IfEmpty::left_out);
  v("test_error", record.test_error, IfEmpty::left_out);
  v("test_criterion_sse", record.test_criterion_sse, IfEmpty::left_out);
  v("test_mean_sse", record.test_mean_sse, IfEmpty::left_out);
  v("test_sigma", record.test_sigma, IfEmpty::left_out);
  v("test_particles", record.test_particles, IfEmpty::left_out);
  v("test_examples", record.test_examples, IfEmpty::left_out);
  v("test_nll_se", record.test_nll_se, IfEmpty::left_out);
  v("test_error_se", record.test_error_se, IfEmpty::left_out);
  v("test_criterion_sse_se", record.test_criterion_sse_se, IfEmpty::left_out);
  v("test_mean_sse_se", record.test_mean_sse_se, IfEmpty::left_out);
  v("average_test_nll", record.average_test_nll, IfEmpty::left_out);
  v("average_test_error", record.average_test_error, IfEmpty::left_out);
  v("average_test_criterion_sse", record.average_test_criterion_sse, IfEmpty::left_out);
  v("average_test_mean_sse", record.average_test_mean_sse, IfEmpty::left_out);
  v("average_test_sigma", record.average_test_sigma, IfEmpty::left_out);
  v("average_test_nll_se", record.average_test_nll_se, IfEmpty::left_out);
  v("average_test_error_se", record.average_test_error_se, IfEmpty::left_out);
  v("average_test_criterion_sse_se", record.average_test_criterion_sse_se, IfEmpty::left_out);
  v("average_test_mean_sse_se", record.average_test_mean_sse_se, IfEmpty::left_out);
  v("best_test_nll", record.best_test_nll, IfEmpty::left_out);
  v("best_test_error", record.best_test_error, IfEmpty::left_out);
  v("test_nll_proposal", record.test_nll_proposal, IfEmpty::left_out);
  v("test_nll_proposal_se", record.test_nll_proposal_se, IfEmpty::left_out);
  v("test_effective_particles", record.test_effective_particles, IfEmpty::left_out);
  v("test_effective_particles_proposal", record.test_effective_particles_proposal,
    IfEmpty::left_out);
  v("average_test_nll_proposal", record.average_test_nll_proposal, IfEmpty::left_out);
  v("average_test_nll_proposal_se", record.average_test_nll_proposal_se, IfEmpty::left_out);
  v("average_test_effective_particles", record.average_test_effective_particles, IfEmpty::left_out);
  v("average_test_effective_particles_proposal", record.average_test_effective_particles_proposal,
    IfEmpty::left_out);
  v("best_test_nll_proposal", record.best_test_nll_proposal, IfEmpty::left_out);
  v("warnings", record.warnings, IfEmpty::left_out);
  v("seconds", record.seconds, IfEmpty::left_out);
  v("never_saved", record.never_saved, IfEmpty::left_out);
}

template <class Self, class V>
requires std::same_as<std::remove_const_t<Self>, SessionRecord>
void visit_record(Self& record, V&& v) {
  v("started", record.started, IfEmpty::left_out);
  v("step", record.step, IfEmpty::left_out);
  v("device", record.device, IfEmpty::left_out);
  v("cpu", record.cpu, IfEmpty::left_out);
  v("version", record.version, IfEmpty::left_out);
}

std::string to_text(const EpochRecord&);  // as in the file, without its newline
std::string to_text(const SessionRecord&);

// Like append_metrics and read_metrics. A record takes at most 384 times the memory of its line.
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

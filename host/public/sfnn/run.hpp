// Runs on disk: trained into a directory, resumed, searched for their rate, and read. The
// directories are those of `sfnn train --out`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <sfnn/config.hpp>
#include <sfnn/data.hpp>
#include <sfnn/device.hpp>
#include <sfnn/evaluate.hpp>
#include <sfnn/progress.hpp>
#include <string>
#include <vector>

namespace sfnn {

// The rates 1, 3 x 10^k from low to high are tried on the validation examples.
struct RateSearchOptions {
  double low = 1e-4, high = 1;
  std::int64_t epochs = 0;  // per rate; 0: a fifth of train.epochs, at least 2
};

struct TrainRunOptions {
  // Examples to use in place of those that the config's data.* keys name. They are not stored with
  // the run: whoever resumes it brings them again.
  std::optional<Data> data = {};
  std::filesystem::path data_root = {};          // as in Data::load
  std::optional<RateSearchOptions> search = {};  // train with the best rate, not the config's
  std::optional<std::int64_t> epochs = {};       // resume_run: train on to this many
  bool continue_on_save_error = false;  // if a checkpoint cannot be written, continue without it
};

struct RunResult {
  bool finished = false;                // false: stopped, with the state saved
  std::int64_t step = 0;                // steps done
  std::optional<double> learning_rate;  // none: stopped in the search for it
  std::optional<Evaluation> test;       // if the run is finished
};

// Starts a run in a directory that holds none yet, and trains it to its end or until callbacks.stop
// says so. Throws ConfigError if the directory holds a run already or another process trains there,
// SaveError if a file cannot be written.
RunResult train_run(const Device&, const std::filesystem::path& directory, const RunConfig&,
                    const TrainRunOptions& = {}, const Callbacks& = {});

// Continues a run, or the search that it began with, with the config that the directory holds; what
// is finished already returns at once. On the same kind of device the run ends as if it had never
// stopped, bit for bit. With options.epochs a finished or stopped run continues to that many, with
// a new tail of its schedule if that ends in zero. options.search is not needed, for the directory
// has it. Data that the run's config names must lie in the data directories: throws DataError if
// they do not.
RunResult resume_run(const Device&, const std::filesystem::path& directory,
                     const TrainRunOptions& = {}, const Callbacks& = {});

// A line of metrics.jsonl: what a run measured in an epoch. The files may have been edited by
// anybody: what is missing or of another type is empty.
struct EpochRecord {
  std::optional<std::uint64_t> epoch, step;
  // By the particles of training: those of P or, if there is an R, its own (..._proposal).
  std::optional<double> train_c_hat, train_c_hat_proposal;
  std::optional<double> valid_nll;           // by draws of P
  std::optional<double> valid_nll_proposal;  // by draws of R, if there is one
  std::optional<double> learning_rate, effective_particles, effective_particles_proposal;
  std::optional<double> valid_error;
  // If there is an R, of both.
  std::optional<double> valid_effective_particles, valid_effective_particles_proposal;
  std::optional<double> gradient_norm;  // mean over the steps, before clipping
  std::optional<double> clipped;        // share of the steps; with train.clip_norm
  // C_hat of each tenth of the epoch's steps; of each step, if there are fewer than ten. Empty if
  // the program that began the epoch did not record it.
  std::vector<double> train_c_hat_within, train_c_hat_proposal_within;
  // Of the moving average of the weights, with train.ema; all else is of the weights as trained.
  std::optional<double> average_valid_nll, average_valid_nll_proposal, average_valid_error,
      average_valid_effective_particles, average_valid_effective_particles_proposal;
  // The last epoch only.
  std::optional<double> test_nll, test_error, test_criterion_sse, test_mean_sse, test_sigma;
  std::optional<std::int64_t> test_particles, test_examples;
  std::optional<double> test_nll_se, test_error_se, test_criterion_sse_se, test_mean_sse_se;
  std::optional<double> average_test_nll, average_test_error, average_test_criterion_sse,
      average_test_mean_sse, average_test_sigma;
  std::optional<double> average_test_nll_se, average_test_error_se, average_test_criterion_sse_se,
      average_test_mean_sse_se;
  // Of the best checkpoint, with train.patience, by the weights that eval.weights chooses.
  std::optional<double> best_test_nll, best_test_error;
  // If there is an R: by its draws, and the effective particles of both.
  std::optional<double> test_nll_proposal, test_nll_proposal_se, test_effective_particles,
      test_effective_particles_proposal, average_test_nll_proposal, average_test_nll_proposal_se,
      average_test_effective_particles, average_test_effective_particles_proposal,
      best_test_nll_proposal;
  std::vector<std::string> warnings;
  std::optional<double> seconds;  // training time so far
  bool never_saved = false;       // checkpoints were due before, and none could be written
};

// One key of the lines of metrics.jsonl.
struct MetricColumn {
  std::string key;             // "valid_nll"
  std::vector<double> values;  // one per epoch; NaN if its line has none
};

// A line of sessions.jsonl: on what, by what and when a run was started or resumed.
struct SessionRecord {
  std::optional<std::string> started;
  std::optional<std::uint64_t> step;  // the step it continued from
  std::optional<std::string> device, cpu, version;
};

// A run to look at, by its files, which are read when they are asked for. Network::load has its
// weights.
class SavedRun {
 public:
  explicit SavedRun(std::filesystem::path directory);  // throws ConfigError if it holds no run

  const std::filesystem::path& directory() const { return directory_; }
  RunConfig config() const;
  Data data(const std::filesystem::path& root = {}) const;  // what resume_run would use
  // Damaged lines are passed over.
  std::vector<EpochRecord> epochs() const;
  std::vector<MetricColumn> metrics() const;  // the numbers of epochs() by key; those that occur
  std::vector<SessionRecord> sessions() const;
  std::vector<std::filesystem::path> checkpoints() const;  // all that are kept, newest first
  std::optional<std::filesystem::path> best() const;       // the one of lowest validation NLL

 private:
  std::filesystem::path directory_;
};

}  // namespace sfnn

// A training run from its first step, or from where it stopped, to its last: validation and one
// line of metrics per epoch, checkpoints, one test at the end.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/base/names.hpp"
#include "host/run/assemble.hpp"
#include "host/run/dashboard.hpp"
#include "host/run/progress.hpp"
#include "host/run/records.hpp"
#include "host/run/run.hpp"
#include "host/train/evaluate.hpp"
#include "host/train/trainer.hpp"

namespace sfnn {

enum class OnSaveError { stop, go_on };
inline constexpr Names<OnSaveError, 2> kOnSaveErrors{
    {{OnSaveError::stop, "stop"}, {OnSaveError::go_on, "continue"}}};
constexpr const auto& names_of(OnSaveError) { return kOnSaveErrors; }

// Begins after step `first` and ends after step `last`.
struct StepRange {
  std::int64_t first = -1, last = -1;  // -1: never
};

class TrainingRun;

// How a run behaves on this machine; none of it changes the result.
struct RunOptions {
  MachineOptions machine;
  OnSaveError on_save_error = OnSaveError::stop;      // if a file cannot be written
  StepRange profiled;                                 // the steps that a profiler sees
  std::function<bool()> stop = [] { return false; };  // asked after each step
  std::optional<TrainPlan> plan = {};                 // if it has been made already
  bool tensorboard = false;                           // a run that has event files keeps them up
  // Called before the first epoch and after each, once its record is written.
  std::function<void(const TrainingRun&)> epoch_ended = [](const TrainingRun&) {};
};

class TrainingRun {
 public:
  // run: a fresh one to start in its directory, or an opened one to resume. The data and the
  // backend must outlive it.
  TrainingRun(Backend&, const Config&, RunOptions, const DataSet&, Run run, Progress&);

  // Takes the weights that the config asks for, drawn ones or those of net.init_from, and creates
  // the run in its directory.
  void start();
  // Continues from the newest checkpoint, or from the first weights if there was none yet. Throws
  // DataError, and changes nothing, if the directory has lost it.
  void resume();

  enum class End { finished, stopped };
  // Stopped: by options.stop, with the state saved. If a file cannot be written it throws
  // SaveError or continues, as options.on_save_error says; the last state must be saved or the run
  // fails.
  End train();

  // By the weights that eval.weights chooses: of the last epoch, and with train.patience of the
  // best.
  const std::optional<Evaluation>& test() const { return test_; }
  const std::optional<Evaluation>& best_test() const { return best_test_; }
  std::int64_t best_epoch() const { return best_.epoch; }
  const NetworkSpec& network() const { return spec_; }
  const Config& config() const { return config_; }
  const DataSet& data() const { return data_; }
  std::string device() const { return backend_.describe(); }
  Model test_model() const { return test_model(config_.eval.weights); }
  TrainState numbers() const;  // where it is, without the arrays
  Trainer& trainer() { return trainer_; }
  const RunDirectory& directory() const { return run_.directory(); }

 private:
  Trainer make_trainer(const TrainOptions&);
  void restore(Checkpoint);
  void begin_tail(const Checkpoint& saved);  // if its config is not this run's
  void end_epoch();
  void finish();
  void draw_samples();
  Picture samples();
  void open_dashboard();  // if it was asked for, or the run has one
  void add_to_dashboard(const EpochRecord&, std::span<const LayerActivity>, bool last);
  void show_progress(bool epoch_done);
  static void require_finite(const std::optional<std::string>& what_is_not);
  std::vector<LayerActivity> look_at_hidden_units();
  // Warnings about the epoch that has ended; each is said when it first appears.
  std::vector<std::string> warnings(const Trainer::EpochMeans&, std::span<const LayerActivity>);
  double seconds() const;
  bool ends_part(std::int64_t steps) const;   // after so many steps of the epoch
  void mark_part();                           // notes C_hat where a part of the epoch ends
  std::vector<double> c_hat_by_part() const;  // empty if parts were not noted
  // The weights as trained and their average, if there is one; each as it is tested.
  Model test_model(EvalWeights) const;
  bool has_average() const { return trainer_.average() != nullptr; }
  void test(EpochRecord&);
  Evaluation evaluate_on(const Model&, const Examples&, const Model* R);
  Evaluation validate(EvalWeights);
  void validate(EpochRecord&, Checkpoint&);  // all weights; keeps the best
  bool lost_patience() const;                // after a validation
  bool checkpoint_is_due() const;            // within an epoch
  // The state after the last step, downloaded once. Throws Error if a number is not finite.
  Checkpoint snapshot();
  void save();  // as the newest checkpoint
  void save(Checkpoint&);
  void save_as_best(Checkpoint&, double valid_nll);
  void append_records();  // writes those that metrics.jsonl does not have yet
  // Calls `files`, which writes some. If one cannot be written, write() stops the run;
  // try_to_write() stops it too, or warns and returns false, as options.on_save_error says.
  void write(const std::function<void()>& files);
  bool try_to_write(const std::function<void()>& files);

  Backend& backend_;
  Config config_;
  RunOptions options_;
  const DataSet& data_;
  Run run_;
  Progress& progress_;
  NetworkSpec spec_;
  Examples looked_at_;  // for warnings
  Trainer trainer_;
  // Staged when they are first needed, for all epochs.
  std::optional<EvaluationData> valid_data_;
  std::optional<StagedData> looked_at_staged_;
  struct Best {
    std::optional<double> valid_nll;  // none before the first validation
    std::int64_t epoch = 0;
  };
  Best best_;
  std::optional<Evaluation> valid_;  // validation of the last epoch that ended, if it had one
  std::optional<Evaluation> test_, best_test_;
  std::chrono::steady_clock::time_point session_start_ = std::chrono::steady_clock::now();
  double seconds_before_ = 0;  // spent by earlier sessions
  std::int64_t session_first_step_ = 0;
  std::int64_t saved_step_ = -1;             // step of the newest checkpoint
  bool tried_to_save_ = false;               // in this session
  bool ended_early_ = false;                 // by train.patience
  std::set<std::string> said_;               // warnings that were shown
  std::vector<double> c_hat_marks_;          // as in TrainState
  std::deque<EpochRecord> unsaved_records_;  // oldest first
  std::optional<Dashboard> dashboard_;
};

}  // namespace sfnn

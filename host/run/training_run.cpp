#include "host/run/training_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "host/base/error.hpp"
#include "host/run/data_facts.hpp"
#include "host/run/pictures.hpp"
#include "host/run/session.hpp"
#include "host/run/test_figures.hpp"
#include "host/train/activity.hpp"
#include "host/train/health.hpp"

namespace sfnn {
namespace {

// Steps between reads of the metrics on a device that must be waited for; elsewhere a read is two
// numbers, and every step has one.
constexpr std::int64_t kLookEvery = 16;

// Examples that an epoch's warnings are based on; a few are enough, as each has all the units.
constexpr std::int64_t kExamplesLookedAt = 100, kParticlesLookedAt = 2;

// Parts of an epoch whose C_hat is recorded, at most: enough to see it move, too few to cost
// anything.
constexpr std::int64_t kPartsOfEpoch = 10;

}  // namespace

TrainingRun::TrainingRun(Backend& backend, const Config& config, RunOptions options,
                         const DataSet& data, Run run, Progress& progress)
    : backend_(backend),
      config_(config),
      options_(std::move(options)),
      data_(data),
      run_(std::move(run)),
      progress_(progress),
      spec_(network_of(config, data)),
      looked_at_(first_of(data.valid.count > 0 ? data.valid : data.train, kExamplesLookedAt)),
      trainer_(make_trainer(train_options_of(config, options_.machine, backend, run_.newest()))) {
  require(config.train.patience == 0 || data.valid.count > 0,
          fmt::format("train.patience = {} needs validation examples: set some aside with --set "
                      "data.valid=1000",
                      config.train.patience));
}

// The plan comes first: it counts the memory that is free.
Trainer TrainingRun::make_trainer(const TrainOptions& options) {
  const TrainPlan plan =
      options_.plan ? *options_.plan : plan_training(backend_, spec_, options, data_);
  const auto& saved = run_.newest();
  const bool fits = saved && saved->network() == spec_;  // if not, resuming refuses it
  const auto warn = [&](const std::string& line) { progress_.warn(line); };
  if (!fits && config_.net.init_from.empty())
    return {plan, fresh_model(backend_, spec_, options, data_), options, data_};
  const StartingWeights start =
      fits ? weights_from(*saved, config_) : starting_weights(config_, spec_, warn);
  return {plan, Model(backend_, spec_, start.P, data_.units), options, data_, start.R};
}

void TrainingRun::start() {
  run_.directory().create(config_);
  write([&] { write_data_facts(directory(), data_); });
}

void TrainingRun::resume() {
  require_same_data(directory(), data_);
  if (std::optional<Checkpoint> saved = run_.take_newest()) {
    restore(*std::move(saved));
  } else {
    directory().require_never_saved();
  }
  // Before the next checkpoint: should the run be killed until then, it begins its tail again.
  if (!differences(directory().config(), config_).empty()) directory().change_config(config_);
  take_back_epochs_after(directory().metrics(),
                         std::uint64_t(trainer_.step() / trainer_.steps_per_epoch()),
                         [&](const std::string& line) { progress_.warn(line); });
}

void TrainingRun::restore(Checkpoint saved) {
  const auto refuse = [&](const std::string& why) {
    throw DataError(fmt::format("{}: its checkpoint of step {} {}", directory().path().string(),
                                saved.state.step, why));
  };
  const auto changed = differences(with_schedule_of(saved.config, config_), config_);
  if (!changed.empty()) {
    throw ConfigError(
        fmt::format("{}: config.toml is not what its checkpoint of step {} was trained with ({}): "
                    "put it back as it was, or train with --init-from and another --out",
                    directory().path().string(), saved.state.step, fmt::join(changed, "; ")));
  }
  if (!(saved.network() == spec_)) refuse("is of another network");
  if (saved.state.step > trainer_.total_steps()) {
    throw ConfigError(fmt::format(
        "train.epochs = {}: {} has trained {} epochs and {} steps already; to have fewer, train "
        "anew with another --out",
        config_.train.epochs, directory().path().string(),
        saved.state.step / trainer_.steps_per_epoch(),
        saved.state.step % trainer_.steps_per_epoch()));
  }
  if (saved.device != backend_.name()) {
    progress_.say(
        fmt::format("the checkpoint was made on {}: {} rounds its sums in another order, "
                    "so the run continues, but not bit for bit",
                    saved.device.empty() ? "an unknown device" : saved.device, backend_.name()));
  }
  if (!saved.adds_by_tree()) {
    progress_.say(fmt::format(
        "the checkpoint is of version {}, which added the parts of a gradient in another order: "
        "the run continues, but not bit for bit",
        saved.version));
  }
  if (saved.scales_gradient()) {
    progress_.say(
        fmt::format("the checkpoint is of version {}, in which train.hidden_rate multiplied the "
                    "gradient: the run continues, but not bit for bit",
                    saved.version));
  }
  trainer_.restore(saved.state);
  begin_tail(saved);
  best_ = {saved.state.best_valid_nll, saved.state.best_epoch};
  c_hat_marks_ = saved.state.c_hat_marks;
  saved_step_ = session_first_step_ = saved.state.step;
  seconds_before_ = saved.state.seconds;
}

void TrainingRun::begin_tail(const Checkpoint& saved) {
  const auto changed = differences(saved.config, config_);
  if (changed.empty()) return;
  trainer_.begin_tail();
  const std::int64_t step = trainer_.step(), last = trainer_.total_steps();
  std::string how = "the rate continues as train.schedule says";
  if (step == last) {
    how = "all its steps are done";
  } else if (ends_in_zero(config_.train.schedule)) {
    how = fmt::format(
        "train.schedule = {} begins anew, with warm-up, a peak of {} and zero at step {}",
        to_string(config_.train.schedule), config_.train.learning_rate, last);
  }
  progress_.say(
      fmt::format("continued from step {} with {}: {}", step, fmt::join(changed, "; "), how));
}

double TrainingRun::seconds() const {
  const auto session = std::chrono::steady_clock::now() - session_start_;
  return seconds_before_ + std::chrono::duration<double>(session).count();
}

TrainState TrainingRun::numbers() const {
  return {.epoch = trainer_.step() / trainer_.steps_per_epoch(),
          .step = trainer_.step(),
          .seconds = seconds(),
          .best_valid_nll = best_.valid_nll,
          .best_epoch = best_.epoch};
}

Model TrainingRun::test_model(EvalWeights weights) const {
  return test_model_of(config_,
                       weights == EvalWeights::average ? *trainer_.average() : trainer_.model());
}

Evaluation TrainingRun::evaluate_on(const Model& model, const Examples& examples, const Model* R) {
  return evaluate(model, examples,
                  {.particles = config_.eval.particles, .seed = config_.train.seed}, R);
}

// The examples are staged once, by the first validation.
Evaluation TrainingRun::validate(EvalWeights weights) {
  const Model model = test_model(weights);
  if (!valid_data_) valid_data_.emplace(model, data_.valid, config_.eval.particles);
  const Evaluation result = evaluate(
      model, *valid_data_, {.particles = config_.eval.particles, .seed = config_.train.seed},
      trainer_.proposal(weights == EvalWeights::average));
  if (!std::isfinite(result.nll) || (result.proposal && !std::isfinite(result.proposal->nll)))
    throw Error(fmt::format("step {}: the validation NLL is no longer finite", trainer_.step()));
  return result;
}

void TrainingRun::validate(EpochRecord& record, Checkpoint& checkpoint) {
  const Evaluation trained = validate(EvalWeights::trained);
  record.valid_nll = trained.nll;
  record.valid_error = trained.error;
  if (trained.proposal) {
    record.valid_nll_proposal = trained.proposal->nll;
    record.valid_effective_particles = trained.effective_particles;
    record.valid_effective_particles_proposal = trained.proposal->effective_particles;
  }
  valid_ = trained;
  if (has_average()) {
    const Evaluation average = validate(EvalWeights::average);
    record.average_valid_nll = average.nll;
    if (average.proposal) {
      record.average_valid_nll_proposal = average.proposal->nll;
      record.average_valid_effective_particles = average.effective_particles;
      record.average_valid_effective_particles_proposal = average.proposal->effective_particles;
    }
    record.average_valid_error = average.error;
    if (config_.eval.weights == EvalWeights::average) valid_ = average;
  }
  const double figure = config_.selects_by_proposal() ? valid_->proposal->nll : valid_->nll;
  if (!best_.valid_nll || figure < *best_.valid_nll) save_as_best(checkpoint, figure);
}

// Counted from the best epoch, or from where the run was continued.
bool TrainingRun::lost_patience() const {
  const std::int64_t epoch = trainer_.step() / trainer_.steps_per_epoch();
  const std::int64_t since =
      std::max(best_.epoch, trainer_.tail_step() / trainer_.steps_per_epoch());
  return config_.train.patience > 0 && epoch - since >= config_.train.patience;
}

Checkpoint TrainingRun::snapshot() {
  TrainState state = trainer_.state();
  require_finite(trainer_.not_finite(state));
  if (trainer_.step() % trainer_.steps_per_epoch() != 0) state.c_hat_marks = c_hat_marks_;
  return checkpoint_of(std::move(state), trainer_, config_, data_);
}

TrainingRun::End TrainingRun::train() {
  if (config_.train.proposal.on)
    progress_.say(
        fmt::format("a proposal R is trained with the network: proposal.rule = {} takes "
                    "the place of train.estimator, which is not read",
                    to_string(config_.train.proposal.rule)));
  if (trainer_.step() < trainer_.total_steps()) {
    try_to_write(
        [&] { append_record(directory().sessions(), session_record(backend_, trainer_.step())); });
  }
  open_dashboard();
  options_.epoch_ended(*this);
  while (trainer_.step() < trainer_.total_steps() && !ended_early_) {
    if (trainer_.step() == options_.profiled.first) backend_.profiler(true);
    trainer_.train_step();
    const bool looks = backend_.is_host_memory() || trainer_.step() % kLookEvery == 0;
    if (looks) require_finite(trainer_.not_finite());
    mark_part();
    if (trainer_.step() == options_.profiled.last) backend_.profiler(false);
    if (trainer_.step() % trainer_.steps_per_epoch() == 0) {
      end_epoch();
    } else {
      if (checkpoint_is_due()) try_to_write([&] { save(); });
      if (looks && progress_.due()) show_progress(/*epoch_done=*/false);
    }
    if (options_.stop() && trainer_.step() < trainer_.total_steps() && !ended_early_) {
      write([&] { save(); });
      return End::stopped;
    }
  }
  finish();
  return End::finished;
}

bool TrainingRun::checkpoint_is_due() const {
  const std::int64_t every = config_.save.steps;
  return every > 0 && trainer_.step() % every == 0;
}

void TrainingRun::require_finite(const std::optional<std::string>& found) {
  if (!found) return;
  throw Error(fmt::format(
      "{}. It was not saved, checkpoints before it are whole; a lower train.learning_rate may help",
      *found));
}

// --- files -------------------------------------------------------------------------------------

void TrainingRun::write(const std::function<void()>& files) {
  try {
    files();
  } catch (const SaveError& error) {
    throw SaveError(
        fmt::format("{}: stopped at step {}; what was saved before is whole: make room, then "
                    "continue with --resume --out {}",
                    error.what(), trainer_.step(), directory().path().string()));
  }
}

bool TrainingRun::try_to_write(const std::function<void()>& files) {
  if (options_.on_save_error == OnSaveError::stop) {
    write(files);
    return true;
  }
  try {
    files();
    return true;
  } catch (const SaveError& error) {
    progress_.warn(fmt::format("{}: training continues without it", error.what()));
    return false;
  }
}

void TrainingRun::save() {
  Checkpoint checkpoint = snapshot();
  save(checkpoint);
}

void TrainingRun::save(Checkpoint& checkpoint) {
  tried_to_save_ = true;
  checkpoint.state.seconds = seconds();
  checkpoint.state.best_valid_nll = best_.valid_nll;
  checkpoint.state.best_epoch = best_.epoch;
  checkpoint.state.ended_early = ended_early_ ? 1 : 0;
  run_.directory().save(checkpoint);
  saved_step_ = trainer_.step();
}

// The best is what the file holds: if it cannot be written, the one before stays the best.
void TrainingRun::save_as_best(Checkpoint& checkpoint, double valid_nll) {
  checkpoint.state.seconds = seconds();
  checkpoint.state.best_valid_nll = valid_nll;
  checkpoint.state.best_epoch = checkpoint.state.epoch;
  if (try_to_write([&] { run_.directory().save_best(checkpoint); }))
    best_ = {valid_nll, checkpoint.state.epoch};
}

void TrainingRun::append_records() {
  for (; !unsaved_records_.empty(); unsaved_records_.pop_front())
    append_record(directory().metrics(), unsaved_records_.front());
}

// --- epochs ------------------------------------------------------------------------------------

void TrainingRun::show_progress(bool epoch_done) {
  ProgressFigures figures =
      progress_of(trainer_, data_, session_first_step_, seconds() - seconds_before_);
  if (valid_) {
    figures.valid_nll = valid_->nll;
    figures.valid_error = valid_->error;
    if (valid_->proposal) figures.valid_nll_proposal = valid_->proposal->nll;
  }
  if (epoch_done) {
    progress_.epoch(figures, seconds());
  } else {
    progress_.step(figures);
  }
}

// On a device that must be waited for, marks are rarer than looks.
bool TrainingRun::ends_part(std::int64_t steps) const {
  const std::int64_t length = trainer_.steps_per_epoch(),
                     shortest = backend_.is_host_memory() ? 1 : 2 * kLookEvery,
                     parts = std::clamp<std::int64_t>(length / shortest, 1, kPartsOfEpoch);
  return steps * parts / length > (steps - 1) * parts / length;
}

void TrainingRun::mark_part() {
  const std::int64_t steps = (trainer_.step() - 1) % trainer_.steps_per_epoch() + 1;
  if (steps == 1) c_hat_marks_.clear();
  if (ends_part(steps)) c_hat_marks_.push_back(trainer_.epoch_means().C_hat);
}

std::vector<double> TrainingRun::c_hat_by_part() const {
  std::vector<double> means;
  double sum_before = 0;
  std::int64_t examples_before = 0;
  std::size_t mark = 0;
  for (std::int64_t steps = 1; steps <= trainer_.steps_per_epoch(); ++steps) {
    if (!ends_part(steps)) continue;
    if (mark == c_hat_marks_.size()) return {};
    const std::int64_t examples = trainer_.examples_in(steps);
    const double sum = c_hat_marks_[mark++] * double(examples);
    means.push_back((sum - sum_before) / double(examples - examples_before));
    sum_before = sum;
    examples_before = examples;
  }
  return mark == c_hat_marks_.size() ? means : std::vector<double>();
}

std::vector<LayerActivity> TrainingRun::look_at_hidden_units() {
  if (!looked_at_staged_) looked_at_staged_.emplace(backend_, looked_at_, kActivityTile);
  return hidden_activity(trainer_.model(), *looked_at_staged_,
                         {.particles = kParticlesLookedAt, .seed = config_.train.seed});
}

std::vector<std::string> TrainingRun::warnings(const Trainer::EpochMeans& means,
                                               std::span<const LayerActivity> activity) {
  auto found = health_warnings(activity, means.effective_particles, trainer_.particles());
  for (const std::string& warning : found) {
    if (said_.insert(warning).second) progress_.say("warning: " + warning);
  }
  return found;
}

void TrainingRun::end_epoch() {
  // First: it throws with the name of what is not finite, which an evaluation could not tell.
  Checkpoint checkpoint = snapshot();
  const Trainer::EpochMeans means = trainer_.epoch_means();
  const std::int64_t epoch = trainer_.step() / trainer_.steps_per_epoch();
  EpochRecord record{.epoch = std::uint64_t(epoch),
                     .step = std::uint64_t(trainer_.step()),
                     .learning_rate = trainer_.learning_rate(trainer_.step() - 1),
                     .gradient_norm = means.gradient_norm};
  const bool by_R = config_.train.proposal.on;  // so the particles of training are
  (by_R ? record.train_c_hat_proposal : record.train_c_hat) = means.C_hat;
  (by_R ? record.effective_particles_proposal : record.effective_particles) =
      means.effective_particles;
  if (config_.train.clip_norm > 0) record.clipped = means.clipped;
  (by_R ? record.train_c_hat_proposal_within : record.train_c_hat_within) = c_hat_by_part();
  const bool is_final = trainer_.step() == trainer_.total_steps();
  valid_.reset();
  if (data_.valid.count > 0 && (is_final || epoch % config_.eval.every == 0)) {
    validate(record, checkpoint);
    ended_early_ = !is_final && lost_patience();
  }
  const bool last = is_final || ended_early_;
  if (last) test(record);
  const std::vector<LayerActivity> activity = look_at_hidden_units();
  record.warnings = warnings(means, activity);
  record.seconds = seconds();
  record.never_saved = tried_to_save_ && saved_step_ < 0;
  unsaved_records_.push_back(record);
  try_to_write([&] { append_records(); });
  add_to_dashboard(record, activity, last);
  if (last) draw_samples();  // the last checkpoint says that all is done
  if (last || epoch % config_.save.every == 0) try_to_write([&] { save(checkpoint); });
  show_progress(/*epoch_done=*/true);
  options_.epoch_ended(*this);
  if (ended_early_) {
    progress_.say(
        fmt::format("validation has not improved for {} epochs: training ends; the best "
                    "epoch was {}",
                    config_.train.patience, best_.epoch));
  }
}

void TrainingRun::test(EpochRecord& record) {
  const EvalWeights judged = config_.eval.weights;
  for (const EvalWeights weights : {EvalWeights::trained, EvalWeights::average}) {
    if (weights == EvalWeights::average && !has_average()) continue;
    const Evaluation result = evaluate_on(test_model(weights), data_.test,
                                          trainer_.proposal(weights == EvalWeights::average));
    add_test(record, result, weights);
    if (weights == judged) test_ = result;
  }
  if (config_.train.patience == 0 || !best_.valid_nll) return;
  const Checkpoint best = load_checkpoint(directory().best());
  const Model model(backend_, spec_, best.weights(judged), data_.units);
  const std::optional<Model> R = proposal_of(backend_, best, judged);
  best_test_ = evaluate_on(test_model_of(config_, model), data_.test, R ? &*R : nullptr);
  record.best_test_nll = best_test_->nll;
  if (best_test_->proposal) record.best_test_nll_proposal = best_test_->proposal->nll;
  record.best_test_error = best_test_->error;
}

void TrainingRun::finish() {
  // Zero epochs: save the initial weights. After failed saves: one last try that must succeed.
  write([&] {
    if (saved_step_ < trainer_.step()) save();
    append_records();
  });
  if (test_) return;
  EpochRecord unused;  // there were no epochs, or the run had already ended
  test(unused);
  draw_samples();
}

void TrainingRun::draw_samples() {
  if (!can_show(data_)) return;
  try_to_write([&] { write_png(directory().samples(), samples()); });
}

Picture TrainingRun::samples() {
  return sample_picture(test_model(config_.eval.weights), data_, config_.train.seed, {});
}

// --- TensorBoard -------------------------------------------------------------------------------

void TrainingRun::open_dashboard() {
  if (!options_.tensorboard && !std::filesystem::exists(directory().events())) return;
  const auto warn = [&](const std::string& line) { progress_.warn(line); };
  try_to_write([&] { dashboard_.emplace(directory(), trainer_.step(), warn); });
}

// Pictures of epochs 1, 2, 4, 8, ... and the last: TensorBoard shows ten of a run.
void TrainingRun::add_to_dashboard(const EpochRecord& record,
                                   std::span<const LayerActivity> activity, bool last) {
  if (!dashboard_) return;
  std::optional<Picture> picture;
  if (can_show(data_) && (last || std::has_single_bit(*record.epoch))) picture = samples();
  try_to_write([&] { dashboard_->add(record, activity, picture ? &*picture : nullptr); });
}

}  // namespace sfnn

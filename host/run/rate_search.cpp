#include "host/run/rate_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/run/metrics.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr double kMinShareOfBestGain = 0.5;  // a run that gains less is given up
constexpr std::size_t kEpochsBeforeGivingUp = 2;

double number(std::string_view text) {
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  return ec == std::errc() && end == text.data() + text.size() ? value : NAN;
}

// --- the trials so far -------------------------------------------------------------------------

// Identifies everything that a trial depends on, except its rate.
std::string key_of(const Config& short_config) {
  Config config = short_config;
  config.train.learning_rate = 0;
  return fmt::format("{:016x}", config_hash(config));
}

MetricsLine to_line(const RateTrial& trial, const std::string& key) {
  return {{"learning_rate", trial.rate},
          {"end", to_string(trial.end)},
          {"epochs", trial.valid_nll.size()},
          {trial.key(), trial.valid_nll},
          {"config", key}};
}

void save_search(const RunDirectory& directory, const RateSearch& search) {
  const MetricsLine line{{"low", search.range.low},
                         {"high", search.range.high},
                         {"epochs", search.epochs},
                         {"config", to_toml(search.config)}};
  write_file_atomically(directory.search_options(), line.dump() + '\n');
}

MetricsLine::const_iterator nlls_of(const MetricsLine& line) {
  const auto by_R = line.find(RateTrial{.by_R = true}.key());
  return by_R == line.end() ? line.find(RateTrial{}.key()) : by_R;
}

// A trial that Trials::run could have made, with at most `epochs` epochs; none: anything else.
std::optional<RateTrial> to_trial(const MetricsLine& line, std::int64_t epochs) {
  const auto rate = line.find("learning_rate"), end = line.find("end"), nlls = nlls_of(line);
  if (rate == line.end() || !rate->is_number() || end == line.end() || !end->is_string() ||
      nlls == line.end() || !nlls->is_array() || nlls->empty())
    return std::nullopt;
  const auto known_end = from_string<TrialEnd>(end->get_ref<const std::string&>());
  if (!known_end) return std::nullopt;
  RateTrial trial{.rate = rate->get<double>(),
                  .end = *known_end,
                  .by_R = nlls.key() == RateTrial{.by_R = true}.key()};
  for (const MetricsLine& nll : *nlls) {
    if (!nll.is_number() && !nll.is_null()) return std::nullopt;
    trial.valid_nll.push_back(nll.is_null() ? NAN : nll.get<double>());
  }
  const auto done = std::int64_t(trial.valid_nll.size());
  const bool bad = std::ranges::any_of(trial.valid_nll, [](double v) { return !std::isfinite(v); });
  const bool whole = trial.end == TrialEnd::finished ? done == epochs && !bad : done <= epochs;
  return whole ? std::optional(trial) : std::nullopt;
}

// Trials of another config do not count and are removed.
std::vector<RateTrial> known_trials(const fs::path& path, const std::string& key,
                                    std::int64_t epochs) {
  std::vector<MetricsLine> lines = read_metrics(path);
  std::erase_if(lines, [&](const MetricsLine& line) {
    const auto config = line.find("config");
    return config == line.end() || *config != key;
  });
  std::vector<RateTrial> trials;
  for (const MetricsLine& line : lines) {
    const auto trial = to_trial(line, epochs);
    if (!trial) throw DataError(fmt::format("{}: not a list of trials: remove it", path.string()));
    trials.push_back(*trial);
  }
  if (fs::exists(path)) rewrite_metrics(path, lines);
  return trials;
}

const RateTrial* best_of(const std::vector<RateTrial>& trials) {
  const RateTrial* best = nullptr;
  for (const RateTrial& trial : trials) {
    if (trial.end == TrialEnd::finished &&
        (!best || trial.valid_nll.back() < best->valid_nll.back()))
      best = &trial;
  }
  return best;
}

// The schedule in short: what is said in epochs or steps keeps its share of the run, not its count.
void shorten(TrainOptions& train, std::int64_t epochs) {
  const double share = double(epochs) / double(std::max<std::int64_t>(1, train.epochs));
  train.epochs = epochs;
  if (train.schedule == ScheduleKind::paper) train.warmup_epochs.reset();  // auto has that share
  if (train.warmup_epochs) *train.warmup_epochs *= share;
  if (train.warmup_steps) *train.warmup_steps = std::llround(double(*train.warmup_steps) * share);
  for (double& epoch : train.step_epochs) epoch *= share;
}

// --- a trial -----------------------------------------------------------------------------------

class Trials {
 public:
  Trials(Backend& backend, const MachineOptions& machine, const DataSet& data, Config config,
         Progress& progress)
      : backend_(backend),
        machine_(machine),
        data_(data),
        progress_(progress),
        config_(std::move(config)),
        spec_(network_of(config_, data)),
        start_(starting_weights(config_, spec_,
                                [&](const std::string& line) { progress_.warn(line); })) {}

  // None: stopped.
  std::optional<RateTrial> run(double rate, const RateTrial* best, const RateSearch& search);

 private:
  double valid_nll(const Trainer& trainer) {
    const bool averages = config_.eval.weights == EvalWeights::average;
    const bool by_R = config_.selects_by_proposal();
    const Evaluation valid = evaluate(
        test_model_of(config_, averages ? *trainer.average() : trainer.model()), data_.valid,
        {.particles = config_.eval.particles, .seed = config_.train.seed, .predict = false},
        by_R ? trainer.proposal(averages) : nullptr);
    return by_R ? valid.proposal->nll : valid.nll;
  }
  bool is_hopeless(const RateTrial& trial, const RateTrial* best) const {
    const std::size_t epoch = trial.valid_nll.size();
    if (epoch < kEpochsBeforeGivingUp) return false;
    const double needed =
        best ? kMinShareOfBestGain * (*untrained_nll_ - best->valid_nll[epoch - 1]) : 0;
    return *untrained_nll_ - trial.valid_nll.back() < needed;
  }

  Backend& backend_;
  const MachineOptions& machine_;
  const DataSet& data_;
  Progress& progress_;
  Config config_;
  NetworkSpec spec_;
  StartingWeights start_;
  std::optional<double> untrained_nll_;
};

std::optional<RateTrial> Trials::run(double rate, const RateTrial* best, const RateSearch& search) {
  config_.train.learning_rate = rate;
  const TrainOptions options = train_options_of(config_, machine_);
  const TrainPlan plan = plan_training(backend_, spec_, options, data_);
  Trainer trainer(plan, Model(backend_, spec_, start_.P, data_.units), options, data_, start_.R);
  if (!untrained_nll_) untrained_nll_ = valid_nll(trainer);
  RateTrial trial{.rate = rate, .by_R = config_.selects_by_proposal()};
  while (trainer.step() < trainer.total_steps()) {
    trainer.train_step();
    if (search.stop()) return std::nullopt;
    progress_.show(fmt::format("  {:<10} epoch {}/{}, step {}/{}", rate,
                               (trainer.step() - 1) / trainer.steps_per_epoch() + 1,
                               config_.train.epochs, trainer.step(), trainer.total_steps()));
    if (trainer.step() % trainer.steps_per_epoch() != 0) continue;
    const double C_hat = trainer.epoch_means().C_hat;
    trial.valid_nll.push_back(std::isfinite(C_hat) ? valid_nll(trainer) : NAN);
    if (!std::isfinite(trial.valid_nll.back())) {
      trial.end = TrialEnd::not_finite;
      break;
    }
    if (is_hopeless(trial, best)) {
      trial.end = TrialEnd::hopeless;
      break;
    }
  }
  return trial;
}

const char* words_for(TrialEnd end) {
  switch (end) {
    case TrialEnd::finished:
      return "finished";
    case TrialEnd::hopeless:
      return "given up: too slow";
    case TrialEnd::not_finite:
      return "given up: not finite";
  }
  return "";
}

}  // namespace

std::string words_for(const RateTrial& trial) {
  return fmt::format("{}{}", words_for(trial.end), trial.by_R ? "; by draws of R" : "");
}

std::string to_row(const RateTrial& trial) {
  return fmt::format("{:<10} {:>6} {:>12}  {}", trial.rate, trial.valid_nll.size(),
                     fmt::format("{:.4f}", trial.valid_nll.back()), words_for(trial));
}

std::vector<RateTrial> saved_trials(const RunDirectory& directory) {
  std::vector<RateTrial> trials;
  for (const MetricsLine& line : read_metrics(directory.search(), [](const std::string&) {})) {
    const auto nlls = nlls_of(line);
    const auto epochs = nlls == line.end() ? 0 : std::int64_t(nlls->size());
    if (const auto trial = to_trial(line, epochs)) trials.push_back(*trial);
  }
  return trials;
}

RateRange parse_rate_range(const std::string& text) {
  const std::size_t colon = text.find(':');
  const RateRange range{number(std::string_view(text).substr(0, colon)),
                        colon == std::string::npos ? NAN : number(text.substr(colon + 1))};
  if (!(range.low > 0 && range.low <= range.high && range.high <= 1e6 && range.low >= 1e-12)) {
    throw ConfigError(
        fmt::format("--search-lr {}: write the lowest and the highest rate as in 1e-4:1", text));
  }
  return range;
}

std::vector<double> rate_grid(const RateRange& range) {
  std::vector<double> grid;
  for (int k = 6; k >= -12; --k) {
    for (const int digit : {3, 1}) {
      const double rate =
          number(fmt::format("{}e{}", digit, k));  // exactly the number that one would write
      if (rate >= range.low && rate <= range.high) grid.push_back(rate);
    }
  }
  if (grid.empty()) {
    throw ConfigError(fmt::format("--search-lr {}:{}: no rate of the grid 1, 3 x 10^k lies there",
                                  range.low, range.high));
  }
  return grid;
}

std::optional<SavedSearch> saved_search(const RunDirectory& directory) {
  const fs::path path = directory.search_options();
  if (!fs::exists(fs::symlink_status(path))) return std::nullopt;
  const auto refuse = [&] {
    throw DataError(
        fmt::format("{}: not a search: remove it, or choose another --out", path.string()));
  };
  const std::vector<MetricsLine> lines = read_metrics(path, [&](const std::string&) { refuse(); });
  if (lines.size() != 1) refuse();
  const auto value = [&](const char* key, auto is_right) {
    const auto found = lines[0].find(key);
    if (found == lines[0].end() || !is_right(*found)) refuse();
    return *found;
  };
  const auto is_number = [](const MetricsLine& item) { return item.is_number(); };
  const auto is_count = [](const MetricsLine& item) {
    return item.is_number_unsigned() && item.get<std::uint64_t>() <= kMaxSearchEpochs;
  };
  const auto is_text = [](const MetricsLine& item) { return item.is_string(); };
  return SavedSearch{
      from_toml(value("config", is_text).get<std::string>(), path.string()),
      {value("low", is_number).get<double>(), value("high", is_number).get<double>()},
      value("epochs", is_count).get<std::int64_t>()};
}

std::optional<double> search_rate(Backend& backend, const MachineOptions& machine,
                                  const DataSet& data, const RateSearch& search,
                                  RunDirectory& directory, Progress& progress) {
  if (data.valid.count == 0) {
    throw ConfigError(
        "--search-lr needs validation examples: set some aside with --set data.valid=1000");
  }
  Config config = search.config;
  const std::int64_t chosen = search.epochs > 0 ? search.epochs : config.train.epochs / 5;
  shorten(config.train, std::max<std::int64_t>(search.epochs > 0 ? 1 : 2, chosen));
  const std::vector<double> grid = rate_grid(search.range);
  const fs::path file = directory.search();
  directory.begin_search(/*is_known=*/saved_search(directory).has_value());
  save_search(directory, search);
  std::vector<RateTrial> trials = known_trials(file, key_of(config), config.train.epochs);
  Trials runs(backend, machine, data, config, progress);

  progress.say(fmt::format("learning rates on {} validation examples, {} epochs each:",
                           data.valid.count, config.train.epochs));
  progress.say(fmt::format("  {}", kTrialHead));
  for (const double rate : grid) {
    const auto known = std::ranges::find(trials, rate, &RateTrial::rate);
    if (known != trials.end()) {
      progress.say("  " + to_row(*known));
      continue;
    }
    const auto trial = runs.run(rate, best_of(trials), search);
    if (!trial) return std::nullopt;
    append_metrics(file, to_line(*trial, key_of(config)));
    trials.push_back(*trial);
    progress.say("  " + to_row(*trial));
  }
  std::erase_if(trials, [&](const RateTrial& trial) {
    return std::ranges::find(grid, trial.rate) == grid.end();
  });
  const RateTrial* best = best_of(trials);
  if (best == nullptr)
    throw Error(fmt::format("no learning rate from {} to {} trains this network: try lower ones",
                            search.range.low, search.range.high));
  const bool highest = best->rate == grid.front(), lowest = best->rate == grid.back();
  const char* edge = highest == lowest ? ""
                     : highest         ? ", the highest tried: a higher one may be better still"
                                       : ", the lowest tried: a lower one may be better still";
  progress.say(fmt::format("  best: {}{}", best->rate, edge));
  return best->rate;
}

}  // namespace sfnn

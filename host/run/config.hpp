// What a run is asked to do. Every option stands once, in Config::visit: its key, its value, its
// help and what it may be. Command line, TOML files, the listing in --help, the dump in a run
// directory and the comparison of two configs all follow from that table. Defaults < file < --set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <sfnn/config.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/names.hpp"
#include "host/data/dataset.hpp"
#include "host/model/network.hpp"
#include "host/train/train_options.hpp"
#include "kernels/estimators.hpp"

namespace sfnn {

// What an option's value may be, beyond its type. Numbers are always finite, and counts (signed
// integers) at most 2^31 - 1: rows have 32 bits, and the product of two counts fits into 64.
struct Allowed {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool high_open = false;  // high itself is refused
};

struct NetConfig {
  std::vector<LayerSpec> hidden = std::vector(2, LayerSpec{.n_s = 200});
  Sigma sigma;
  std::string init_from;  // empty: weights are drawn
};

struct SaveConfig {
  std::int64_t every = 1;  // epochs
  std::int64_t steps = 0;
  std::int64_t keep = 2;  // the newest, and the one before in case the newest is damaged
};

enum class EvalWeights { trained, average };
inline constexpr Names<EvalWeights, 2> kEvalWeights{
    {{EvalWeights::trained, "trained"}, {EvalWeights::average, "average"}}};
constexpr const auto& names_of(EvalWeights) { return kEvalWeights; }

// The figure that chooses the best checkpoint.
enum class Select { automatic, nll, nll_proposal };
inline constexpr Names<Select, 3> kSelects{
    {{Select::automatic, "auto"}, {Select::nll, "nll"}, {Select::nll_proposal, "nll_proposal"}}};
constexpr const auto& names_of(Select) { return kSelects; }

struct EvalConfig {
  std::int64_t particles = 100;  // M
  std::int64_t every = 1;        // epochs
  EvalWeights weights = EvalWeights::trained;
  bool as_stochastic = false;
  Select select = Select::automatic;
};

struct Config {
  // Without its root, as the location of files is up to the machine, and its seed, which is
  // train.data_seed: data_of() (host/run/assemble.hpp) fills in both.
  DataOptions data;
  NetConfig net;
  TrainOptions train;  // an empty std::optional reads and prints as "auto"
  SaveConfig save;
  EvalConfig eval;

  // Is validation by draws of R what counts?
  bool selects_by_proposal() const {
    return eval.select == Select::automatic ? train.proposal.on
                                            : eval.select == Select::nll_proposal;
  }

  // Checks rules over several keys that need no data. Throws ConfigError.
  void validate() const;

  // Calls v(key, value, help, Allowed) for each option, grouped by section.
  template <class Self, class V>
  static void visit(Self& self, V&& v) {
    constexpr Allowed any{}, not_negative{.low = 0}, positive{.low = 1e-30}, at_least_one{.low = 1},
        fraction{.low = 0, .high = 1, .high_open = true},
        rows{.low = 1, .high = 2147483647};  // rows are counted in 32 bits
    v("seed", self.train.seed, "random seed for initial weights and all sampling", any);

    v("data.set", self.data.set,
      "data set: glyphs (built in), mnist, fashion-mnist, faces/att, a folder, or files", any);
    v("data.train_x", self.data.train_x,
      "files: inputs, one example per row; empty: none, to generate", any);
    v("data.train_y", self.data.train_y, "files: targets, one row per input row", any);
    v("data.test_x", self.data.test_x, "files: test inputs", any);
    v("data.test_y", self.data.test_y, "files: test targets", any);
    v("data.target", self.data.target,
      "files: target columns of a CSV file by name, with commas between; the others are inputs",
      any);
    v("data.bytes", self.data.bytes,
      "files: meaning of uint8, grey values (divided by 255) or numbers as they are; auto: grey, "
      "or bits if none is above 1",
      any);
    v("data.output", self.data.output, "files: distribution of the targets", any);
    v("data.task", self.data.task,
      "prediction task; auto: faces for faces, else halves; generate: no input at all", any);
    v("data.binarize", self.data.binarize,
      "halves, generate: pixels drawn as bits once, drawn again each epoch, or left grey", any);
    v("data.center", self.data.center, "subtract the mean of the training inputs from x", any);
    v("data.standardize", self.data.standardize,
      "means of 0 and standard deviations of 1 for inputs (x), gaussian targets (y) or both, by "
      "the training examples; results stay in the targets' own units",
      any);
    v("data.noise", self.train.noise,
      "standard deviation of Gaussian noise on training inputs, after standardising", not_negative);
    v("data.limit", self.data.limit,
      "number of training examples to use, not counting validation; 0: all", not_negative);
    v("data.valid", self.data.valid, "number of examples set aside for validation", not_negative);
    v("data.test_limit", self.data.test_limit, "number of test examples to use; 0: all",
      not_negative);
    v("data.test_subjects", self.data.test_subjects,
      "faces: number of subjects held out for the test", not_negative);
    v("data.seed", self.train.data_seed,
      "random seed for binarisation and splits, separate from the run's seed", any);

    v("net.hidden", self.net.hidden,
      "hidden layers: 200s stochastic, 200d deterministic, 40s+160d hybrid, 40n+160d noise; tanh "
      "or relu in the place of d",
      any);
    v("net.sigma", self.net.sigma,
      "standard deviation of gaussian targets, in their own units: a number, learnt (one for all "
      "outputs), learnt-each (one per output) or predicted (by a second head)",
      any);
    v("net.sigma_start", self.train.sigma_start,
      "first value of a learnt or predicted sigma; standardised targets have a deviation of 1",
      Allowed{.low = 0.002, .high = 1e6});
    v("net.init_scale", self.train.init_scale,
      "scale of the initial weights: N(0, scale^2 / fan-in), twice that variance for relu",
      not_negative);
    v("net.init_from", self.net.init_from,
      "run or checkpoint to take initial weights from; empty: random weights", any);

    v("train.estimator", self.train.estimator,
      "gradient estimator of stochastic units: G1 to G5 of the paper, vimco, vimco-geometric, "
      "rloo, "
      "darn or st-gumbel",
      any);
    v("train.particles", self.train.particles, "M, the number of particles per example", rows);
    v("train.epochs", self.train.epochs, "passes over the training examples", not_negative);
    v("train.batch", self.train.batch, "examples per step", rows);
    v("train.learning_rate", self.train.learning_rate, "peak learning rate", not_negative);
    v("train.schedule", self.train.schedule,
      "learning rate after warm-up: linear to 0 (paper), constant, half a cosine to 0, or steps",
      any);
    v("train.warmup_epochs", self.train.warmup_epochs,
      "epochs of linear warm-up; auto: min(5, epochs / 5) for paper, else 0", not_negative);
    v("train.warmup_steps", self.train.warmup_steps,
      "steps of linear warm-up, in place of epochs; auto: as train.warmup_epochs says",
      not_negative);
    v("train.step_epochs", self.train.step_epochs,
      "steps: epochs after which the rate is multiplied by train.step_factor", not_negative);
    v("train.step_factor", self.train.step_factor, "steps: factor on the rate", not_negative);
    v("train.hidden_rate", self.train.hidden_rate,
      "multiplier on the hidden layers' learning rate; 1/M with G1 averages over particles",
      not_negative);
    v("train.sigma_rate", self.train.sigma_rate,
      "multiplier on the learning rate of learnt and predicted sigmas; auto: 0.1, for predicted "
      "ones divided by the units that the head reads, with sgd and nesterov for learnt ones by the "
      "outputs that share one",
      not_negative);
    v("train.optimizer", self.train.optimizer, "optimiser", any);
    v("train.momentum", self.train.momentum,
      "momentum of sgd and nesterov: v = momentum * v + gradient", fraction);
    v("train.beta1", self.train.beta1, "adam, adamw: decay of the gradient's average", fraction);
    v("train.beta2", self.train.beta2, "adam, adamw: decay of the squared gradient's average",
      fraction);
    v("train.epsilon", self.train.epsilon, "adam, adamw: term added to the root of the average",
      positive);
    v("train.weight_decay", self.train.weight_decay,
      "weight decay: an L2 penalty, decoupled for adamw", not_negative);
    v("train.decay_biases", self.train.decay_biases, "decay of biases as well as of weights", any);
    v("train.clip_norm", self.train.clip_norm,
      "largest norm of a step's gradient, longer ones are scaled down; 0: any", not_negative);
    v("train.ema", self.train.ema,
      "decay of a moving average of the weights, evaluated beside them; 0: none", fraction);
    v("train.patience", self.train.patience,
      "epochs without a better validation after which training ends; 0: never", not_negative);
    v("train.baseline_decay", self.train.baseline_decay, "G1: decay of the averages behind L_bar",
      fraction);
    v("train.c", self.train.c,
      "constant subtracted from each particle's weight; auto: 1 / M with G5, log(M / (M - 1)) with "
      "vimco, of which 0 lets particles be dropped",
      any);
    v("train.temperature", self.train.temperature, "st-gumbel: temperature of the relaxed draws",
      Allowed{.low = 1e-3});
    v("train.drop_below", self.train.drop_below,
      "particles with smaller w_bar skip the backward pass (GPU: only with --eager); auto: 1e-6 / "
      "M",
      fraction);
    v("train.tile", self.train.tiling.tile, "examples per tile; 0: automatic", not_negative);
    v("train.parts", self.train.tiling.parts,
      "partial sums of a gradient, a power of two; 0: automatic", not_negative);
    v("train.save_every", self.save.every,
      "epochs between checkpoints; the last epoch always saves one", at_least_one);
    v("train.save_steps", self.save.steps,
      "steps between checkpoints within an epoch; 0: only at its end", not_negative);
    v("train.keep", self.save.keep, "number of newest checkpoints to keep, besides the best",
      at_least_one);

    v("proposal.on", self.train.proposal.on,
      "learned proposal R(h|x,y) that particles are drawn from; its rule replaces train.estimator",
      any);
    v("proposal.hidden", self.train.proposal.hidden,
      "deterministic hidden layers of R, such as 200d; none: logits linear in x and y", any);
    v("proposal.learning_rate", self.train.proposal.learning_rate,
      "peak learning rate of R; auto: train.learning_rate", not_negative);
    v("proposal.particles_from_P", self.train.proposal.particles_from_P,
      "number of the M particles to draw from P instead of R; train.c is taken off their w_bar",
      not_negative);
    v("proposal.rule", self.train.proposal.rule,
      "rule for P and R: rws (reweighted wake-sleep) or bound (gradient of E[C_hat])", any);

    v("eval.particles", self.eval.particles, "M for validation and test", rows);
    v("eval.every", self.eval.every, "epochs between validations; the last epoch always has one",
      at_least_one);
    v("eval.weights", self.eval.weights,
      "weights to judge and use: as trained, or their average (train.ema)", any);
    v("eval.as_stochastic", self.eval.as_stochastic,
      "network B: test a deterministic network with its units drawn", any);
    v("eval.select", self.eval.select,
      "validation figure of the best checkpoint: nll (draws of P) or nll_proposal (draws of R); "
      "auto: nll_proposal if there is an R",
      any);
  }
};

// All of these throw ConfigError, one sentence that names the key (and the file and line), the
// value and what is allowed. A text of more than 64 KiB is refused; reading one takes at most 512
// times its size.
Config load_config(const std::filesystem::path&);
Config from_toml(std::string_view text, std::string_view name_for_errors);
void apply_setting(Config&, std::string_view key_equals_value);    // one --set
Config changed(Config, const std::vector<std::string>& settings);  // all of them, then validated

std::string to_toml(const Config&);  // every value, in the table's order, with its help
std::string to_json(const Config&);  // every value by its key: numbers, text, true or false, lists
std::string config_help();           // one line per key, with default and help

std::vector<ConfigOption> config_options();  // every key

// Every key with its value, in the table's order, as --set takes them.
std::vector<std::pair<std::string_view, std::string>> key_texts(const Config&);
// "train.epochs: 20 against 50" for each key whose values differ.
std::vector<std::string> differences(const Config& a, const Config& b);
// The config with the other's keys of the steps to come (kMayChange): all that may differ when a
// run is resumed.
Config with_schedule_of(Config, const Config& other);
inline constexpr const char* kMayChange =
    "train.epochs, train.learning_rate, train.schedule, its warm-up and steps, train.patience";
// Equal for configs without differences, even if the help texts differ between versions.
std::uint64_t config_hash(const Config&);

}  // namespace sfnn

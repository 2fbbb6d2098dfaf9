#include "host/run/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "host/base/error.hpp"
#include "host/data/search_path.hpp"
#include "host/data/target_warnings.hpp"
#include "host/model/initial_params.hpp"
#include "host/run/run_directory.hpp"
#include "host/train/proposal.hpp"

namespace sfnn {
namespace {

bool is_deterministic(const NetworkSpec& spec) {
  return std::ranges::all_of(spec.hidden, [](const LayerSpec& layer) { return layer.n_s == 0; });
}

// "392-8d-30": an R has no output of its own to be named.
std::string widths_of(const NetworkSpec& R) {
  const std::string text = to_string(R);
  return text.substr(0, text.find(' '));
}

DataOptions data_options_of(const Config& config, const MachineOptions& machine) {
  DataOptions options = config.data;
  options.seed = config.train.data_seed;
  options.root = machine.data_root;
  return options;
}

}  // namespace

void require_data_inside(const Config& config, const MachineOptions& machine,
                         const std::vector<std::string>& settings, bool test_only) {
  const DataOptions& data = config.data;
  for (const auto& [key, name] : {std::pair("data.set", &data.set),
                                  {"data.train_x", &data.train_x},
                                  {"data.train_y", &data.train_y},
                                  {"data.test_x", &data.test_x},
                                  {"data.test_y", &data.test_y}}) {
    const bool own = std::ranges::any_of(settings, [&](const std::string& setting) {
      return setting.starts_with(fmt::format("{}=", key));
    });
    const bool unused = test_only && std::string_view(key).starts_with("data.train_");
    if (own || unused || lies_in_data_roots(machine.data_root, *name)) continue;
    throw DataError(fmt::format(
        "{} = {}, as the run has it, leads outside the data folders: if you trust the run, say "
        "--data with the folder that it is in",
        key, *name));
  }
}

void look_beside(const std::filesystem::path& config_file, const MachineOptions& machine,
                 Config& config) {
  DataOptions& data = config.data;
  if (data.set == "glyphs") return;
  for (std::string* name : {&data.set, &data.train_x, &data.train_y, &data.test_x, &data.test_y}) {
    if (name == &data.set && data.set == "files") continue;
    const auto [file, member] = split_member(*name);
    *name = name_beside(config_file.parent_path(), machine.data_root, file).string() +
            (member.empty() ? "" : ":" + member);
  }
}

DataSet data_of(const Config& config, const MachineOptions& machine,
                const std::vector<FileFacts>& known) {
  DataOptions options = data_options_of(config, machine);
  options.known = known;
  DataSet data = load_data(options);
  const Sigma& sigma = config.net.sigma;
  const bool given = row_of(sigma.output).sigma.empty();
  for (std::string& warning :
       target_warnings(data, given ? std::optional(sigma.value) : std::nullopt))
    data.warnings.push_back(std::move(warning));
  return data;
}

DataSet test_data_of(const Config& config, const MachineOptions& machine,
                     const Checkpoint& checkpoint) {
  return load_test_data(data_options_of(config, machine), {.D_out = checkpoint.network().D_out,
                                                           .x_bytes = checkpoint.x_bytes,
                                                           .y_bytes = checkpoint.y_bytes});
}

NetworkSpec network_of(const Config& config, const DataSet& data) {
  NetworkSpec spec{
      .D_in = data.D_in, .hidden = config.net.hidden, .D_out = data.D_out, .output = data.output};
  const Sigma& sigma = config.net.sigma;
  if (data.output == row_of(sigma.output).family) {
    spec.output = sigma.output;
    spec.sigma = sigma.value;
  } else if (sigma != Sigma()) {
    throw ConfigError(fmt::format("net.sigma is for gaussian targets, and those of {} are {}",
                                  data.name, to_string(data.output)));
  }
  spec.validate();
  return spec;
}

NetworkSpec test_network_of(const Config& config, const NetworkSpec& spec) {
  return config.eval.as_stochastic ? as_stochastic(spec) : spec;
}

Model test_model_of(const Config& config, const Model& model) {
  return config.eval.as_stochastic ? model.as_stochastic() : model;
}

std::optional<Model> proposal_of(Backend& backend, const Checkpoint& checkpoint,
                                 EvalWeights wanted) {
  const std::vector<float>* weights = checkpoint.weights_of_R(wanted);
  if (!weights) return std::nullopt;
  return Model(backend, checkpoint.state.R()->spec, *weights);
}

StartingWeights weights_from(const Checkpoint& saved, const Config& config) {
  StartingWeights weights{saved.params()};
  const ProposalOptions& wanted = config.train.proposal;
  const NetworkState* R = saved.state.R();
  if (wanted.on && R && R->spec == proposal_network(saved.network(), wanted.hidden))
    weights.R = R->params();
  return weights;
}

StartingWeights starting_weights(const Config& config, const NetworkSpec& spec,
                                 const std::function<void(const std::string&)>& warn) {
  if (config.net.init_from.empty())
    return {
        initial_params(spec, config.train.seed, config.train.init_scale, config.train.sigma_start)};
  if (!std::filesystem::exists(config.net.init_from)) {
    throw ConfigError(fmt::format("net.init_from = {}: there is no such run or checkpoint",
                                  config.net.init_from));
  }
  const Checkpoint saved = open_checkpoint(config.net.init_from, /*best=*/false, warn);
  NetworkSpec other = saved.network();
  other.sigma = spec.sigma;  // a given one is not in the weights
  const bool fits = other == spec || (is_deterministic(other) && as_stochastic(other) == spec);
  if (!fits) {
    throw ConfigError(fmt::format("net.init_from = {}: its network is {}, but this one is {}",
                                  config.net.init_from, to_string(saved.network()),
                                  to_string(spec)));
  }
  StartingWeights weights = weights_from(saved, config);
  const ProposalOptions& proposal = config.train.proposal;
  if (saved.state.R() && weights.R.empty()) {
    const std::string why = proposal.on
                                ? fmt::format("it is {}, and this run's is {}, which begins as P",
                                              widths_of(saved.state.R()->spec),
                                              widths_of(proposal_network(spec, proposal.hidden)))
                                : "this run has none (proposal.on = false)";
    warn(fmt::format("net.init_from = {}: its proposal R is not taken: {}", config.net.init_from,
                     why));
  }
  return weights;
}

TrainOptions train_options_of(const Config& config, const MachineOptions& machine) {
  TrainOptions options = config.train;
  if (machine.backend.plain) options.drop_below = 0;  // the reference path drops nothing
  return options;
}

TrainOptions train_options_of(const Config& config, const MachineOptions& machine,
                              const Backend& backend, const std::optional<Checkpoint>& saved) {
  TrainOptions options = train_options_of(config, machine);
  if (saved && saved->device == backend.name()) options.tiling = saved->tiling;
  if (saved && !saved->adds_by_tree()) options.tiling.parts = 0;  // it took any number of them
  return options;
}

Checkpoint checkpoint_of(TrainState state, const Trainer& trainer, const Config& config,
                         const DataSet& data) {
  state.epoch = state.step / trainer.steps_per_epoch();
  return {.state = std::move(state),
          .units = trainer.model().units(),
          .x_bytes = data.x_bytes,
          .y_bytes = data.y_bytes,
          .config = config,
          .tiling = trainer.tiling(),
          .device = trainer.model().backend().name()};
}

void require_memory(const TrainPlan& plan, const Backend& backend) {
  const std::size_t free = backend.free_memory();
  if (plan.bytes() <= free) return;
  throw ConfigError(
      fmt::format("this run needs {:.1f} MB of memory and {} has {:.1f} MB free: use a smaller "
                  "network, a smaller train.batch or fewer train.particles",
                  double(plan.bytes()) / 1e6, backend.describe(), double(free) / 1e6));
}

}  // namespace sfnn

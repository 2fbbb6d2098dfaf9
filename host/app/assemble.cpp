#include "host/app/assemble.hpp"

namespace sfnn {

DataSet data_of(const Config& config, const MachineOptions& machine) {
  DataOptions options = config.data;
  options.root = machine.data_root;
  return load_data(options);
}

NetworkSpec network_of(const Config& config, const DataSet& data) {
  const NetworkSpec spec{
      .D_in = data.D_in, .hidden = config.net.hidden, .D_out = data.D_out, .output = data.output};
  spec.validate();
  return spec;
}

NetworkSpec test_network_of(const Config& config, const NetworkSpec& spec) {
  return config.eval.as_stochastic ? as_stochastic(spec) : spec;
}

TrainOptions train_options_of(const Config& config, const MachineOptions& machine) {
  TrainOptions options{.seed = config.seed,
                       .data_seed = config.data.seed,
                       .estimator = config.train.estimator,
                       .particles = config.train.particles,
                       .batch = config.train.batch,
                       .epochs = config.train.epochs,
                       .learning_rate = config.train.learning_rate,
                       .warmup_epochs = config.train.warmup_epochs,
                       .momentum = config.train.momentum,
                       .baseline_decay = config.train.baseline_decay,
                       .c = config.train.c,
                       .drop_below = config.train.drop_below,
                       .init_scale = config.net.init_scale,
                       .noise = config.data_noise,
                       .tiling = {config.train.tile, config.train.parts}};
  if (machine.backend.plain) options.drop_below = 0;  // the oracle leaves nothing out
  return options;
}

}  // namespace sfnn

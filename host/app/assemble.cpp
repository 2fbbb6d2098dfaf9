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
  TrainOptions options = config.train_options();
  if (machine.backend.plain) options.drop_below = 0;  // the oracle leaves nothing out
  return options;
}

}  // namespace sfnn

#include "host/run/loaded_network.hpp"

#include <fmt/format.h>

#include <span>

#include "host/base/error.hpp"

namespace sfnn {

LoadedNetwork::LoadedNetwork(Backend& backend, const MachineOptions& machine,
                             const Checkpoint& checkpoint,
                             const std::vector<std::string>& settings) {
  config_ = changed(checkpoint.config, settings);
  require_data_inside(config_, machine, settings, /*test_only=*/true);
  data_ = test_data_of(config_, machine, checkpoint);
  data_.units = checkpoint.units;  // of its training data
  if (config_.net.hidden != checkpoint.config.net.hidden) {
    throw ConfigError(
        fmt::format("net.hidden cannot be changed here: the checkpoint's network is {}",
                    to_string(checkpoint.network())));
  }
  if (network_of(config_, data_) != checkpoint.network()) {
    throw ConfigError(fmt::format(
        "the checkpoint's network is {}, and the data of data.set = {} make it {}",
        to_string(checkpoint.network()), config_.data.set, to_string(network_of(config_, data_))));
  }
  model_ = test_model_of(config_, {backend, checkpoint.network(),
                                   checkpoint.weights(config_.eval.weights), checkpoint.units});
  R_ = proposal_of(backend, checkpoint, config_.eval.weights);
}

}  // namespace sfnn

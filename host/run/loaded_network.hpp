// A trained network with its test data, ready to be evaluated or looked at. The data it was trained
// on are not read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/run/assemble.hpp"
#include "host/run/checkpoint.hpp"

namespace sfnn {

class LoadedNetwork {
 public:
  // settings: changes to its config, for other data or other test particles.
  LoadedNetwork(Backend&, const MachineOptions&, const Checkpoint&,
                const std::vector<std::string>& settings);

  const Config& config() const { return config_; }
  const DataSet& data() const { return data_; }
  const Model& model() const { return *model_; }                 // as it is tested
  const Model* proposal() const { return R_ ? &*R_ : nullptr; }  // null: it was trained without R

 private:
  Config config_;
  DataSet data_;
  std::optional<Model> model_, R_;
};

}  // namespace sfnn

// From a config and what the machine has to the parts of the engine.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/data/dataset.hpp"
#include "host/devices/registry.hpp"
#include "host/run/checkpoint.hpp"
#include "host/run/config.hpp"
#include "host/train/trainer.hpp"

namespace sfnn {

// What belongs to the machine and not to the run: it is not stored with it.
struct MachineOptions {
  std::string data_root;  // empty: the search path (host/data/search_path.hpp)
  BackendOptions backend;
};

// For a config that came with a run: throws DataError where a name of data in it leads outside the
// folders of data. Those that `settings`, from the command line, has changed are the user's own.
void require_data_inside(const Config&, const MachineOptions&,
                         const std::vector<std::string>& settings);
DataSet data_of(const Config&, const MachineOptions&);
NetworkSpec network_of(const Config&, const DataSet&);
NetworkSpec test_network_of(const Config&, const NetworkSpec&);  // B reads A's as stochastic
Model test_model_of(const Config&, const Model&);                // the same of a model
// Drawn weights or, with net.init_from, those of another run: of the same network, or of A where
// this one is B. Damaged checkpoints are named to `warn` and passed over. Throws ConfigError where
// the weights do not fit.
std::vector<float> starting_weights(const Config&, const NetworkSpec&,
                                    const std::function<void(const std::string&)>& warn);
TrainOptions train_options_of(const Config&, const MachineOptions&);
// What a run trains with, from its config or from the checkpoint that it continues from: the same
// kind of device keeps the tiling, and so the order of every sum, whatever it would choose today.
TrainOptions train_options_of(const Config&, const MachineOptions&, const Backend&,
                              const std::optional<Checkpoint>& saved);
// What the trainer's state, downloaded before, is saved as.
Checkpoint checkpoint_of(TrainState, const Trainer&, const Config&, const DataSet&);
// Throws ConfigError if the plan takes more than the backend has free: memory is asked for piece by
// piece, and a system may grant what it does not have.
void require_memory(const TrainPlan&, const Backend&);

}  // namespace sfnn

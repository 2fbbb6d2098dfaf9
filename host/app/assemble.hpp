// From a config and the flags of the command line to the parts of the engine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/data/dataset.hpp"
#include "host/devices/registry.hpp"
#include "host/run/config.hpp"
#include "host/train/trainer.hpp"

namespace sfnn {

// What belongs to the machine and not to the run: it is not stored with it.
struct MachineOptions {
  std::string data_root;  // empty: the search path (host/data/search_path.hpp)
  BackendOptions backend;
  std::string on_save_error = "stop";  // or "continue": train on where a file cannot be written
  std::string profile_steps;  // "100:110": what a profiler is to see; empty: nothing is marked
};

// From when `first` steps are done until `last` are.
struct StepRange {
  std::int64_t first = -1, last = -1;  // -1: never
};
// What machine.profile_steps says. Throws ConfigError where the run has no such steps.
StepRange profiled_steps_of(const MachineOptions& machine, std::int64_t total_steps);

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

}  // namespace sfnn

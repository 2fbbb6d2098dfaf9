// Builds the parts of the engine from a config and the machine's options.
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

// Options of the machine, which are not stored with a run.
struct MachineOptions {
  std::string data_root;  // empty: the search path (host/data/search_path.hpp)
  BackendOptions backend;
};

// For a config that came with a run: throws DataError if a data path in it leads outside the data
// folders. Paths changed by `settings`, from the command line, are trusted. test_only: those of
// training are not used.
void require_data_inside(const Config&, const MachineOptions&,
                         const std::vector<std::string>& settings, bool test_only = false);
// Data that a config names and only its own folder has are found there.
void look_beside(const std::filesystem::path& config_file, const MachineOptions&, Config&);
// known: of the files that were looked over when the run began.
DataSet data_of(const Config&, const MachineOptions&, const std::vector<FileFacts>& known = {});
// The test examples of a trained network.
DataSet test_data_of(const Config&, const MachineOptions&, const Checkpoint&);
NetworkSpec network_of(const Config&, const DataSet&);
NetworkSpec test_network_of(const Config&,
                            const NetworkSpec&);   // network B reads A's units as stochastic
Model test_model_of(const Config&, const Model&);  // the same for a model
// The learned proposal; none: it was trained without.
std::optional<Model> proposal_of(Backend&, const Checkpoint&, EvalWeights);

struct StartingWeights {
  std::vector<float> P;
  std::vector<float> R = {};  // empty: R = P, or there is none
};
// Those of a run whose P fits; of its R, too, if the config wants one of that shape.
StartingWeights weights_from(const Checkpoint&, const Config&);
// Drawn weights or, with net.init_from, those of another run: of the same network, or of A if this
// one is B. Damaged checkpoints are reported to `warn` and skipped. Throws ConfigError if the
// weights do not fit.
StartingWeights starting_weights(const Config&, const NetworkSpec&,
                                 const std::function<void(const std::string&)>& warn);
TrainOptions train_options_of(const Config&, const MachineOptions&);
// The options that a run trains with, from its config or from the checkpoint that it continues: on
// the same kind of device it keeps the tiling, and with it the order of every sum, whatever the
// device would choose today.
TrainOptions train_options_of(const Config&, const MachineOptions&, const Backend&,
                              const std::optional<Checkpoint>& saved);
// What the trainer's state, downloaded before, is saved as.
Checkpoint checkpoint_of(TrainState, const Trainer&, const Config&, const DataSet&);
// Throws ConfigError if the plan takes more than the backend has free: memory is asked for piece by
// piece, and a system may grant what it does not have.
void require_memory(const TrainPlan&, const Backend&);

}  // namespace sfnn

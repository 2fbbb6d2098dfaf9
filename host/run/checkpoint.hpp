// Everything a run needs to go on as if it had never stopped, in one safetensors file.
//
// Tensors, under the names of their slots: the weights ("layer1.W_s", "V"; biases have one
// dimension), momentum ("velocity/layer1.W_s"), G1's averages ("baseline"), the mean taken off x
// ("x_mean"). All else is text in the metadata: "sfnn.checkpoint" (JSON) and "sfnn.config" (TOML).
// Draws and permutations follow from seed and step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/data/bytes.hpp"
#include "host/formats/safetensors.hpp"
#include "host/model/network.hpp"
#include "host/run/config.hpp"

namespace sfnn {

struct TrainState {
  std::int64_t epoch = 0;                // finished ones
  std::int64_t step = 0;                 // finished ones, of the whole run
  double seconds = 0;                    // spent in training, over all its sessions
  std::optional<double> best_valid_nll;  // none before the first validation
  std::int64_t best_epoch = 0;
  // Sums over the examples seen in the epoch that is under way.
  double c_hat_sum = 0, effective_particles_sum = 0;

  // v(key, value) for each member: what is saved is what is loaded. Keys of older checkpoints that
  // are none of these are passed over.
  template <class Self, class V>
  static void visit(Self& self, V&& v) {
    v("epoch", self.epoch);
    v("step", self.step);
    v("seconds", self.seconds);
    v("best_valid_nll", self.best_valid_nll);
    v("best_epoch", self.best_epoch);
    v("c_hat_sum", self.c_hat_sum);
    v("effective_particles_sum", self.effective_particles_sum);
  }
  friend bool operator==(const TrainState&, const TrainState&) = default;
};

struct Checkpoint {
  NetworkSpec network;
  std::vector<float> params;    // [ParamLayout(network).size]
  std::vector<float> velocity;  // as params
  std::vector<float> baseline;  // [2, n_s] of each layer that trains stochastic units, end to end;
                                // empty without G1
  std::vector<float> x_mean;    // [D_in], or empty: x is used as it is
  Bytes x_bytes = Bytes::grey;  // how a file of inputs is read
  TrainState state;
  Config config;
  Tiling tiling;       // decides the order of sums, so a resumed run must not choose anew
  std::string device;  // Backend::name() of the one that chose it; empty: not known
};

// Throws Error for a checkpoint that is not whole: a size that does not fit the network, a number
// that is not finite.
TensorFile to_tensor_file(const Checkpoint&);
// Throws DataError, with `name` in it, for anything that to_tensor_file would not have made. Takes
// no more memory than the tensors and 32 MiB. Tensor names are compared with those of the network
// and used for nothing else: none becomes a path.
Checkpoint from_tensor_file(const TensorFile&, std::string_view name);

void save_checkpoint(const std::filesystem::path&, const Checkpoint&);  // atomically
Checkpoint load_checkpoint(const std::filesystem::path&);               // checksums required

}  // namespace sfnn

// Everything a run needs to continue as if it had never stopped, in one safetensors file.
//
// Tensors, under the names of their slots: the weights ("layer1.W_s", "V"; biases have one
// dimension), the optimiser's arrays ("velocity/layer1.W_s"), the average of the weights
// ("average/layer1.W_s"), G1's averages ("baseline"), the units of x and y ("x_mean", "x_scale",
// "y_mean", "y_scale"). Networks other than P put their name in front ("R:layer1.W_s").
// Everything else is text in the metadata: "sfnn.checkpoint" (JSON) and "sfnn.config" (TOML). Draws
// and permutations follow from seed and step.
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
#include "host/train/train_state.hpp"

namespace sfnn {

struct Checkpoint {
  std::int64_t version = 3;                   // of the file, and of what its numbers depend on
  TrainState state;                           // includes the networks
  Units units;                                // in which the network sees x and y
  ByteEncoding x_bytes = ByteEncoding::grey;  // how bytes in a file of inputs are read
  std::optional<ByteEncoding> y_bytes;        // and of targets; none: not known
  Config config;
  Tiling tiling;       // decides the order of sums, so a resumed run keeps it
  std::string device;  // Backend::name() of the one that chose it; empty: not known

  // Version 1 added the parts of a gradient one after another.
  bool adds_by_tree() const { return version >= 2; }
  // Versions before 3 multiplied the gradient by train.hidden_rate, not the learning rate.
  bool scales_gradient() const { return version < 3 && config.train.hidden_rate != 1; }
  const NetworkSpec& network() const { return state.P().spec; }
  const std::vector<float>& params() const { return state.P().params(); }
  // Throws ConfigError if no average was kept.
  const std::vector<float>& weights(EvalWeights) const;
  // Those of the learned proposal; null: there is none.
  const std::vector<float>* weights_of_R(EvalWeights) const;
};

// The file of a checkpoint, whose arrays it does not copy. Throws Error for a broken state: a size
// that does not fit the network, a number that is not finite.
TensorFileView view_of(const Checkpoint&);
// Throws DataError, with `name` in it, for anything that view_of would not have made. Takes
// no more memory than the tensors and 32 MiB. Tensor names are compared with those of the network
// and used for nothing else: none becomes a path.
Checkpoint from_tensor_file(const TensorFile&, std::string_view name);

void save_checkpoint(const std::filesystem::path&, const Checkpoint&);  // atomically
Checkpoint load_checkpoint(const std::filesystem::path&);               // checksums required

}  // namespace sfnn

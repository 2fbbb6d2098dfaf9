// What a checkpoint says of its run, over sound tensors: JSON, a zero byte, TOML.
#include <string>
#include <string_view>

#include "host/model/initial_params.hpp"
#include "host/run/checkpoint.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/tensor_files.hpp"

using namespace sfnn;

namespace {

// Every kind of slot, momentum, averages and a mean.
TensorFile sound_file() {
  Checkpoint checkpoint;
  apply_setting(checkpoint.config, "net.hidden=3s,2s+2d,2n+3d");
  apply_setting(checkpoint.config, "train.estimator=G1");
  NetworkState& P = checkpoint.state.P();
  P.spec = {
      .D_in = 5, .hidden = checkpoint.config.net.hidden, .D_out = 4, .output = Output::gaussian};
  const std::vector<float> params = initial_params(P.spec, /*seed=*/1);
  P.arrays = {
      {"params", params},
      {"velocity", params},
      {"baseline", std::vector<float>(2 * (3 + 2))}};  // two averages of each unit that learns
  checkpoint.units.x_mean.resize(5);
  checkpoint.tiling = {.tile = 1, .parts = 1};
  return to_tensor_file(checkpoint);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TensorFile sound = sound_file();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t border = std::min(text.find('\0'), size);
  TensorFile file = sound;
  file.metadata["sfnn.checkpoint"] = text.substr(0, border);
  file.metadata["sfnn.config"] = text.substr(std::min(border + 1, size));
  const auto checkpoint =
      fuzz::load_within<DataError>(32 << 20, [&] { return from_tensor_file(file, fuzz::kName); });
  if (!checkpoint) return 0;
  const Checkpoint again = from_tensor_file(to_tensor_file(*checkpoint), fuzz::kName);
  fuzz::demand(
      again.state == checkpoint->state && differences(again.config, checkpoint->config).empty(),
      "what was loaded can be saved and loaded again");
  return 0;
}

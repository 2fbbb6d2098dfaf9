#include "host/run/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "host/base/error.hpp"
#include "host/formats/json_depth.hpp"
#include "host/train/finite.hpp"
#include "host/train/proposal.hpp"
#include "host/train/state_arrays.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

using nlohmann::ordered_json;

// 1: parts of a gradient were added one after another. 2: by a tree. 3: train.hidden_rate
// multiplies the learning rate, before it was the gradient; TrainState has more numbers.
constexpr std::int64_t kVersion = 3;
constexpr const char* kAbout = "sfnn.checkpoint";
constexpr const char* kConfig = "sfnn.config";
constexpr std::size_t kMaxAboutBytes = 64 * 1024;

[[noreturn]] void refuse_name(const char* key, const std::string& name) {
  throw DataError(fmt::format("{} '{:.60}' is not known", key, name));
}

ByteEncoding encoding_of(const char* key, const std::string& name) {
  if (const auto bytes = from_string<ByteEncoding>(name)) return *bytes;
  refuse_name(key, name);
}

Output output_of(const std::string& name) {
  if (const auto output = parse_output(name)) return *output;
  refuse_name("output", name);
}

std::vector<ArraySpec> arrays_of(const NetworkSpec& network, const Config& config) {
  return state_arrays(network, estimator_of(config.train), config.train);
}

// The tensors of P have no prefix.
std::string prefix_of(std::string_view network) {
  return network == kModelP ? "" : fmt::format("{}:", network);
}

// The parameters have plain names, the optimiser's arrays their own before each.
std::string array_prefix(const std::string& network_prefix, const ArraySpec& array) {
  return array.name == kParams ? network_prefix : fmt::format("{}{}/", network_prefix, array.name);
}

// --- saving ------------------------------------------------------------------------------------

void add_tensor(TensorFileView& file, std::string name, std::vector<std::int64_t> shape,
                std::span<const float> values) {
  if (!all_finite(values))
    throw Error(fmt::format("checkpoint not saved: {} holds a number that is not finite", name));
  file.tensors.push_back({std::move(name), std::move(shape), values});
}

void add_params(TensorFileView& file, const std::string& prefix, const ParamLayout& layout,
                const std::vector<float>& flat) {
  for (const ParamSlot& slot : layout.slots())
    add_tensor(file, prefix + slot.name, slot.shape(),
               std::span(flat).subspan(slot.offset, slot.size()));
}

void require_size(const std::vector<float>& values, std::int64_t size) {
  if (std::int64_t(values.size()) != size)
    throw ShapeError("a checkpoint's arrays do not fit its network");
}

void add_network(TensorFileView& file, const std::string& prefix, const NetworkState& network,
                 const Config& config) {
  const ParamLayout layout(network.spec);
  for (const ArraySpec& array : arrays_of(network.spec, config)) {
    const std::vector<float>& values = network.array(array.name);
    require_size(values, array.size);
    if (array.by_slot) {
      add_params(file, array_prefix(prefix, array), layout, values);
    } else {
      add_tensor(file, prefix + array.name, {array.size}, values);
    }
  }
}

struct ToJson {
  ordered_json& json;

  void operator()(const char* key, std::int64_t value, std::int64_t) const { json[key] = value; }
  void operator()(const char* key, double value, std::int64_t = 1) const {
    if (!std::isfinite(value))
      throw Error(fmt::format("checkpoint not saved: {} is not finite", key));
    json[key] = value;  // the shortest digits that read back as the same number
  }
  void operator()(const char* key, const std::optional<double>& value, std::int64_t) const {
    json[key] = nullptr;
    if (value) (*this)(key, *value);
  }
  void operator()(const char* key, const std::vector<double>& values, std::int64_t) const {
    if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
      throw Error(fmt::format("checkpoint not saved: {} are not finite", key));
    if (!values.empty()) json[key] = values;
  }
};

ordered_json to_json(const NetworkSpec& network) {
  ordered_json hidden = ordered_json::array();
  for (const LayerSpec& layer : network.hidden) hidden.push_back(to_string(layer));
  return {{"D_in", network.D_in},
          {"hidden", hidden},
          {"D_out", network.D_out},
          {"output", to_string(network.output)},
          {"sigma", network.sigma}};
}

ordered_json about(const Checkpoint& checkpoint) {
  ordered_json state, others = ordered_json::object();
  TrainState::visit(checkpoint.state, ToJson{state});
  for (const auto& [name, network] : checkpoint.state.networks)
    if (name != kModelP) others[name] = to_json(network.spec);
  return {{"version", checkpoint.version},
          {"network", to_json(checkpoint.network())},
          {"other_networks", others},
          {"x_bytes", to_string(checkpoint.x_bytes)},
          {"y_bytes", checkpoint.y_bytes ? ordered_json(to_string(*checkpoint.y_bytes)) : nullptr},
          {"state", state},
          {"tiling", {{"tile", checkpoint.tiling.tile}, {"parts", checkpoint.tiling.parts}}},
          {"device", checkpoint.device}};
}

// --- loading -----------------------------------------------------------------------------------

[[noreturn]] void refuse(std::string_view name, const std::string& why) {
  throw DataError(fmt::format("{}: not a sound checkpoint: {}", name, why));
}

struct FromJson {
  const ordered_json& json;
  std::int64_t version = 1;  // of the file

  void operator()(const char* key, std::int64_t& value, std::int64_t since = 1) const {
    if (version < since) return;
    const ordered_json& item = json.at(key);
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > std::uint64_t(INT64_MAX))
      throw DataError(fmt::format("{} is not a count", key));
    value = item.get<std::int64_t>();
  }
  void operator()(const char* key, double& value, std::int64_t since = 1) const {
    if (version < since) return;
    const ordered_json& item = json.at(key);
    if (!item.is_number()) throw DataError(fmt::format("{} is not a number", key));
    value = item.get<double>();
  }
  void operator()(const char* key, std::optional<double>& value, std::int64_t) const {
    value.reset();
    if (!json.at(key).is_null()) (*this)(key, value.emplace());
  }
  void operator()(const char* key, std::vector<double>& values, std::int64_t) const {
    if (json.contains(key)) values = json.at(key).get<std::vector<double>>();
  }
};

NetworkSpec read_network(const ordered_json& json) {
  NetworkSpec network;
  FromJson{json}("D_in", network.D_in);
  FromJson{json}("D_out", network.D_out);
  const auto layers = json.at("hidden").get<std::vector<std::string>>();
  for (const std::string& layer : layers) network.hidden.push_back(parse_layer(layer));
  network.output = output_of(json.at("output").get<std::string>());
  if (json.contains("sigma")) FromJson{json}("sigma", network.sigma);
  network.validate();
  return network;
}

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

// Reads "sfnn.checkpoint" and "sfnn.config", whose errors do not know the file's name yet.
void read_metadata(const TensorFile& file, Checkpoint& checkpoint) {
  const std::string& text = file.metadata.at(kAbout);
  if (text.size() > kMaxAboutBytes)
    throw DataError(fmt::format("{} bytes about its run are too many", text.size()));
  if (is_nested_too_deeply(text)) throw DataError("what it says of its run is nested too deeply");
  const auto json = ordered_json::parse(text);
  FromJson{json}("version", checkpoint.version);
  if (checkpoint.version < 1 || checkpoint.version > kVersion)
    throw DataError(fmt::format("version {} is not known here", checkpoint.version));
  checkpoint.state.P().spec = read_network(json.at("network"));
  if (json.contains("other_networks")) {
    for (const auto& [name, other] : json.at("other_networks").items()) {
      if (name.empty() || !std::ranges::all_of(name, is_letter) || name == kModelP)
        throw DataError("the name of a network is not valid");
      checkpoint.state.networks[name].spec = read_network(other);
    }
  }
  if (json.contains("x_bytes"))
    checkpoint.x_bytes = encoding_of("x_bytes", json.at("x_bytes").get<std::string>());
  if (json.contains("y_bytes") && !json.at("y_bytes").is_null())
    checkpoint.y_bytes = encoding_of("y_bytes", json.at("y_bytes").get<std::string>());
  TrainState::visit(checkpoint.state, FromJson{json.at("state"), checkpoint.version});
  FromJson{json.at("tiling")}("tile", checkpoint.tiling.tile);
  FromJson{json.at("tiling")}("parts", checkpoint.tiling.parts);
  if (json.contains("device")) checkpoint.device = json.at("device").get<std::string>();
  checkpoint.config = from_toml(file.metadata.at(kConfig), kConfig);
  checkpoint.config.validate();
  // A checkpoint from before there were pixels calls them grey.
  if (!json.contains("y_bytes") && draws_bits(checkpoint.config.data))
    checkpoint.x_bytes = ByteEncoding::pixels;
  if (checkpoint.config.net.hidden != checkpoint.network().hidden)
    throw DataError("its network is not the one of its config");
  const NetworkState* R = checkpoint.state.R();
  const ProposalOptions& proposal = checkpoint.config.train.proposal;
  if (bool(R) != proposal.on ||
      (R && R->spec != proposal_network(checkpoint.network(), proposal.hidden)))
    throw DataError("its R is not the one of its config and network");
  if (checkpoint.state.step > std::int64_t(kMaxStep)) throw DataError("its step is out of range");
  if (checkpoint.state.tail_step > checkpoint.state.step)
    throw DataError("its schedule begins after its step");
  const TrainOptions& train = checkpoint.config.train;
  if (checkpoint.state.epoch > std::min(train.epochs, checkpoint.state.step))
    throw DataError("its epoch is out of range");
  if (checkpoint.tiling.tile < 1 || checkpoint.tiling.parts < 1)
    throw DataError("its tiling is empty");
  const auto parts = std::uint64_t(checkpoint.tiling.parts);
  if (parts > std::uint64_t(kMaxParts) ||
      (checkpoint.adds_by_tree() && !std::has_single_bit(parts)))
    throw DataError("its parts are not a power of two");
  if (checkpoint.tiling.tile > train.batch)
    throw DataError("its tiling covers more examples than a step has");
}

class TensorReader {
 public:
  TensorReader(const TensorFile& file, std::string_view name) : file_(file), name_(name) {}

  // The values of a tensor that must be there, in that shape, all finite.
  const std::vector<float>& take(const std::string& tensor,
                                 const std::vector<std::int64_t>& shape) {
    const NamedTensor* found = file_.find(tensor);
    if (found == nullptr) refuse(name_, fmt::format("tensor '{}' is missing", tensor));
    if (found->shape != shape)
      refuse(name_, fmt::format("tensor '{}' has shape [{}], and the network needs [{}]", tensor,
                                fmt::join(found->shape, ", "), fmt::join(shape, ", ")));
    if (!all_finite(found->values))
      refuse(name_, fmt::format("tensor '{}' holds a number that is not finite", tensor));
    ++taken_;
    return found->values;
  }

  // Memory for the flat array is allocated only after every tensor was found with the right size.
  std::vector<float> take_params(const std::string& prefix, const ParamLayout& layout) {
    const std::vector<ParamSlot> slots = layout.slots();
    for (const ParamSlot& slot : slots) take(prefix + slot.name, slot.shape());
    std::vector<float> flat(layout.size);
    for (const ParamSlot& slot : slots) {
      const std::vector<float>& values = file_.find(prefix + slot.name)->values;
      std::copy(values.begin(), values.end(), flat.begin() + slot.offset);
    }
    return flat;
  }

  // Reads the arrays of the network whose spec is known.
  void take_network(const std::string& prefix, const Config& config, NetworkState& network) {
    const ParamLayout layout(network.spec);
    for (const ArraySpec& array : arrays_of(network.spec, config))
      network.arrays.push_back({array.name, array.by_slot
                                                ? take_params(array_prefix(prefix, array), layout)
                                                : take(prefix + array.name, {array.size})});
  }

  // Empty if the file has none of this name.
  std::vector<float> take_if_there(const std::string& tensor, std::int64_t size) {
    return file_.find(tensor) ? take(tensor, {size}) : std::vector<float>();
  }

  [[noreturn]] void fail(const std::string& why) const { refuse(name_, why); }

  void expect_end() const {
    if (taken_ != file_.tensors.size())
      refuse(name_, "it holds tensors that do not belong to its network");
  }

 private:
  const TensorFile& file_;
  std::string_view name_;
  std::size_t taken_ = 0;
};

void read_units(TensorReader& reader, Checkpoint& checkpoint) {
  const NetworkSpec& network = checkpoint.network();
  const bool real_targets = row_of(network.output).family == Output::gaussian;
  Units::visit(checkpoint.units, [&](const char* name, std::vector<float>& array, bool of_x) {
    if (of_x || real_targets)
      array = reader.take_if_there(name, of_x ? network.D_in : network.D_out);
  });
  for (const auto* scale : {&checkpoint.units.x_scale, &checkpoint.units.y_scale})
    if (std::ranges::any_of(*scale, [](float s) { return !(s > 0) || !std::isfinite(1 / s); }))
      reader.fail("a scale of its inputs or targets is not above 0");
}

const std::vector<float>& weights_of(const NetworkState& network, EvalWeights wanted,
                                     const Config& config) {
  if (wanted == EvalWeights::trained) return network.params();
  require(config.train.ema > 0,
          "eval.weights = average: this run kept no average of its weights (train.ema)");
  return network.array(kAverage);
}

}  // namespace

const std::vector<float>& Checkpoint::weights(EvalWeights wanted) const {
  return weights_of(state.P(), wanted, config);
}

const std::vector<float>* Checkpoint::weights_of_R(EvalWeights wanted) const {
  return state.R() ? &weights_of(*state.R(), wanted, config) : nullptr;
}

TensorFileView view_of(const Checkpoint& checkpoint) {
  TensorFileView file;
  for (const auto& [name, network] : checkpoint.state.networks)
    add_network(file, prefix_of(name), network, checkpoint.config);
  const NetworkSpec& network = checkpoint.network();
  Units::visit(checkpoint.units, [&](const char* name, const auto& array, bool of_x) {
    if (array.empty()) return;
    require_size(array, of_x ? network.D_in : network.D_out);
    add_tensor(file, name, {std::int64_t(array.size())}, array);
  });
  file.metadata[kAbout] = about(checkpoint).dump();
  file.metadata[kConfig] = to_toml(checkpoint.config);
  return file;
}

Checkpoint from_tensor_file(const TensorFile& file, std::string_view name) {
  Checkpoint checkpoint;
  if (!file.metadata.contains(kAbout) || !file.metadata.contains(kConfig))
    refuse(name, "it holds tensors, but nothing of a run");
  try {
    read_metadata(file, checkpoint);
  } catch (const nlohmann::json::exception&) {
    refuse(name, "what it says of its run cannot be read");
  } catch (const Error& e) {
    refuse(name, e.what());
  }
  TensorReader reader(file, name);
  for (auto& [network_name, network] : checkpoint.state.networks)
    reader.take_network(prefix_of(network_name), checkpoint.config, network);
  read_units(reader, checkpoint);
  reader.expect_end();
  return checkpoint;
}

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  write_safetensors(path, view_of(checkpoint));
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  return from_tensor_file(read_safetensors(path, Checksums::required), path.string());
}

}  // namespace sfnn

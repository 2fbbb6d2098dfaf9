#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sfnn/network.hpp>
#include <sfnn/train.hpp>

#include "host/api/impl.hpp"
#include "host/base/error.hpp"
#include "host/run/run_directory.hpp"
#include "host/train/finite.hpp"

namespace sfnn {
namespace {

// The slot that the tensor's values belong to.
ParamSlot slot_for(const WeightTensor& tensor, const NetworkSpec& spec) {
  const std::vector<ParamSlot> slots = ParamLayout(spec).slots();
  const auto slot = std::ranges::find(slots, tensor.name, &ParamSlot::name);
  if (slot == slots.end())
    throw ShapeError(fmt::format("{} has no tensor '{}'", to_string(spec), tensor.name));
  if (tensor.shape != slot->shape() || std::int64_t(tensor.values.size()) != slot->size()) {
    throw ShapeError(fmt::format("tensor '{}' has {} values in shape [{}], and [{}] is needed",
                                 tensor.name, tensor.values.size(), fmt::join(tensor.shape, ", "),
                                 fmt::join(slot->shape(), ", ")));
  }
  if (!all_finite(tensor.values))
    throw DataError(fmt::format("tensor '{}' holds a number that is not finite", tensor.name));
  return *slot;
}

}  // namespace

Network::Impl::Impl(const Device& on, Checkpoint checkpoint)
    : device(on),
      saved(std::move(checkpoint)),
      config(RunConfig::Impl{saved.config}),
      model(backend_of(device), saved.network(), saved.weights(saved.config.eval.weights),
            saved.units) {}

std::optional<Model> Network::Impl::proposal() const {
  return proposal_of(backend_of(device), saved, saved.config.eval.weights);
}

Network::Network(const Device& device, const Data& data, const RunConfig& config)
    : Network(Training(device, data, config).network()) {}
Network::Network(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Network::Network(const Network& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(const Network& other) { return *this = Network(other); }
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

Network Network::load(const Device& device, const std::filesystem::path& path, bool best) {
  return Network(
      std::make_unique<Impl>(device, open_checkpoint(path, best, [](const std::string&) {})));
}

void Network::save(const std::filesystem::path& path) const { save_checkpoint(path, impl_->saved); }

std::string Network::to_bytes() const { return serialize(view_of(impl_->saved)); }
Network Network::from_bytes(const Device& device, std::span<const std::byte> bytes) {
  constexpr std::string_view name = "the saved network";
  return Network(std::make_unique<Impl>(
      device, from_tensor_file(parse_safetensors(bytes, name, Checksums::required), name)));
}

std::string Network::description() const { return to_string(impl_->model.spec()); }
std::string Network::output() const { return std::string(to_string(impl_->model.spec().output)); }
std::int64_t Network::inputs() const { return impl_->model.spec().D_in; }
std::int64_t Network::outputs() const { return impl_->model.spec().D_out; }
std::int64_t Network::parameter_count() const { return impl_->model.layout().parameter_count(); }
std::int64_t Network::step() const { return impl_->saved.state.step; }
const RunConfig& Network::config() const { return impl_->config; }

std::vector<std::string> Network::hidden() const {
  std::vector<std::string> layers;
  for (const LayerSpec& layer : impl_->model.spec().hidden) layers.push_back(to_string(layer));
  return layers;
}

std::vector<WeightTensor> Network::weights() const {
  const std::vector<float>& params = impl_->saved.weights(impl_->saved.config.eval.weights);
  std::vector<WeightTensor> tensors;
  for (const ParamSlot& slot : impl_->model.layout().slots()) {
    const auto begin = params.begin() + slot.offset;
    tensors.push_back({slot.name, slot.shape(), {begin, begin + slot.size()}});
  }
  return tensors;
}

void Network::set_weights(std::span<const WeightTensor> tensors) {
  const EvalWeights used = impl_->saved.config.eval.weights;
  std::vector<float> params = impl_->saved.weights(used);
  for (const WeightTensor& tensor : tensors) {
    const ParamSlot slot = slot_for(tensor, impl_->model.spec());
    std::ranges::copy(tensor.values, params.begin() + slot.offset);
  }
  impl_->model.set_params(params);
  impl_->saved.state.P().array(used == EvalWeights::average ? "average" : "params") =
      std::move(params);
}

void require_fit(const Network& network, const Data& data) {
  const NetworkSpec& spec = network.impl().model.spec();
  const DataSet& set = data.impl()->set;
  require(
      spec.D_in == set.D_in && spec.D_out == set.D_out && row_of(spec.output).family == set.output,
      fmt::format("the network {} does not fit data of {} inputs and {} {} outputs",
                  to_string(spec), set.D_in, set.D_out, to_string(set.output)));
}

}  // namespace sfnn

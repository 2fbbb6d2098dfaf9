#include "host/model/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "host/base/error.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

constexpr std::int64_t kMaxWidth = std::int64_t(1) << 24;
constexpr std::int64_t kSlotAlignment = 16;  // floats: 64 bytes

}  // namespace

LayerSpec parse_layer(std::string_view text) {
  const auto refuse = [&] {
    throw ConfigError(fmt::format(
        "layer '{:.60}' is not understood: write 200s (stochastic), 200d (deterministic), 40s+160d "
        "(hybrid) or 40n+160d (noise units of probability 1/2 beside deterministic ones); tanh or "
        "relu in the place of d for other deterministic units",
        text));
  };
  LayerSpec layer;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::int64_t count = 0;
    const auto [end, ec] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (ec == std::errc::result_out_of_range || count > kMaxWidth) {
      throw ConfigError(
          fmt::format("layer '{:.60}' is too large: at most {} units", text, kMaxWidth));
    }
    if (ec != std::errc() || end == rest.data() + rest.size() || count < 1) refuse();
    rest.remove_prefix(end - rest.data());
    const std::string_view kind = rest.substr(0, rest.find('+'));
    const auto unit = std::find_if(kActivations.begin(), kActivations.end(),
                                   [&](const ActivationRow& row) { return row.suffix == kind; });
    const bool deterministic = unit != kActivations.end();
    std::int64_t& slot = deterministic ? layer.n_d : layer.n_s;
    if ((kind != "s" && kind != "n" && !deterministic) || slot != 0) refuse();
    slot = count;
    layer.fixed |= kind == "n";
    if (deterministic) layer.activation = unit->id;
    rest.remove_prefix(kind.size());
    if (rest.empty()) break;
    rest.remove_prefix(1);
    if (rest.empty()) refuse();
  }
  if (layer.width() == 0) refuse();
  return layer;
}

std::string to_string(const LayerSpec& layer) {
  std::string text;
  if (layer.n_s > 0) text = fmt::format("{}{}", layer.n_s, layer.fixed ? 'n' : 's');
  if (layer.n_d > 0)
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : "+", layer.n_d, row_of(layer.activation).suffix);
  return text;
}

bool NetworkSpec::samples() const {
  return std::any_of(hidden.begin(), hidden.end(), [](const LayerSpec& l) { return l.samples(); });
}

bool NetworkSpec::trains_s() const {
  return std::any_of(hidden.begin(), hidden.end(), [](const LayerSpec& l) { return l.trains_s(); });
}

void NetworkSpec::validate() const {
  if (D_in < 0 || D_in > kMaxWidth)
    throw ConfigError(fmt::format("input width {} is out of range", D_in));
  if (D_out < 1 || logits() > kMaxWidth)
    throw ConfigError(fmt::format("output width {} is out of range", D_out));
  if (row_of(output).class_target && D_out < 2)
    throw ConfigError(fmt::format("a {} output needs at least two classes", to_string(output)));
  if (!(sigma >= kLeastSigma && sigma <= kLargestSigma))
    throw ConfigError(fmt::format("sigma = {} is out of range", sigma));
  if (depth() > kSiteMaxHidden)
    throw ConfigError(
        fmt::format("{} hidden layers: at most {} are supported", depth(), int(kSiteMaxHidden)));
  for (const LayerSpec& layer : hidden) {
    if (layer.n_s < 0 || layer.n_d < 0 || layer.width() < 1 || layer.n_s > kMaxWidth ||
        layer.n_d > kMaxWidth) {
      throw ConfigError(
          fmt::format("a hidden layer of {} stochastic and {} deterministic units is out of range",
                      layer.n_s, layer.n_d));
    }
  }
}

std::string to_string(const NetworkSpec& spec) {
  std::string text = fmt::format("{}", spec.D_in);
  for (const LayerSpec& layer : spec.hidden) text += '-' + to_string(layer);
  text += fmt::format("-{} {}", spec.D_out, to_string(spec.output));
  return spec.sigma == 1 ? text : text + fmt::format(" (sigma {})", spec.sigma);
}

NetworkSpec as_stochastic(const NetworkSpec& spec) {
  NetworkSpec result = spec;
  for (LayerSpec& layer : result.hidden) {
    if (layer.n_s > 0) {
      throw ConfigError("only a deterministic network can be read as a stochastic one; layer '" +
                        to_string(layer) + "' has stochastic units already");
    }
    if (!row_of(layer.activation).is_probability) {
      throw ConfigError("layer '" + to_string(layer) +
                        "' cannot be read as a stochastic one: its units are no probabilities; "
                        "train it with sigmoid units (d)");
    }
    layer = {.n_s = layer.n_d, .n_d = 0, .fixed = false};
  }
  return result;
}

ParamLayout::ParamLayout(const NetworkSpec& spec) {
  const auto place = [this](std::string name, std::int64_t rows, std::int64_t cols,
                            std::int64_t fan_in, ParamGroup group, double gain = 1) {
    ParamSlot slot{std::move(name), size, rows, cols, fan_in, group, gain};
    size += (slot.size() + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
    return slot;
  };
  for (std::int64_t l = 0; l < spec.depth(); ++l) {
    const LayerSpec& layer = spec.hidden[l];
    const std::int64_t in = spec.input_width(l);
    const std::int64_t n_s = layer.fixed ? 0 : layer.n_s;  // noise units have no weights
    const std::int64_t d_fan_in = in + layer.n_s;
    const std::string prefix = fmt::format("layer{}.", l + 1);
    LayerSlots slots;
    slots.W_s = place(prefix + "W_s", n_s > 0 ? in : 0, n_s, in, ParamGroup::weight);
    slots.b_s = place(prefix + "b_s", n_s > 0 ? 1 : 0, n_s, 0, ParamGroup::bias);
    const double gain = row_of(layer.activation).initial_gain;
    slots.W_d = place(prefix + "W_d", layer.n_d > 0 ? in : 0, layer.n_d, d_fan_in,
                      ParamGroup::weight, gain);
    slots.U = place(prefix + "U", layer.n_d > 0 ? layer.n_s : 0, layer.n_d, d_fan_in,
                    ParamGroup::weight, gain);
    slots.b_d = place(prefix + "b_d", layer.n_d > 0 ? 1 : 0, layer.n_d, 0, ParamGroup::bias);
    hidden.push_back(std::move(slots));
  }
  const std::int64_t top = spec.input_width(spec.depth());
  V = place("V", top, spec.logits(), top, ParamGroup::output);
  c = place("c", 1, spec.logits(), 0, ParamGroup::output_bias);
  V.sigma_cols = c.sigma_cols = spec.logits() - spec.D_out;
  rho = place("rho", 1, scale_param_count(spec.output, spec.D_out), 0, ParamGroup::scale);
}

std::vector<ParamSlot> ParamLayout::slots() const {
  std::vector<ParamSlot> all;
  const auto add = [&](const ParamSlot& slot) {
    if (slot.size() > 0) all.push_back(slot);
  };
  for (const LayerSlots& layer : hidden) {
    for (const ParamSlot* slot : {&layer.W_s, &layer.b_s, &layer.W_d, &layer.U, &layer.b_d})
      add(*slot);
  }
  add(V);
  add(c);
  add(rho);
  return all;
}

std::int64_t ParamLayout::parameter_count() const {
  std::int64_t count = 0;
  for (const ParamSlot& slot : slots()) count += slot.size();
  return count;
}

}  // namespace sfnn

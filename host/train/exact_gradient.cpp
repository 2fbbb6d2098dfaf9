// The gradient of log P(y|x) by enumeration, in the engine's own pass. It is importance sampling
// with a uniform R of which every state is drawn exactly once: log_w = log P(y|h) + log P(h|x)
// makes w_bar the posterior P(h|x,y), and with the posterior G4 is the derivative itself.
#include <fmt/format.h>

#include "host/base/error.hpp"
#include "host/train/gradient_draws.hpp"
#include "kernels/activations.hpp"

namespace sfnn {
namespace {

// Unit i, counted through all layers, is bit i of the state's number.
HiddenBits all_states(const NetworkSpec& spec, std::int64_t states) {
  HiddenBits bits;
  std::int64_t first = 0;
  for (const LayerSpec& layer : spec.hidden) {
    std::vector<std::uint8_t>& of_layer = bits.emplace_back();
    for (std::int64_t state = 0; state < states; ++state)
      for (std::int64_t i = 0; i < layer.n_s; ++i) of_layer.push_back(state >> (first + i) & 1);
    first += layer.n_s;
  }
  return bits;
}

// log_w += log P(h|x) of one example's states. Units of p = 1/2 would add the same to all of them.
void add_log_prior(const Model& model, const HiddenBits& bits, const Pass& pass,
                   std::vector<float>& log_w) {
  for (std::int64_t l = 0; l < model.spec().depth(); ++l) {
    if (!model.spec().hidden[l].trains_s()) continue;
    const ConstMatrix a_s = pass.a_s(l);
    std::vector<float> a(a_s.size()), b(a_s.cols);
    download(model.backend(), a_s.data, a);
    download(model.backend(), model.layout().hidden[l].b_s.in(model.params()).data, b);
    for (std::size_t state = 0; state < log_w.size(); ++state) {
      const std::size_t row = a_s.rows == 1 ? 0 : state;
      double log_p = 0;
      for (std::int64_t i = 0; i < a_s.cols; ++i) {
        const double input = double(a[row * a_s.cols + i]) + b[i];
        log_p -= softplus(bits[l][state * a_s.cols + i] ? -input : input);
      }
      log_w[state] += float(log_p);
    }
  }
}

}  // namespace

std::int64_t stochastic_units(const NetworkSpec& spec) {
  std::int64_t units = 0;
  for (const LayerSpec& layer : spec.hidden) units += layer.n_s;
  return units;
}

std::vector<float> exact_gradient(const Model& model, const DataSet& data) {
  Backend& backend = model.backend();
  const NetworkSpec& spec = model.spec();
  const std::int64_t units = stochastic_units(spec);
  if (units > kMaxEnumeratedUnits) {
    throw ConfigError(fmt::format("{} stochastic units are too many to enumerate: at most {}",
                                  units, kMaxEnumeratedUnits));
  }
  const std::int64_t states = std::int64_t(1) << units;
  const HiddenBits bits = all_states(spec, states);
  const StagedData staged(backend, data.train, /*height=*/1);
  Pass pass(backend, spec, {.estimator = row_of(Estimator::G4), .y_units = model.target_units()},
            /*max_examples=*/1, states);
  const Buffer part(backend, sizeof(float) * model.layout().size);
  const Buffer C_hat(backend, sizeof(float)), ess(backend, sizeof(float));
  backend.set_clock({.step = 0});
  std::vector<float> log_w(states);
  for (std::int64_t n = 0; n < staged.count(); ++n) {
    const Tile tile{.first = n, .N = 1, .M = states};
    staged.gather(tile, {}, model.gather_units(), pass);
    pass.forward(tile, model.params(), bits);
    pass.log_prob(model.params());
    download(backend, pass.log_w(), log_w);
    add_log_prior(model, bits, pass, log_w);
    backend.upload(std::as_bytes(std::span(log_w)), reinterpret_cast<std::byte*>(pass.log_w()));
    pass.weigh(C_hat.floats(), ess.floats());
    pass.backward(model.params(), nullptr, C_hat.floats(), part.floats());
  }
  std::vector<float> gradient(model.layout().size);
  download(backend, part.floats(), gradient);
  for (float& g : gradient) g /= float(staged.count());
  return gradient;
}

}  // namespace sfnn

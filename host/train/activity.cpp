#include "host/train/activity.hpp"

#include <algorithm>
#include <cmath>

#include "host/base/error.hpp"
#include "host/train/pass.hpp"
#include "host/train/staged_data.hpp"
#include "kernels/activations.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

double entropy_bits(double p) {
  const auto term = [](double q) { return q > 0 ? -q * std::log2(q) : 0.0; };
  return term(p) + term(1 - p);
}

bool is_decided(double p) { return p < kDecided || p > 1 - kDecided; }

// Sums over the rows of one layer.
class LayerSums {
 public:
  LayerSums(const Model& model, std::int64_t layer)
      : layer_(layer), b_s_(model.layout().hidden[layer].b_s.size()), p_(b_s_.size()) {
    download(model.backend(), model.layout().hidden[layer].b_s.in(model.params()).data, b_s_);
  }
  std::int64_t layer() const { return layer_; }

  void add(Backend& backend, const ConstMatrix& a_s) {
    a_s_.resize(a_s.rows * a_s.cols);
    download(backend, a_s.data, a_s_);
    for (std::int64_t r = 0; r < a_s.rows; ++r) {
      for (std::int64_t i = 0; i < a_s.cols; ++i) add(i, sigmoid(a_s_[r * a_s.cols + i] + b_s_[i]));
    }
    rows_ += a_s.rows;
  }

  LayerActivity result() const {
    const auto units = std::int64_t(p_.size());
    const double count = double(rows_ * units);
    LayerActivity activity{.layer = layer_ + 1, .units = units};
    std::transform(histogram_.begin(), histogram_.end(), activity.histogram.begin(),
                   [&](double n) { return n / count; });
    activity.entropy = entropy_ / count;
    activity.decided = decided_ / count;
    activity.stuck = double(std::count_if(p_.begin(), p_.end(),
                                          [&](double p) { return is_decided(p / rows_); })) /
                     double(units);
    return activity;
  }

 private:
  void add(std::int64_t unit, double p) {
    constexpr int kBins = LayerActivity::kBins;
    ++histogram_[std::clamp(int(p * kBins), 0, kBins - 1)];
    entropy_ += entropy_bits(p);
    decided_ += is_decided(p);
    p_[unit] += p;
  }

  std::int64_t layer_, rows_ = 0;
  std::vector<float> b_s_, a_s_;
  std::vector<double> p_;  // summed per unit
  std::array<double, LayerActivity::kBins> histogram_{};
  double entropy_ = 0, decided_ = 0;
};

}  // namespace

std::vector<LayerActivity> hidden_activity(const Model& model, const Examples& examples,
                                           const ActivityOptions& options) {
  return hidden_activity(model, StagedData(model.backend(), examples, kActivityTile), options);
}

std::vector<LayerActivity> hidden_activity(const Model& model, const StagedData& data,
                                           const ActivityOptions& options) {
  const std::int64_t count = std::min(options.examples, data.count());
  if (count < 1 || options.particles < 1) throw ConfigError("there are no examples to look at");
  Backend& backend = model.backend();
  std::vector<LayerSums> sums;
  for (std::int64_t l = 0; l < model.spec().depth(); ++l)
    if (model.spec().hidden[l].trains_s()) sums.emplace_back(model, l);
  if (sums.empty()) return {};
  Pass pass(backend, model.spec(),
            {.seed = options.seed, .first_site = model.first_site(), .backward = false},
            kActivityTile, options.particles);
  backend.set_clock({.step = kEvaluationStep});
  for (std::int64_t first = 0; first < count; first += kActivityTile) {
    const Tile tile{
        .first = first, .N = std::min(kActivityTile, count - first), .M = options.particles};
    data.gather(tile, {}, model.gather_units(), pass);
    pass.forward(tile, model.params());
    for (LayerSums& layer : sums) layer.add(backend, pass.a_s(layer.layer()));
  }
  std::vector<LayerActivity> result;
  for (const LayerSums& layer : sums) result.push_back(layer.result());
  return result;
}

}  // namespace sfnn

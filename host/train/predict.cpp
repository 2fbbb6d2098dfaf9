#include "host/train/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "host/base/error.hpp"
#include "host/train/evaluate.hpp"
#include "host/train/pass.hpp"
#include "host/train/staged_data.hpp"
#include "kernels/gather.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

// Examples times particles at a time: enough for the CPU's look-up tables to pay (see
// CpuBackend::choose_tiling), with little memory a lane.
constexpr std::int64_t kRows = 1024;

// One lane's workspace.
struct Lane {
  Lane(const Model& model, const PredictOptions& options, std::int64_t tile, std::int64_t chunk)
      : pass(model.backend(), model.spec(),
             {.seed = options.seed,
              .first_site = model.first_site(),
              .same_draws = options.same_draws,
              .backward = false},
             tile, chunk),
        sum(model.backend(), sizeof(float) * tile * model.spec().D_out) {}

  Pass pass;
  Buffer sum;
};

// The class where the cumulative probability passes u.
float draw_class(std::span<const float> p, float u) {
  float below = 0;
  for (std::size_t i = 0; i + 1 < p.size(); ++i) {
    below += p[i];
    if (u <= below) return float(i);
  }
  return float(p.size() - 1);
}

// The count where the probabilities, added from the mode outwards, pass u: about sqrt(rate) steps.
float draw_count(double rate, double u) {
  const double mode = std::floor(rate);
  double above = std::exp(mode * std::log(rate) - rate - log_factorial(mode));
  if (rate == 0 || (u -= above) <= 0) return float(mode);
  double below = above, high = mode, low = mode;  // probabilities of the last counts looked at
  while (above > 0 || below > 0) {
    above *= rate / ++high;
    if ((u -= above) <= 0) return float(high);
    below = low > 0 ? below * low-- / rate : 0;
    if ((u -= below) <= 0) return float(low);
  }
  return float(mode);  // u was within rounding of 1
}

}  // namespace

Examples inputs_only(const NetworkSpec& spec, Columns x, std::int64_t count) {
  if (x.cols != spec.D_in) {
    throw ShapeError(fmt::format("an input has {} numbers, and the network {} reads {}", x.cols,
                                 to_string(spec), spec.D_in));
  }
  const std::int64_t y_cols = spec.target_width();
  return {.count = count,
          .x = std::move(x),
          .y = {.values = std::vector<std::uint8_t>(count * y_cols), .cols = y_cols}};
}

std::vector<float> mean_outputs(const Model& model, const Examples& examples,
                                const PredictOptions& options) {
  if (options.particles < 1) throw ConfigError("eval.particles must be at least 1");
  Backend& backend = model.backend();
  const NetworkSpec& spec = model.spec();
  const std::int64_t M = spec.samples() ? options.particles : 1,
                     chunk = std::min(M, kParticleChunk);
  const std::int64_t tile_size = std::max<std::int64_t>(1, kRows / chunk);
  const std::int64_t tiles = (examples.count + tile_size - 1) / tile_size;
  const StagedData data(backend, examples, tile_size);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (std::int64_t lane = 0; lane < std::min<std::int64_t>(backend.lanes(), tiles); ++lane)
    lanes.push_back(std::make_unique<Lane>(model, options, tile_size, chunk));
  std::vector<float> means(examples.count * spec.D_out);
  backend.set_clock({.step = kEvaluationStep});
  backend.for_each(tiles, [&](std::int64_t t, int lane) {
    auto& [pass, sum] = *lanes[lane];
    Tile tile{.first = t * tile_size};
    tile.N = std::min(tile_size, examples.count - tile.first);
    data.gather(tile, {}, model.gather_units(), pass);
    backend.fill_zero(sum.data(), sum.bytes());
    for (std::int64_t m = 0; m < M; m += chunk) {
      tile.first_particle = m;
      tile.M = std::min(chunk, M - m);
      pass.forward(tile, model.params());
      backend.accumulate_mean_output(
          {pass.output(model.params()), {sum.floats(), tile.N, spec.D_out}});
    }
    const auto mean = std::span(means).subspan(tile.first * spec.D_out, tile.N * spec.D_out);
    download(backend, sum.floats(), mean);
    for (std::int64_t e = 0; e < std::int64_t(mean.size()); ++e)
      mean[e] = float(model.units().y_value(e % spec.D_out, mean[e] / float(M)));
  });
  return means;
}

std::vector<float> draw_outputs(Output output, SampledOutputs sampled, std::int64_t count,
                                std::int64_t M, std::uint64_t seed, bool same_draws) {
  auto& [means, sigmas] = sampled;
  const std::int64_t rows = count * M, D_out = rows ? std::int64_t(means.size()) / rows : 0;
  const DrawKey key{seed, kEvaluationStep, kSiteOutputSample};
  std::vector<float> classes;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto n = std::uint32_t(same_draws ? 0 : r / M), m = std::uint32_t(r % M);
    const auto row = std::span(means).subspan(r * D_out, D_out);
    switch (output) {
      case Output::softmax:
        classes.push_back(draw_class(row, uniform(key, n, m, 0)));
        break;
      case Output::bernoulli:
        for (std::int64_t i = 0; i < D_out; ++i)
          row[i] = uniform(key, n, m, i) <= row[i] ? 1.0f : 0.0f;
        break;
      case Output::gaussian:
      case Output::gaussian_learnt:
      case Output::gaussian_each:
      case Output::gaussian_predicted:
        for (std::int64_t i = 0; i < D_out; ++i)
          row[i] += sigmas[r * D_out + i] * normal_at(key, n, i, m);
        break;
      case Output::poisson:
        for (std::int64_t i = 0; i < D_out; ++i) row[i] = draw_count(row[i], uniform(key, n, m, i));
        break;
    }
  }
  return row_of(output).class_target ? classes : std::move(means);
}

}  // namespace sfnn

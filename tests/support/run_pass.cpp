#include "tests/support/run_pass.hpp"

#include <algorithm>

#include "host/train/betas.hpp"

namespace sfnn {
namespace {

std::vector<float> to_float(const Vector& values) { return {values.begin(), values.end()}; }

// Averages whose quotient is the given L_bar.
std::vector<float> averages(const NetworkSpec& spec, const EstimatorRow& estimator,
                            const std::vector<Vector>& L_bar) {
  const PartLayout layout(spec, estimator);
  std::vector<float> values(layout.baseline_size, 0.0f);
  for (std::size_t l = 0; l < L_bar.size() && !values.empty(); ++l) {
    const std::int64_t n_s = std::int64_t(L_bar[l].size());
    for (std::int64_t i = 0; i < n_s && spec.hidden[l].trains_s(); ++i) {
      values[layout.baseline_offset[l] + i] = 0.5f;
      values[layout.baseline_offset[l] + n_s + i] = 0.5f * float(L_bar[l][i]);
    }
  }
  return values;
}

HiddenBits rows_of(const NetworkSpec& spec, const LayerBits& bits, const Tile& tile) {
  HiddenBits part(bits.size());
  for (std::size_t l = 0; l < bits.size(); ++l) {
    const std::int64_t stride = tile.M * spec.hidden[l].n_s;
    part[l].assign(bits[l].begin() + tile.first * stride,
                   bits[l].begin() + (tile.first + tile.N) * stride);
  }
  return part;
}

}  // namespace

EnginePass run_pass(Backend& backend, const NetworkSpec& spec, const Vector& params,
                    const ReferenceBatch& batch, const EngineOptions& options) {
  const std::int64_t N = batch.N, M = batch.M,
                     tile_size = options.tile ? options.tile : std::max<std::int64_t>(N, 1);
  const Buffer d_params = upload(backend, to_float(params));
  const Buffer d_baseline = upload(backend, averages(spec, options.pass.estimator, options.L_bar));
  const PartLayout layout(spec, options.pass.estimator);
  Buffer part(backend, layout.size() * sizeof(float));
  Buffer C_hat(backend, N * sizeof(float)), ess(backend, N * sizeof(float));
  backend.set_clock({.step = options.step});
  Pass pass(backend, spec, options.pass, tile_size, M);
  Betas betas(backend, spec, options.pass);
  betas.refresh(d_baseline.floats());
  const std::int64_t D_y = pass.y(0).cols;

  EnginePass result;
  result.bits.resize(spec.depth());
  for (std::int64_t first = 0; first < N || first == 0; first += tile_size) {
    const Tile tile{.first = first, .N = std::min(tile_size, N - first), .M = M};
    const auto rows = [&](const Vector& values, std::int64_t cols) {
      const auto begin = values.begin() + first * cols;
      return to_float(Vector(begin, begin + tile.N * cols));
    };
    const auto x = rows(batch.x, spec.D_in), y = rows(batch.y, D_y);
    backend.upload(std::as_bytes(std::span(x)), reinterpret_cast<std::byte*>(pass.x(tile.N).data));
    backend.upload(std::as_bytes(std::span(y)), reinterpret_cast<std::byte*>(pass.y(tile.N).data));
    if (options.draw) {
      pass.forward(tile, d_params.floats());
    } else {
      pass.forward(tile, d_params.floats(), rows_of(spec, batch.bits, tile));
    }
    pass.log_prob(d_params.floats());
    pass.weigh(C_hat.floats() + first, ess.floats() + first);
    if (options.pass.backward) {
      pass.backward(d_params.floats(), betas.data(), C_hat.floats() + first, part.floats());
    }
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(result.log_w, download(backend, pass.log_w(), tile.rows()));
    append(result.w_bar, download(backend, pass.w_bar(), tile.rows()));
    for (std::int64_t l = 0; l < spec.depth(); ++l) {
      std::vector<std::uint8_t> bits(tile.rows() * spec.hidden[l].n_s);
      backend.download_bits(pass.s(l), bits);
      append(result.bits[l], bits);
    }
  }
  result.C_hat = download(backend, C_hat.floats(), N);
  result.ess = download(backend, ess.floats(), N);
  const auto sums = download(backend, part.floats(), layout.size());
  result.gradient.assign(sums.begin(), sums.begin() + layout.gradient_size);
  result.score2_sums.assign(sums.begin() + layout.gradient_size, sums.end());
  return result;
}

}  // namespace sfnn

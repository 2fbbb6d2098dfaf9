#include "host/train/hidden_means.hpp"

#include <algorithm>
#include <memory>

#include "host/base/error.hpp"
#include "host/train/evaluate.hpp"
#include "host/train/pass.hpp"
#include "host/train/staged_data.hpp"
#include "kernels/activations.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

// Examples times particles at a time, as in mean_outputs.
constexpr std::int64_t kRows = 1024;

// Units of one layer that lie side by side in the result.
struct Block {
  std::int64_t layer = 0;
  enum class Kind { stochastic, fixed, deterministic } kind = Kind::stochastic;
  std::int64_t first = 0, units = 0;  // columns
  std::vector<float> b = {};          // stochastic: the biases, which a_s is without
};

std::vector<Block> blocks_of(const Model& model) {
  std::vector<Block> blocks;
  std::int64_t first = 0;
  for (std::int64_t l = 0; l < model.spec().depth(); ++l) {
    const LayerSpec& layer = model.spec().hidden[l];
    if (layer.n_s > 0) {
      Block block{l, layer.fixed ? Block::Kind::fixed : Block::Kind::stochastic, first, layer.n_s};
      if (layer.trains_s()) {
        block.b.resize(layer.n_s);
        download(model.backend(), model.layout().hidden[l].b_s.in(model.params()).data, block.b);
      }
      blocks.push_back(std::move(block));
    }
    first += layer.n_s;
    if (layer.n_d > 0) blocks.push_back({l, Block::Kind::deterministic, first, layer.n_d});
    first += layer.n_d;
  }
  return blocks;
}

// One lane's workspace: the sums of a tile's examples.
class Lane {
 public:
  Lane(const Model& model, const PredictOptions& options, std::int64_t tile, std::int64_t chunk)
      : pass(model.backend(), model.spec(),
             {.seed = options.seed,
              .first_site = model.first_site(),
              .same_draws = options.same_draws,
              .backward = false},
             tile, chunk),
        units_(hidden_units(model.spec())),
        sums_(tile * units_) {}

  Pass pass;

  void clear() { std::ranges::fill(sums_, 0.0); }

  // Adds a chunk of particles. What they share has one row per example: it counts for each of them.
  void add(Backend& backend, const Tile& tile, const Block& block) {
    if (block.kind == Block::Kind::fixed) {
      for (std::int64_t n = 0; n < tile.N; ++n)
        for (std::int64_t i = 0; i < block.units; ++i) sum(n, block, i) += 0.5 * double(tile.M);
      return;
    }
    const ConstMatrix values =
        block.kind == Block::Kind::stochastic ? pass.a_s(block.layer) : pass.d(block.layer);
    host_.resize(values.rows * values.cols);
    download(backend, values.data, host_);
    const std::int64_t per_example = values.rows / tile.N;
    for (std::int64_t r = 0; r < values.rows; ++r) {
      for (std::int64_t i = 0; i < block.units; ++i) {
        const float value = host_[r * values.cols + i];
        sum(r / per_example, block, i) +=
            double(block.b.empty() ? value : sigmoid(value + block.b[i])) *
            double(tile.M / per_example);
      }
    }
  }

  void write_means(const Tile& tile, std::int64_t M, float* means) const {
    for (std::int64_t e = 0; e < tile.N * units_; ++e) means[e] = float(sums_[e] / double(M));
  }

 private:
  double& sum(std::int64_t n, const Block& block, std::int64_t i) {
    return sums_[n * units_ + block.first + i];
  }

  std::int64_t units_;
  std::vector<double> sums_;  // [tile, units]
  std::vector<float> host_;
};

}  // namespace

std::int64_t hidden_units(const NetworkSpec& spec) {
  std::int64_t units = 0;
  for (const LayerSpec& layer : spec.hidden) units += layer.n_s + layer.n_d;
  return units;
}

std::vector<float> hidden_means(const Model& model, const Examples& examples,
                                const PredictOptions& options) {
  if (options.particles < 1) throw ConfigError("eval.particles must be at least 1");
  Backend& backend = model.backend();
  const std::int64_t M = model.spec().samples() ? options.particles : 1,
                     chunk = std::min(M, kParticleChunk);
  const std::int64_t tile_size = std::max<std::int64_t>(1, kRows / chunk);
  const std::int64_t tiles = (examples.count + tile_size - 1) / tile_size;
  const std::int64_t units = hidden_units(model.spec());
  const std::vector<Block> blocks = blocks_of(model);
  const StagedData data(backend, examples, tile_size);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (std::int64_t lane = 0; lane < std::min<std::int64_t>(backend.lanes(), tiles); ++lane)
    lanes.push_back(std::make_unique<Lane>(model, options, tile_size, chunk));
  std::vector<float> means(examples.count * units);
  backend.set_clock({.step = kEvaluationStep});
  backend.for_each(tiles, [&](std::int64_t t, int l) {
    Lane& lane = *lanes[l];
    Tile tile{.first = t * tile_size};
    tile.N = std::min(tile_size, examples.count - tile.first);
    data.gather(tile, {}, model.gather_units(), lane.pass);
    lane.clear();
    for (std::int64_t m = 0; m < M; m += chunk) {
      tile.first_particle = m;
      tile.M = std::min(chunk, M - m);
      lane.pass.forward(tile, model.params());
      for (const Block& block : blocks) lane.add(backend, tile, block);
    }
    lane.write_means(tile, M, means.data() + tile.first * units);
  });
  return means;
}

}  // namespace sfnn

// How random the hidden units are: the distribution of p = sigma(a) over units, examples and
// particles. Training may turn stochastic units into deterministic ones; here it shows.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "host/data/dataset.hpp"
#include "host/model/model.hpp"
#include "host/train/staged_data.hpp"

namespace sfnn {

// p this close to 0 or 1 counts as decided.
constexpr double kDecided = 0.05;

struct LayerActivity {
  static constexpr int kBins =
      20;  // bins of p, from 0 to 1; the outermost ones are the decided ones

  std::int64_t layer = 0;                 // from 1
  std::int64_t units = 0;                 // stochastic ones
  std::array<double, kBins> histogram{};  // shares; they sum to one
  double entropy = 0;                     // mean of H(p), in bits: 1 for a fair coin, 0 if decided
  double decided = 0;                     // share of p within kDecided of 0 or 1
  double stuck = 0;  // share of units decided whatever the input: their mean p is within kDecided
};

struct ActivityOptions {
  std::int64_t examples = 500;  // the first so many
  std::int64_t particles = 10;
  std::uint64_t seed = 1;
};

// One entry for each layer with stochastic units that have weights; none for a deterministic
// network. Staged data must come in windows of kActivityTile examples.
constexpr std::int64_t kActivityTile = 50;
std::vector<LayerActivity> hidden_activity(const Model&, const Examples&, const ActivityOptions&);
std::vector<LayerActivity> hidden_activity(const Model&, const StagedData&, const ActivityOptions&);

}  // namespace sfnn

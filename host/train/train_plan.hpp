// What a training run will do and need, before any of it is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "host/backend/backend.hpp"
#include "host/data/dataset.hpp"
#include "host/model/network.hpp"
#include "host/ranks/ranks.hpp"
#include "host/ranks/step_shares.hpp"
#include "host/train/pass.hpp"
#include "host/train/schedule.hpp"
#include "host/train/train_options.hpp"

namespace sfnn {

struct TrainPlan {
  // As they will be: no more examples than the data has, one particle if nothing draws.
  std::int64_t batch = 0, M = 1;
  std::int64_t steps_per_epoch = 0;
  Schedule schedule;
  PassOptions pass;
  std::optional<NetworkSpec> R;  // the learned proposal, if there is one
  Tiling tiling;
  int rank = 0, ranks = 1;          // this process, of so many that share a step
  int lanes = 1;                    // passes side by side
  std::size_t workspace_bytes = 0;  // parameters, their gradients, activations
  std::size_t data_bytes = 0;       // the training examples, in the backend's memory

  // Who takes what in a step of N examples.
  StepShares shares(std::int64_t N) const { return {N, tiling.tile, tiling.parts, ranks}; }
  // Parts of a whole batch's gradient that have tiles; a smaller batch may have fewer.
  std::int64_t parts_with_tiles() const { return shares(batch).parts(); }
  // Of these, those that this rank makes, at most.
  std::int64_t own_parts() const { return shares(batch).most_parts_of(rank); }
  std::size_t bytes() const { return workspace_bytes + data_bytes; }
};

// For this one of several processes. Throws ConfigError if the data does not fit the network, the
// options teach nothing, or there are more ranks than parts.
TrainPlan plan_training(Backend&, const NetworkSpec&, const TrainOptions&, const DataSet&,
                        const Ranks& = alone());

}  // namespace sfnn

// The library in one header: what a program of one's own needs to train such a network on its own
// numbers, to measure it, and to leave a checkpoint that the commands of `sfnn` read.
//
// clang-format off
//   const auto backend = sfnn::make_backend({});  // a GPU, else the CPU
//   const auto data = sfnn::make_data_set({.output = sfnn::Output::bernoulli, .D_in = 4, .D_out = 2},
//                                         {x, y}, {test_x, test_y});
//   const auto network = sfnn::network_for(data, {"100s", "50s"});
//   const sfnn::TrainOptions options{.epochs = 20, .learning_rate = 0.1};
//   sfnn::Trainer trainer(*backend, network, options, data);
//   while (trainer.step() < trainer.total_steps()) trainer.train_step();
//   const auto test = sfnn::evaluate(trainer.model(), data.test, {});
//   sfnn::save_checkpoint("network.safetensors", sfnn::checkpoint_of(trainer, options, data));
// clang-format on
//
// What is bad throws ConfigError, DataError or Error (host/base/error.hpp), all std::exception.
// A Backend and what was made on it belong to one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"  // Backend, make_backend, Buffer
#include "host/base/error.hpp"       // what is thrown
#include "host/data/dataset.hpp"     // DataSet, Examples
#include "host/model/model.hpp"      // Model: a network with its weights
#include "host/run/checkpoint.hpp"   // Checkpoint, save_checkpoint, load_checkpoint
#include "host/train/evaluate.hpp"   // evaluate, sample_outputs
#include "host/train/trainer.hpp"    // TrainOptions, Trainer

namespace sfnn {

struct DataShape {
  Output output = Output::bernoulli;
  std::int64_t D_in = 0;   // numbers of an input
  std::int64_t D_out = 0;  // numbers of a target; softmax: how many classes there are
};

// Row-major, as many rows of x as of y. Softmax: y has one number an example, its class from 0;
// Bernoulli: numbers in 0 .. 1; Gaussian: any.
struct ExampleSpans {
  std::span<const float> x, y;
};

// Copies the spans. Validation examples, and test examples too, may be left out.
DataSet make_data_set(const DataShape&, const ExampleSpans& train, const ExampleSpans& test = {},
                      const ExampleSpans& valid = {});

// A network whose input and output fit the data. Layers as in the config: "200s" stochastic, "200d"
// deterministic, "40s+160d" both.
NetworkSpec network_for(const DataSet&, const std::vector<std::string>& hidden);

// All that the trainer knows, for save_checkpoint.
Checkpoint checkpoint_of(Trainer&, const TrainOptions&, const DataSet&);

}  // namespace sfnn

// The six workloads of the step benchmark, each with a network that has been trained a little: how
// peaked the responsibilities are decides what a step costs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "host/data/dataset.hpp"
#include "host/train/trainer.hpp"

namespace sfnn::bench {

struct Workload {
  std::string name, title;
  bool evaluation = false;  // C_hat_100 of `evaluated` test examples instead of a training step
  std::int64_t evaluated = 1000;  // at most
  bool stand_in = false;          // the built-in set, because the real files are absent
  std::string data_note;          // which data, or their stand-in if the real ones are missing
  DataSet data;
  NetworkSpec spec;
  TrainOptions options;       // for the step that is timed
  std::vector<float> params;  // trained
};

// Trains the network, or takes it from the cache.
Workload make_workload(int number, const std::filesystem::path& cache, int threads);
constexpr int kWorkloads = 6;

// The options of a step that may be timed over and over: its rate is zero, which leaves the weights
// where they are.
TrainOptions timed_options(const Workload&);
// The test examples of an evaluation.
Examples evaluated_examples(const Workload&);

}  // namespace sfnn::bench

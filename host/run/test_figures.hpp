// The figures of a run's test: as a line for people, and in the last epoch's line of metrics.jsonl.
#pragma once

#include <optional>
#include <string>

#include "host/run/config.hpp"
#include "host/run/records.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn {

// "NLL 0.071 ± 0.003 (M = 100, 10000 examples), error 2.15 ± 0.15 %", with standard errors over
// the examples.
std::string test_figures(const Evaluation&);

void add_test(EpochRecord&, const Evaluation&, EvalWeights of = EvalWeights::trained);
// What add_test wrote for these weights, if anything.
std::optional<Evaluation> test_in(const EpochRecord&, EvalWeights of);

}  // namespace sfnn

// The figures of a run's test: as a line for people, and in the last epoch's line of metrics.jsonl.
#pragma once

#include <optional>
#include <string>

#include "host/run/records.hpp"
#include "host/train/evaluate.hpp"

namespace sfnn {

std::string test_figures(const Evaluation&);  // "NLL 55.330 (M = 100), error 2.15 %"

void add_test(EpochRecord&, const Evaluation&);
std::optional<Evaluation> test_in(const EpochRecord&);  // what add_test wrote, if anything

}  // namespace sfnn

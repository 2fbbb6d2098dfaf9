// What `sfnn estimators` shows of its measurements: tables, JSON lines, charts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/report/chart.hpp"
#include "host/run/metrics.hpp"
#include "host/train/estimator_study.hpp"

namespace sfnn {

// A point on the training path with its measurements.
template <class Measured>
struct PathPoint {
  std::int64_t step = 0, epoch = 0;
  Measured measured;
};
using StudyPoint = PathPoint<Study>;
using SweepPoint = PathPoint<std::vector<NormAtC>>;

// At most 100 columns unless numbers are long, no newline at the end.
std::string to_table(const StudyPoint&);
std::string to_table(const SweepPoint&);

// An explanation of the question marks in a table, one sentence per cause.
std::vector<std::string> remarks_on(const StudyPoint&);
std::vector<std::string> remarks_on(const SweepPoint&);

// One line per estimator and weight matrix, or per cM.
std::vector<MetricsLine> to_lines(const StudyPoint&, const StudyOptions&);
std::vector<MetricsLine> to_lines(const SweepPoint&, const StudyOptions&);

// Bias, variance and cosine along the path, side by side for the hidden layers' weights (`columns`
// of them): those of the output get the same from every estimator.
struct Charts {
  std::vector<Chart> charts;
  int columns = 1;
};
Charts charts_of(const std::vector<StudyPoint>&);
Charts charts_of(const std::vector<SweepPoint>&);

}  // namespace sfnn

// The units in which a network sees its numbers: (value - mean) / scale, column by column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/names.hpp"

namespace sfnn {

struct DataSet;

// What data.standardize asks for: means of 0 and standard deviations of 1.
enum class Standardize { none, x, y, both };
inline constexpr Names<Standardize, 4> kStandardize{{{Standardize::none, "none"},
                                                     {Standardize::x, "x"},
                                                     {Standardize::y, "y"},
                                                     {Standardize::both, "both"}}};
constexpr const auto& names_of(Standardize) { return kStandardize; }

// Each is [D_in] or [D_out], or empty: nothing is subtracted, nothing is divided by. Scales lie
// above 0. Only real targets have units.
struct Units {
  std::vector<float> x_mean = {}, x_scale = {}, y_mean = {}, y_scale = {};

  // v(name, array, whether it is of x) for each
  template <class Self, class V>
  static void visit(Self& self, V&& v) {
    v("x_mean", self.x_mean, true);
    v("x_scale", self.x_scale, true);
    v("y_mean", self.y_mean, false);
    v("y_scale", self.y_scale, false);
  }

  // Output i, from the network's units to those of the targets.
  double y_scale_of(std::int64_t i) const { return y_scale.empty() ? 1 : y_scale[i]; }
  double y_value(std::int64_t i, double seen) const {
    return (y_mean.empty() ? 0 : y_mean[i]) + y_scale_of(i) * seen;
  }
  // log |d seen / d y|: what log P(y) is more than log P of what the network sees
  double log_jacobian() const;

  friend bool operator==(const Units&, const Units&) = default;
};

// The same units with one scale for all targets, the r.m.s. of theirs: where one sigma serves them
// all, their errors must stay comparable.
Units with_common_y_scale(Units);

// Of the training examples. center: the mean of x at least. A column without spread has scale 1.
// Throws ConfigError if targets without units are to be standardised alone.
Units units_of(const DataSet&, Standardize, bool center);

// Root mean square over the columns of y of their standard deviations in training.
double deviation_of_targets(const DataSet&);

}  // namespace sfnn

// Comparing the estimators: how far the mean of each lies from the gradient that all of them are
// after, how much a single draw scatters, and which way it points; at fixed weights, on a fixed
// mini-batch.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <sfnn/data.hpp>
#include <sfnn/network.hpp>
#include <span>
#include <string>
#include <vector>

namespace sfnn {

// |v|^2 of a mean vector, relative to |g_ref|^2; the noise of the draws is taken off, so it may
// come out below zero if there is little else. NaN: not known.
struct SquaredLength {
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::quiet_NaN();  // standard error

  bool known() const { return !std::isnan(value); }
  bool beyond_noise() const { return value > 2 * error; }
};

// One estimator on one weight matrix. All figures are NaN if there is no g_ref to divide by.
struct GradientFigures {
  std::string weights;      // "layer1.W_s"
  SquaredLength bias = {};  // |E[g] - g_ref|^2 / |g_ref|^2
  // Trace of the covariance of one draw, / |g_ref|^2.
  double variance = std::numeric_limits<double>::quiet_NaN();
  // One draw against g_ref: mean and deviation.
  double cosine = std::numeric_limits<double>::quiet_NaN();
  double cosine_sd = std::numeric_limits<double>::quiet_NaN();
};

struct EstimatorFigures {
  std::string estimator = "G3";
  std::vector<GradientFigures> weights;  // every matrix, from the first layer to V
  // Its cost: what the fastest draw of the mini-batch gradient took.
  double seconds = std::numeric_limits<double>::quiet_NaN();
};

enum class ReferenceGradient {
  found,
  zero,  // exactly: saturated units make all particles equal
  lost,  // in the noise of its draws, which do not even tell it from zero
};

struct ReferenceFigures {
  std::int64_t particles = 0;                    // M; 0: exact
  std::vector<ReferenceGradient> gradient = {};  // per weight matrix
  // Per weight matrix, if not exact: the bias of the same estimate with M/4. If it falls as 1/M, a
  // third of its length is what the reference itself lacks.
  std::vector<SquaredLength> quarter_bias = {};
};

struct Study {
  ReferenceFigures reference;
  std::vector<EstimatorFigures> estimators;  // those that M admits
};

// The norm of one draw of G5 for the first hidden layer's weights, averaged over mini-batches.
struct NormAtC {
  double cM = 0;
  double norm = 0, error = 0;  // mean and its standard error
};

struct EstimatorStudyOptions {
  std::optional<std::int64_t> particles = {}, batch = {};  // none: as the network's config has them
  std::int64_t draws = 50;                                 // at least 10
  // M of the reference. None: enumeration of up to 12 units, else 1000.
  std::optional<std::int64_t> reference_particles = {};
  std::function<void(double share_done)> progress = {};
};

// Throws ConfigError if there is nothing to estimate or too little to estimate it from.
Study study_estimators(const Network&, const Data&, const EstimatorStudyOptions& = {});
std::vector<NormAtC> norm_against_c(const Network&, const Data&, std::span<const double> cM,
                                    const EstimatorStudyOptions& = {});

}  // namespace sfnn

// Estimators under the glass: how far the mean of each lies from the gradient that all of them are
// after, how much a single draw scatters, and which way it points; at fixed weights, on a fixed
// mini-batch.
//
// The reference is the gradient of C = log P(y|x), Eq. (4): a sum over all states where the
// stochastic units are few, else the mean of G5 with many particles, whose distance from it falls
// as 1/M and which has the least variance of those for which this holds. No estimator has exactly
// this mean at finite M: G1 is unbiased for E[C_hat_M], G4 and G5 for the bound with Q fixed (all
// three differ from it by O(1/M)), G2 and G3 for nothing. Against one reference they can be
// compared.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/data/dataset.hpp"
#include "host/model/model.hpp"
#include "host/train/train_options.hpp"

namespace sfnn {

// Means are taken over so many groups of draws, and standard errors from how the groups differ.
constexpr int kGroups = 10;

struct StudyOptions {
  TrainOptions train = {};  // M, batch, c, seed, ...: as the network was trained; any estimator
  std::int64_t draws = 50;  // at least kGroups
  // M of the reference. None: enumeration of up to kMaxEnumeratedUnits units, else 1000.
  std::optional<std::int64_t> reference_particles = {};
  std::function<void(double share_done)> progress = [](double) {};
};

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// |v|^2 of a mean vector, relative to |g_ref|^2; the noise of the draws is taken off, so it may
// come out below zero where there is little else.
struct SquaredLength {
  double value = kUnknown, error = kUnknown;  // error: standard error

  bool known() const { return !std::isnan(value); }
  bool beyond_noise() const { return value > 2 * error; }
};

// Of one estimator and one weight matrix. All of them unknown where there is no g_ref to divide by.
struct GradientFigures {
  std::string weights;         // "layer1.W_s"
  SquaredLength bias = {};     // |E[g] - g_ref|^2 / |g_ref|^2
  double variance = kUnknown;  // trace of the covariance of one draw, / |g_ref|^2
  double cosine = kUnknown, cosine_sd = kUnknown;  // of one draw to g_ref: mean, its deviation
};

struct EstimatorFigures {
  Estimator estimator = Estimator::G3;
  std::vector<GradientFigures> weights;  // every matrix, from the first layer to V
};

enum class ReferenceGradient {
  found,
  zero,  // exactly, as where saturated units make all particles alike
  lost,  // in the noise of its draws, which do not even tell it from zero
};

struct ReferenceFigures {
  std::int64_t particles = 0;                    // M; 0: exact
  std::vector<ReferenceGradient> gradient = {};  // per weight matrix
  // Per weight matrix, where not exact: the bias of the same estimate with M/4. Where it falls as
  // 1/M, a third of its length is what the reference itself lacks.
  std::vector<SquaredLength> quarter_bias = {};
};

struct Study {
  ReferenceFigures reference;
  std::vector<EstimatorFigures> estimators;  // those that M admits
};

// Throws ConfigError where there is nothing to estimate or too little to estimate it from.
Study study_estimators(const Model&, const DataSet&, const StudyOptions&);

// The paper's Figure 1, left: the norm of one draw of G5 for the first hidden layer's weights,
// averaged over mini-batches (one a draw), for each c. As c leaves the mean alone, the shortest
// draws have the least variance.
struct NormAtC {
  double cM = 0;
  double norm = 0, error = 0;  // mean and its standard error
};
std::vector<NormAtC> norm_against_c(const Model&, const DataSet&, const StudyOptions&,
                                    std::span<const double> cM);

}  // namespace sfnn

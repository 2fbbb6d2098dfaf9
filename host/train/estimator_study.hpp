// Comparing the estimators: how far the mean of each lies from the gradient that all of them are
// after, how much a single draw scatters, and which way it points; at fixed weights, on a fixed
// mini-batch.
//
// The reference is the gradient of C = log P(y|x), Eq. (4): a sum over all states if the
// stochastic units are few, else the mean of G5 with many particles, whose distance from it falls
// as 1/M and which has the least variance of those for which this holds. No estimator has exactly
// this mean at finite M: G1 is unbiased for E[C_hat_M], G4 and G5 for the bound with Q fixed (all
// three differ from it by O(1/M)), G2 and G3 for nothing. Against one reference they can be
// compared.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <sfnn/study.hpp>
#include <span>
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

// Throws ConfigError if there is nothing to estimate or too little to estimate it from.
Study study_estimators(const Model&, const DataSet&, const StudyOptions&);

// The paper's Figure 1, left: the norm of one draw of G5 for the first hidden layer's weights,
// averaged over mini-batches (one a draw), for each c. As c leaves the mean alone, the shortest
// draws have the least variance.
std::vector<NormAtC> norm_against_c(const Model&, const DataSet&, const StudyOptions&,
                                    std::span<const double> cM);

}  // namespace sfnn

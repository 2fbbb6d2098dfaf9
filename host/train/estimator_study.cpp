#include "host/train/estimator_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "host/base/error.hpp"
#include "host/train/gradient_draws.hpp"

namespace sfnn {
namespace {

constexpr std::int64_t kReferenceParticles = 1000;

// What draws with seeds of their own: a run's weights depend on the run's draws, the draws of a
// study must depend on neither these nor each other.
enum class Purpose : std::uint64_t { draws = 1, reference, quarter };

TrainOptions seeded(TrainOptions options, Purpose purpose) {
  options.seed ^= std::uint64_t(purpose) * 0x9E3779B97F4A7C15u;
  return options;
}

double dot(const float* a, const float* b, std::int64_t count) {
  return std::inner_product(
      a, a + count, b, 0.0, [](double sum, double term) { return sum + term; },
      [](float x, float y) { return double(x) * y; });
}

std::vector<ParamSlot> weight_matrices(const ParamLayout& layout) {
  std::vector<ParamSlot> slots = layout.slots();
  std::erase_if(slots, [](const ParamSlot& slot) { return slot.fan_in == 0; });
  return slots;
}

// --- means and their errors --------------------------------------------------------------------

// Group k's mean of a gradient, k = 0 .. kGroups - 1.
using GroupMeans = std::array<std::vector<float>, kGroups>;
// Inner products of the groups' vectors.
using Gram = std::array<std::array<double, kGroups>, kGroups>;

Gram gram(const GroupMeans& v, const ParamSlot& slot) {
  Gram products{};
  for (int k = 0; k < kGroups; ++k)
    for (int l = 0; l < k; ++l)
      products[k][l] = products[l][k] =
          dot(v[k].data() + slot.offset, v[l].data() + slot.offset, slot.size());
  return products;
}

// |E v|^2 without bias: groups k != l are independent, so E<v_k, v_l> = |E v|^2, whereas <v_k, v_k>
// would add the variance. without: a group to leave out.
double squared_mean(const Gram& products, int without = -1) {
  double sum = 0;
  int count = 0;
  for (int k = 0; k < kGroups; ++k) {
    for (int l = 0; l < kGroups; ++l) {
      if (k == l || k == without || l == without) continue;
      sum += products[k][l];
      ++count;
    }
  }
  return sum / count;
}

// Whether it can be divided by, as the jackknife does with each group left out.
bool squared_mean_above_zero(const Gram& products) {
  for (int without = -1; without < kGroups; ++without)
    if (!(squared_mean(products, without) > 0)) return false;
  return true;
}

bool all_zero(const GroupMeans& v, const ParamSlot& slot) {
  return std::ranges::all_of(v, [&](const std::vector<float>& group) {
    const auto begin = group.begin() + slot.offset;
    return std::all_of(begin, begin + slot.size(), [](float value) { return value == 0; });
  });
}

GroupMeans difference(const GroupMeans& a, const GroupMeans& b) {
  GroupMeans result = a;
  for (int k = 0; k < kGroups; ++k)
    for (std::size_t e = 0; e < b[k].size(); ++e) result[k][e] -= b[k][e];
  return result;
}

// |E a - E b|^2 / |E b|^2, its error by leaving out a group of both at a time (the jackknife).
// Unknown if noise has made the divisor zero or less.
SquaredLength relative_bias(const GroupMeans& a_minus_b, const Gram& b, const ParamSlot& slot) {
  if (!squared_mean_above_zero(b)) return {};
  const Gram d = gram(a_minus_b, slot);
  std::array<double, kGroups> left;
  for (int k = 0; k < kGroups; ++k) left[k] = squared_mean(d, k) / squared_mean(b, k);
  const double mean = std::accumulate(left.begin(), left.end(), 0.0) / kGroups;
  double squares = 0;
  for (const double value : left) squares += (value - mean) * (value - mean);
  return {squared_mean(d) / squared_mean(b), std::sqrt(squares * (kGroups - 1) / kGroups)};
}

// --- the reference -----------------------------------------------------------------------------

struct Reference {
  Reference(GroupMeans means, const std::vector<ParamSlot>& slots)
      : groups(std::move(means)), mean(groups[0].size()) {
    for (const std::vector<float>& group : groups)
      for (std::size_t e = 0; e < mean.size(); ++e) mean[e] += group[e] / kGroups;
    for (const ParamSlot& slot : slots) {
      products.push_back(gram(groups, slot));
      gradient.push_back(squared_mean_above_zero(products.back()) ? ReferenceGradient::found
                         : all_zero(groups, slot)                 ? ReferenceGradient::zero
                                                                  : ReferenceGradient::lost);
    }
  }
  bool found(std::size_t slot) const { return gradient[slot] == ReferenceGradient::found; }
  double squared_norm(std::size_t slot) const { return squared_mean(products[slot]); }

  GroupMeans groups;
  std::vector<float> mean;
  std::vector<Gram> products;               // per weight matrix
  std::vector<ReferenceGradient> gradient;  // the same
};

// --- a study under way -------------------------------------------------------------------------

class Studier {
 public:
  Studier(const Model& model, const DataSet& data, const StudyOptions& options)
      : model_(model.for_gathered_examples()),  // as the batch has them
        options_(options),
        slots_(weight_matrices(model.layout())),
        batch_(fixed_batch(model, options.train, data, options.train.batch)) {
    for (const EstimatorRow& estimator : kEstimators) {
      if (options.train.particles >= estimator.least_particles) estimators_.push_back(estimator.id);
    }
    if (options.reference_particles) {
      reference_particles_ = *options.reference_particles;
    } else if (stochastic_units(model.spec()) > kMaxEnumeratedUnits) {
      reference_particles_ = kReferenceParticles;
    }
    // Particles, as the time of a draw is proportional to them.
    work_ = double(std::int64_t(estimators_.size()) * options.draws * options.train.particles +
                   kGroups * (reference_particles_ + reference_particles_ / 4));
  }

  Study run() {
    Study study{.reference = {.particles = reference_particles_}};
    const Reference reference = this->reference();
    study.reference.gradient = reference.gradient;
    if (reference_particles_ > 0) {
      const GroupMeans shift =
          difference(many_particles(reference_particles_ / 4, Purpose::quarter), reference.groups);
      for (std::size_t s = 0; s < slots_.size(); ++s)
        study.reference.quarter_bias.push_back(
            relative_bias(shift, reference.products[s], slots_[s]));
    }
    for (const Estimator estimator : estimators_)
      study.estimators.push_back(measure(estimator, reference));
    return study;
  }

 private:
  Reference reference() {
    if (reference_particles_ > 0)
      return {many_particles(reference_particles_, Purpose::reference), slots_};
    GroupMeans groups;
    groups.fill(exact_gradient(model_, batch_));
    return {std::move(groups), slots_};
  }

  // G5, one draw per group.
  GroupMeans many_particles(std::int64_t M, Purpose purpose) {
    TrainOptions options = seeded(options_.train, purpose);
    options.estimator = Estimator::G5;
    options.particles = M;
    options.c = std::nullopt;
    GradientDraws draws(model_, options, batch_);
    GroupMeans groups;
    for (std::vector<float>& group : groups) {
      group = draws.next();
      advance(M);
    }
    return groups;
  }

  // A constant that was set belongs to the run's own estimator, or to its proposal. In a run that
  // reads none it is for the study of G5.
  static bool keeps_c(Estimator estimator, const TrainOptions& run) {
    if (run.proposal.on) return false;
    return estimator == run.estimator ||
           (estimator == Estimator::G5 && !row_of(run.estimator).auto_c);
  }

  EstimatorFigures measure(Estimator estimator, const Reference& reference) {
    using Clock = std::chrono::steady_clock;
    TrainOptions options = seeded(options_.train, Purpose::draws);
    if (!keeps_c(estimator, options_.train)) options.c = std::nullopt;
    options.estimator = estimator;
    GradientDraws draws(model_, options, batch_);
    GroupMeans groups;
    groups.fill(std::vector<float>(model_.layout().size));
    std::vector<Scatter> scatter(slots_.size());
    double seconds = std::numeric_limits<double>::infinity();
    for (std::int64_t r = 0; r < options_.draws; ++r) {
      const auto start = Clock::now();
      const std::vector<float> g = draws.next();
      seconds = std::min(seconds, std::chrono::duration<double>(Clock::now() - start).count());
      // Group k takes draws k, k + kGroups, ...
      const std::int64_t k = r % kGroups, members = (options_.draws - k - 1) / kGroups + 1;
      for (std::size_t e = 0; e < g.size(); ++e) groups[k][e] += g[e] / float(members);
      for (std::size_t s = 0; s < slots_.size(); ++s) {
        const ParamSlot& slot = slots_[s];
        const float *of_draw = g.data() + slot.offset,
                    *of_reference = reference.mean.data() + slot.offset;
        scatter[s].add(dot(of_draw, of_draw, slot.size()), dot(of_draw, of_reference, slot.size()),
                       reference.squared_norm(s));
      }
      advance(options_.train.particles);
    }
    return {std::string(row_of(estimator).name), figures(groups, scatter, reference), seconds};
  }

  // Sums over the draws.
  struct Scatter {
    double squared_norm = 0, cosine = 0, squared_cosine = 0;

    void add(double g_g, double g_ref, double ref_ref) {
      const double c = g_g > 0 ? g_ref / std::sqrt(g_g * ref_ref) : 0;
      squared_norm += g_g;
      cosine += c;
      squared_cosine += c * c;
    }
  };

  std::vector<GradientFigures> figures(const GroupMeans& groups,
                                       const std::vector<Scatter>& scatter,
                                       const Reference& reference) const {
    const auto R = double(options_.draws);
    const GroupMeans bias = difference(groups, reference.groups);
    std::vector<GradientFigures> result;
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      if (!reference.found(s)) {
        result.push_back({.weights = slots_[s].name});
        continue;
      }
      const double mean_square = scatter[s].squared_norm / R, cosine = scatter[s].cosine / R;
      // E|g|^2 = |E g|^2 + the trace of the covariance
      const double trace = mean_square - squared_mean(gram(groups, slots_[s]));
      result.push_back(
          {.weights = slots_[s].name,
           .bias = relative_bias(bias, reference.products[s], slots_[s]),
           .variance = trace / reference.squared_norm(s),
           .cosine = cosine,
           .cosine_sd = std::sqrt(std::max(0.0, scatter[s].squared_cosine / R - cosine * cosine))});
    }
    return result;
  }

  void advance(std::int64_t particles) {
    done_ += double(particles);
    options_.progress(done_ / work_);
  }

  Model model_;
  const StudyOptions& options_;
  std::vector<ParamSlot> slots_;
  DataSet batch_;
  std::vector<Estimator> estimators_;
  std::int64_t reference_particles_ = 0;  // 0: enumeration
  double work_ = 0, done_ = 0;
};

void require_stochastic(const NetworkSpec& spec) {
  require(spec.trains_s(),
          fmt::format("{} has no stochastic units with weights: all estimators are one and the "
                      "same back-propagation",
                      to_string(spec)));
}

}  // namespace

Study study_estimators(const Model& model, const DataSet& data, const StudyOptions& options) {
  require_stochastic(model.spec());
  require(options.draws >= kGroups, fmt::format("draws = {}: at least {} are needed for a "
                                                "standard error",
                                                options.draws, kGroups));
  require(options.reference_particles.value_or(8) >= 8,
          "the reference must have at least 8 particles");
  return Studier(model, data, options).run();
}

std::vector<NormAtC> norm_against_c(const Model& model, const DataSet& data,
                                    const StudyOptions& options, std::span<const double> cM) {
  require_stochastic(model.spec());
  require(options.draws >= 2, "a standard error needs at least 2 draws");
  const ParamSlot slot = weight_matrices(model.layout()).front();
  TrainOptions train = seeded(options.train, Purpose::draws);
  train.estimator = Estimator::G5;
  std::vector<NormAtC> norms;
  for (const double value : cM) {
    train.c = value / double(train.particles);
    GradientDraws draws(model, train, data);
    double sum = 0, squares = 0;
    for (std::int64_t r = 0; r < options.draws; ++r) {
      const std::vector<float> g = draws.next();
      const double square = dot(g.data() + slot.offset, g.data() + slot.offset, slot.size());
      sum += std::sqrt(square);
      squares += square;
      const auto done = double(norms.size()) + double(r + 1) / double(options.draws);
      options.progress(done / double(cM.size()));
    }
    const double R = double(options.draws), mean = sum / R;
    norms.push_back({value, mean, std::sqrt(std::max(0.0, squares / R - mean * mean) / (R - 1))});
  }
  return norms;
}

}  // namespace sfnn

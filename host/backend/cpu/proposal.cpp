#include "host/backend/cpu/proposal.hpp"

#include "host/backend/cpu/packed_bits.hpp"
#include "host/backend/cpu/simd.hpp"
#include "host/backend/team.hpp"
#include "kernels/proposal.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/proposal.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "host/backend/cpu/simd_math-inl.hpp"
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {

// The logits of one row in both distributions: a + b, zero if there is no a, and e on top of it.
struct RowLogits {
  const float *a, *b, *e, *bias;

  RowLogits(ConstMatrix of_a, const float* of_b, const ProposalLogits& R, std::int64_t row,
            std::int64_t n)
      : a(of_a.data ? of_a.row(row) : nullptr),
        b(of_b),
        e(R.e.row(n) + R.first),
        bias(R.bias + R.first) {}

  template <class Lanes>
  HWY_INLINE VF of_P(Lanes lanes, std::int64_t i) const {
    return a ? hn::Add(lanes.load(a + i), lanes.load(b + i)) : hn::Zero(F32());
  }
  template <class Lanes>
  HWY_INLINE VF shift(Lanes lanes, std::int64_t i) const {
    return hn::Add(lanes.load(e + i), lanes.load(bias + i));
  }
  template <class Lanes>
  HWY_INLINE VF of_R(Lanes lanes, std::int64_t i) const {
    return hn::Add(of_P(lanes, i), shift(lanes, i));
  }
};

float lane_sum(VF v) { return hn::GetLane(hn::SumOfLanes(F32(), v)); }

// sum_i softplus(r) - softplus(a + b). One logarithm serves the product of 64 quotients, each
// between 1/2 and 2.
float softplus_difference(const RowLogits& logits, std::int64_t cols) {
  const F32 d;
  const VF one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  const auto factor = [&](VF v) HWY_ATTR { return hn::Add(one, exp_of(hn::Neg(hn::Abs(v)))); };
  VF linear = zero, logs = zero, product = one;
  int factors = 0;
  for_vectors(cols, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VF p = logits.of_P(lanes, i), r = logits.of_R(lanes, i);
    linear = hn::Add(linear, hn::Sub(hn::Max(r, zero), hn::Max(p, zero)));
    product = hn::Mul(product, hn::Div(factor(r), factor(p)));  // absent lanes: r = p = 0
    if (++factors == 64) {
      logs = hn::Add(logs, hn::Log(d, product));
      product = one;
      factors = 0;
    }
  });
  return lane_sum(hn::Add(linear, hn::Add(logs, hn::Log(d, product))));
}

// sum_i h e
float shift_of_fired(const RowLogits& logits, const std::uint64_t* h, std::int64_t cols) {
  VF sum = hn::Zero(F32());
  for_vectors(cols, [&](auto lanes, std::int64_t i) HWY_ATTR {
    sum = hn::Add(sum, hn::IfThenElseZero(mask_at(h, i), logits.shift(lanes, i)));
  });
  return lane_sum(sum);
}

// Examples first .. first + count. The softplus part is that of all particles if they share a.
void log_ratios(const LogRatioArgs& p, std::int64_t first, std::int64_t count) {
  const std::int64_t M = p.tile.M;
  const bool shared = !p.a.data || p.a.rows == p.tile.N;
  const float share_P = float(p.R.from_P) / float(M);
  for (std::int64_t n = first; n < first + count; ++n) {
    float difference = 0;
    for (std::int64_t r = n * M; r < (n + 1) * M; ++r) {
      const RowLogits logits(p.a, p.b, p.R, shared ? n : r, n);
      if (!shared || r == n * M) difference = softplus_difference(logits, p.s.cols);
      const float delta = difference - shift_of_fired(logits, row_words(p.s, r), p.s.cols);
      p.log_ratio[r] = p.write == Write::add ? p.log_ratio[r] + delta : delta;
      if (p.log_w) p.log_w[r] += log_weight_of_ratio(p.log_ratio[r], share_P);
    }
  }
}

// omega_R (h - sigma(r)) of one particle row. Args: ProposalGradArgs or ScoreGradArgs.
template <class Args>
HWY_INLINE VF score_of_R(const Args& p, VF probability, std::int64_t r, std::int64_t i) {
  const VF h = hn::IfThenElseZero(mask_at(row_words(p.s, r), i), hn::Set(F32(), 1.0f));
  return hn::Mul(hn::Set(F32(), p.omega_R[r]), hn::Sub(h, probability));
}

// Their sum over the particles of example n, which may share sigma(r).
template <class Args, class Lanes>
HWY_INLINE VF summed_score_of_R(Lanes lanes, const Args& p, std::int64_t n, std::int64_t i) {
  const bool shared = !p.a.data || p.a.rows == p.tile.N;
  VF sum = hn::Zero(F32()), probability = sum;
  for (std::int64_t r = n * p.tile.M; r < (n + 1) * p.tile.M; ++r) {
    if (!shared || r == n * p.tile.M)
      probability = sigmoid_of(RowLogits(p.a, p.b, p.R, shared ? n : r, n).of_R(lanes, i));
    sum = hn::Add(sum, score_of_R(p, probability, r, i));
  }
  return sum;
}

// Columns first .. first + count.
void proposal_grads(const ProposalGradArgs& p, std::int64_t first, std::int64_t count) {
  for (std::int64_t n = 0; n < p.tile.N; ++n) {
    float* g = p.g_e.row(n) + p.R.first + first;
    for_vectors(count, [&](auto lanes, std::int64_t i) HWY_ATTR {
      lanes.store(summed_score_of_R(lanes, p, n, first + i), g + i);
    });
  }
}

// Rows first .. first + count of g.
void add_scores(const ScoreGradArgs& p, std::int64_t first, std::int64_t count) {
  const bool summed = p.a.rows == p.tile.N;
  for (std::int64_t k = first; k < first + count; ++k) {
    float* g = p.g.row(k);
    const std::int64_t r = p.rows.source(k);
    const RowLogits logits(p.a, p.b, p.R, r, summed ? k : r / p.tile.M);
    for_vectors(p.g.cols, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const VF score = summed ? summed_score_of_R(lanes, p, k, i)
                              : score_of_R(p, sigmoid_of(logits.of_R(lanes, i)), r, i);
      lanes.store(hn::Add(lanes.load(g + i), score), g + i);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn {
HWY_EXPORT(log_ratios);
HWY_EXPORT(proposal_grads);
HWY_EXPORT(add_scores);

void cpu::log_ratio(const LogRatioArgs& p) {
  share_range(p.tile.N, p.tile.M * p.s.cols, 1, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(log_ratios)(p, first, count);
  });
}

void cpu::proposal_grad(const ProposalGradArgs& p) {
  constexpr std::int64_t kColumnUnit = 32;  // whole vectors of every instruction set
  share_range(p.s.cols, p.tile.rows(), kColumnUnit, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(proposal_grads)(p, first, count);
  });
}

void cpu::add_proposal_scores(const ScoreGradArgs& p) {
  share_range(p.g.rows, p.g.cols, 1, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(add_scores)(p, first, count);
  });
}

}  // namespace sfnn
#endif  // HWY_ONCE

#include "host/backend/cpu/hidden.hpp"

#include <algorithm>

#include "host/backend/cpu/packed_bits.hpp"
#include "host/backend/cpu/simd.hpp"
#include "host/backend/team.hpp"
#include "kernels/hidden_grad.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/hidden.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "host/backend/cpu/philox-inl.hpp"
#include "host/backend/cpu/simd_math-inl.hpp"
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {

// Deterministic units: value(a), and slope(d) of that value.
struct SigmoidUnit {
  static HWY_INLINE VF value(VF a) { return sigmoid_of(a); }
  static HWY_INLINE VF slope(VF d) { return hn::Mul(d, hn::Sub(hn::Set(F32(), 1.0f), d)); }
};

struct TanhUnit {  // 2 sigma(2 a) - 1
  static HWY_INLINE VF value(VF a) {
    const VF s = sigmoid_of(hn::Add(a, a));
    return hn::Sub(hn::Add(s, s), hn::Set(F32(), 1.0f));
  }
  static HWY_INLINE VF slope(VF d) {
    const VF one = hn::Set(F32(), 1.0f);
    return hn::Mul(hn::Sub(one, d), hn::Add(one, d));
  }
};

struct ReluUnit {  // a NaN stays one
  static HWY_INLINE VF value(VF a) { return hn::IfThenZeroElse(hn::Lt(a, hn::Zero(F32())), a); }
  static HWY_INLINE VF slope(VF d) {
    return hn::IfThenElseZero(hn::Gt(d, hn::Zero(F32())), hn::Set(F32(), 1.0f));
  }
};

template <class Unit>
HWY_INLINE void activate_rows_of(const ActivateArgs& p, std::int64_t first, std::int64_t count) {
  const float* b = p.b;
  for (std::int64_t r = first; r < first + count; ++r) {
    float* row = p.d.row(r);
    const float* z = p.shared.data ? p.shared.row(p.tile.row_in(p.shared.rows, r)) : nullptr;
    for_vectors(p.d.cols, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const VF a = hn::Add(lanes.load(row + i), lanes.load(b + i));
      lanes.store(Unit::value(z ? hn::Add(a, lanes.load(z + i)) : a), row + i);
    });
  }
}

void activate_rows(const ActivateArgs& p, std::int64_t first, std::int64_t count) {
  switch (p.activation) {
    case Activation::sigmoid:
      return activate_rows_of<SigmoidUnit>(p, first, count);
    case Activation::tanh:
      return activate_rows_of<TanhUnit>(p, first, count);
    case Activation::relu:
      return activate_rows_of<ReluUnit>(p, first, count);
  }
}

// g *= sigma'(a + b), Eq. (22)
void slope_grad(const PathGradArgs& p, std::int64_t first, std::int64_t count) {
  const bool by_example = p.by_example();
  const VF one = hn::Set(F32(), 1.0f);
  for (std::int64_t k = first; k < first + count; ++k) {
    float* g = p.g.row(k);
    const float* a = p.a.row(by_example ? k : p.tile.row_in(p.a.rows, p.rows.source(k)));
    for_vectors(p.g.cols, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const VF h = sigmoid_of(hn::Add(lanes.load(a + i), lanes.load(p.b + i)));
      lanes.store(hn::Mul(lanes.load(g + i), hn::Mul(h, hn::Sub(one, h))), g + i);
    });
  }
}

// g *= |h - p| / 2
void half_score_grad(const PathGradArgs& p, std::int64_t first, std::int64_t count) {
  const F32 d;
  const VF one = hn::Set(d, 1.0f), half = hn::Set(d, 0.5f);
  for (std::int64_t k = first; k < first + count; ++k) {
    const std::int64_t r = p.rows.source(k);
    const float* a = p.a.row(p.tile.row_in(p.a.rows, r));
    const std::uint64_t* s = row_words(p.s, r);
    float* g = p.g.row(k);
    for_vectors(p.g.cols, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const VF h = hn::IfThenElseZero(mask_at(s, i), one);
      const VF score = hn::Sub(h, sigmoid_of(hn::Add(lanes.load(a + i), lanes.load(p.b + i))));
      lanes.store(hn::Mul(lanes.load(g + i), hn::Mul(half, hn::Abs(score))), g + i);
    });
  }
}

// g *= z (1 - z) / T, z = sigma((a + b - logit u) / T), with the u that the units were drawn by.
void gumbel_slope_grad(const PathGradArgs& p, const DrawKey& key, std::int64_t first,
                       std::int64_t count) {
  const F32 d;
  const VF one = hn::Set(d, 1.0f), by_T = hn::Set(d, 1 / p.T);
  const Words draws(key);
  HWY_ALIGN std::uint32_t words[kDrawChunk] = {};
  for (std::int64_t k = first; k < first + count; ++k) {
    const std::int64_t r = p.rows.source(k);
    const DrawingRow row = drawing_row(p.tile, p.draw, r);
    for (std::int64_t unit = 0; unit < p.g.cols; unit += kDrawChunk) {
      const std::int64_t units = std::min(kDrawChunk, p.g.cols - unit);
      const float* a = p.a.row(p.tile.row_in(p.a.rows, r)) + unit;
      const float* b = p.b + unit;
      float* g = p.g.row(k) + unit;
      draws.fill(row.example, row.particle, unit, units, words);
      for_vectors(units, [&](auto lanes, std::int64_t i) HWY_ATTR {
        const VF u = uniform_of(words + i);
        const VF logit = hn::Sub(hn::Log(d, u), hn::Log(d, hn::Sub(one, u)));
        const VF relaxed = hn::Sub(hn::Add(lanes.load(a + i), lanes.load(b + i)), logit);
        const VF z = sigmoid_of(hn::Mul(relaxed, by_T));
        const VF slope = hn::Mul(hn::Mul(z, hn::Sub(one, z)), by_T);
        lanes.store(hn::Mul(lanes.load(g + i), slope), g + i);
      });
    }
  }
}

template <class Lanes>
HWY_INLINE VF beta_at(const ScoreGradArgs& p, Lanes lanes, std::int64_t i) {
  return p.beta ? lanes.load(p.beta + i) : hn::Zero(F32());
}

// g = (omega - beta) (h - p), one row per particle
void row_score_grad(const ScoreGradArgs& p, std::int64_t first, std::int64_t count) {
  const F32 d;
  const VF one = hn::Set(d, 1.0f);
  for (std::int64_t k = first; k < first + count; ++k) {
    const std::int64_t r = p.rows.source(k);
    const float* a = p.a.row(r);
    const std::uint64_t* s = row_words(p.s, r);
    float* g = p.g.row(k);
    const VF omega = hn::Set(d, p.omega[r]);
    for_vectors(p.g.cols, [&](auto lanes, std::int64_t i) HWY_ATTR {
      const VF h = hn::IfThenElseZero(mask_at(s, i), one);
      const VF score = hn::Sub(h, sigmoid_of(hn::Add(lanes.load(a + i), lanes.load(p.b + i))));
      lanes.store(hn::Mul(hn::Sub(omega, beta_at(p, lanes, i)), score), g + i);
    });
  }
}

// The same summed over the particles of an example, which share a: see kernels/hidden_grad.hpp.
// Columns first .. first + count.
void summed_score_grad(const ScoreGradArgs& p, std::int64_t first, std::int64_t count) {
  const F32 d;
  const std::int64_t M = p.tile.M;
  for (std::int64_t n = 0; n < p.g.rows; ++n) {
    const float* omega = p.omega + n * M;
    float omega_sum = 0;
    for (std::int64_t m = 0; m < M; ++m) omega_sum += omega[m];
    const float* a = p.a.row(n);
    float* g = p.g.row(n);
    for_vectors(count, [&](auto lanes, std::int64_t column) HWY_ATTR {
      const std::int64_t i = first + column;
      VF omega_h = hn::Zero(d), h = hn::Zero(d);
      for (std::int64_t m = 0; m < M; ++m) {
        const auto fired = mask_at(row_words(p.s, n * M + m), i);
        omega_h = hn::Add(omega_h, hn::IfThenElseZero(fired, hn::Set(d, omega[m])));
        h = hn::Add(h, hn::IfThenElseZero(fired, hn::Set(d, 1.0f)));
      }
      const VF beta = beta_at(p, lanes, i);
      const VF prob = sigmoid_of(hn::Add(lanes.load(a + i), lanes.load(p.b + i)));
      const VF weight = hn::NegMulAdd(hn::Set(d, float(M)), beta, hn::Set(d, omega_sum));
      lanes.store(hn::NegMulAdd(prob, weight, hn::NegMulAdd(beta, h, omega_h)), g + i);
    });
  }
}

template <class Unit>
HWY_INLINE void unit_grad_of(const DeterministicGradArgs& p, std::int64_t first,
                             std::int64_t count) {
  for (std::int64_t k = first; k < first + count; ++k) {
    const float* from = p.d.row(p.rows.source(k));
    float* to = p.g.row(k);
    for_vectors(p.g.cols, [&](auto lanes, std::int64_t i) HWY_ATTR {
      lanes.store(hn::Mul(lanes.load(to + i), Unit::slope(lanes.load(from + i))), to + i);
    });
  }
}

void unit_grad(const DeterministicGradArgs& p, std::int64_t first, std::int64_t count) {
  switch (p.activation) {
    case Activation::sigmoid:
      return unit_grad_of<SigmoidUnit>(p, first, count);
    case Activation::tanh:
      return unit_grad_of<TanhUnit>(p, first, count);
    case Activation::relu:
      return unit_grad_of<ReluUnit>(p, first, count);
  }
}

void add_row(const float* from, std::int64_t count, float* to) {
  for_vectors(count, [&](auto lanes, std::int64_t i) HWY_ATTR {
    lanes.store(hn::Add(lanes.load(to + i), lanes.load(from + i)), to + i);
  });
}

// Columns first .. first + count, as in the two below.
void particle_sums(const SumParticlesArgs& p, std::int64_t first, std::int64_t count) {
  for (std::int64_t n = 0; n < p.out.rows; ++n) std::fill_n(p.out.row(n) + first, count, 0.0f);
  for (std::int64_t k = 0; k < p.rows.count; ++k)
    add_row(p.g.row(k) + first, count, p.out.row(p.rows.source(k) / p.tile.M) + first);
}

void column_sums(const AccumulateColumnSumsArgs& p, std::int64_t first, std::int64_t count) {
  for (std::int64_t k = 0; k < p.g.rows; ++k) add_row(p.g.row(k) + first, count, p.gb + first);
}

// Eq. (18): the sums behind E[score^2] and E[score^2 L], L = C_hat.
void baseline_sums(const AccumulateBaselineArgs& p, std::int64_t first, std::int64_t count) {
  const auto& [tile, a, b, s, C_hat, sums] = p;
  const F32 d;
  const bool shared = a.rows == tile.N;
  for_vectors(count, [&](auto lanes, std::int64_t column) HWY_ATTR {
    const std::int64_t i = first + column;
    const VF bias = lanes.load(b + i);
    VF score2 = lanes.load(sums + i), score2_L = lanes.load(sums + s.cols + i);
    VF prob = hn::Zero(d);
    for (std::int64_t r = 0; r < tile.rows(); ++r) {
      const std::int64_t n = r / tile.M;
      if (!shared || r % tile.M == 0)
        prob = sigmoid_of(hn::Add(lanes.load(a.row(shared ? n : r) + i), bias));
      const VF h = hn::IfThenElseZero(mask_at(row_words(s, r), i), hn::Set(d, 1.0f));
      const VF score = hn::Sub(h, prob), square = hn::Mul(score, score);
      score2 = hn::Add(score2, square);
      score2_L = hn::MulAdd(square, hn::Set(d, C_hat[n]), score2_L);
    }
    lanes.store(score2, sums + i);
    lanes.store(score2_L, sums + s.cols + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn {
HWY_EXPORT(activate_rows);
HWY_EXPORT(slope_grad);
HWY_EXPORT(half_score_grad);
HWY_EXPORT(gumbel_slope_grad);
HWY_EXPORT(row_score_grad);
HWY_EXPORT(summed_score_grad);
HWY_EXPORT(unit_grad);
HWY_EXPORT(particle_sums);
HWY_EXPORT(column_sums);
HWY_EXPORT(baseline_sums);

namespace {

// Ranges of columns begin on whole vectors of every instruction set.
constexpr std::int64_t kColumnUnit = 32;

}  // namespace

void cpu::activate(const ActivateArgs& p) {
  share_range(p.d.rows, p.d.cols, 1, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(activate_rows)(p, first, count);
  });
}

void cpu::path_grad(const PathGradArgs& p, const DrawKey& key) {
  const auto share_rows = [&](auto rows) { share_range(p.g.rows, p.g.cols, 1, rows); };
  switch (p.rule) {
    case PathRule::one:
      return;  // g_a is G(h) as it stands
    case PathRule::sigmoid_slope:
      return share_rows([&](std::int64_t first, std::int64_t count) {
        HWY_DYNAMIC_DISPATCH(slope_grad)(p, first, count);
      });
    case PathRule::half_score:
      return share_rows([&](std::int64_t first, std::int64_t count) {
        HWY_DYNAMIC_DISPATCH(half_score_grad)(p, first, count);
      });
    case PathRule::gumbel_slope:
      return share_rows([&](std::int64_t first, std::int64_t count) {
        HWY_DYNAMIC_DISPATCH(gumbel_slope_grad)(p, key, first, count);
      });
  }
}

void cpu::score_grad(const ScoreGradArgs& p) {
  if (p.a.rows == p.tile.N) {
    share_range(p.g.cols, p.g.rows * p.tile.M, kColumnUnit,
                [&](std::int64_t first, std::int64_t count) {
                  HWY_DYNAMIC_DISPATCH(summed_score_grad)(p, first, count);
                });
  } else {
    share_range(p.g.rows, p.g.cols, 1, [&](std::int64_t first, std::int64_t count) {
      HWY_DYNAMIC_DISPATCH(row_score_grad)(p, first, count);
    });
  }
}

void cpu::deterministic_grad(const DeterministicGradArgs& p) {
  share_range(p.g.rows, p.g.cols, 1, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(unit_grad)(p, first, count);
  });
}

// By columns from here on: the order of a sum over rows stays as it is.
void cpu::sum_particles(const SumParticlesArgs& p) {
  share_range(p.g.cols, p.rows.count, kColumnUnit, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(particle_sums)(p, first, count);
  });
}

void cpu::accumulate_column_sums(const AccumulateColumnSumsArgs& p) {
  share_range(p.g.cols, p.g.rows, kColumnUnit, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(column_sums)(p, first, count);
  });
}

void cpu::accumulate_baseline(const AccumulateBaselineArgs& p) {
  share_range(p.s.cols, p.tile.rows(), kColumnUnit, [&](std::int64_t first, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(baseline_sums)(p, first, count);
  });
}

}  // namespace sfnn
#endif  // HWY_ONCE

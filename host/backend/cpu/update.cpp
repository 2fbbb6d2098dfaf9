#include "host/backend/cpu/update.hpp"

#include <algorithm>

#include "host/backend/cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/update.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "host/backend/cpu/simd_math-inl.hpp"
#include "kernels/update.hpp"

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {

// The sum of kCount parts, a power of two: their tree is balanced, whatever their places.
template <int kCount, class Lanes>
HWY_INLINE VF balanced_sum(const Parts& parts, Lanes lanes, std::int64_t i) {
  if constexpr (kCount == 1) {
    return lanes.load(parts.data + i);
  } else {
    const Parts upper = parts.from(kCount / 2 * parts.stride);
    return hn::Add(balanced_sum<kCount / 2>(parts, lanes, i),
                   balanced_sum<kCount / 2>(upper, lanes, i));
  }
}

// f(lanes, i, g) for the elements begin .. end, with g = scale * sum of parts.
template <int kCount, class F>
HWY_INLINE void for_balanced(const Parts& parts, float scale, std::int64_t begin, std::int64_t end,
                             const F& f) {
  const VF factor = hn::Set(F32(), scale);
  for_vectors(end - begin, [&](auto lanes, std::int64_t k) HWY_ATTR {
    f(lanes, begin + k, hn::Mul(factor, balanced_sum<kCount>(parts, lanes, begin + k)));
  });
}

// Any other number of parts: their sum is made first, a piece at a time.
template <class F>
HWY_INLINE void for_unbalanced(const Parts& parts, float scale, std::int64_t begin,
                               std::int64_t end, const F& f) {
  constexpr std::int64_t kPiece = 256;
  HWY_ALIGN float waiting[kMaxTreeHeight + 1][kPiece];
  for (std::int64_t first = begin; first < end; first += kPiece) {
    const std::int64_t count = std::min(kPiece, end - first);
    walk_tree(
        parts.count, parts.places,
        [&](std::int64_t i, int slot) {
          std::copy_n(parts.data + i * parts.stride + first, count, waiting[slot]);
        },
        [&](int slot) {
          for (std::int64_t e = 0; e < count; ++e) waiting[slot][e] += waiting[slot + 1][e];
        });
    for_balanced<1>({waiting[0], 1, kPiece, 1}, scale, 0, count,
                    [&](auto lanes, std::int64_t k, VF g) HWY_ATTR { f(lanes, first + k, g); });
  }
}

template <class F>
HWY_INLINE void for_gradient(const Parts& parts, float scale, std::int64_t begin, std::int64_t end,
                             const F& f) {
  switch (parts.count) {
    case 1:
      return for_balanced<1>(parts, scale, begin, end, f);
    case 2:
      return for_balanced<2>(parts, scale, begin, end, f);
    case 4:
      return for_balanced<4>(parts, scale, begin, end, f);
    case 8:
      return for_balanced<8>(parts, scale, begin, end, f);
    default:
      return for_unbalanced(parts, scale, begin, end, f);
  }
}

HWY_INLINE float lane_sum(VF v) { return hn::GetLane(hn::SumOfLanes(F32(), v)); }

HWY_INLINE std::int64_t end_of_run(std::int64_t run, std::int64_t size) {
  return std::min((run + 1) * kSquareRun, size);
}

// step_at of kernels/update.hpp, for the elements of one segment.
template <OptimizerKind kKind>
class Step {
 public:
  Step(const UpdateArgs& p, const UpdateSegment& segment, const Clock& clock)
      : p_(p),
        decays_(segment.decay != 0),
        rate_(hn::Set(F32(), segment.rate * clock.learning_rate)),
        decay_(hn::Set(F32(), segment.decay)),
        momentum_(hn::Set(F32(), row_of(kKind).is_adam() ? p.beta1 : p.momentum)),
        beta2_(hn::Set(F32(), p.beta2)),
        share1_(hn::Set(F32(), p.share1)),
        share2_(hn::Set(F32(), p.share2)),
        epsilon_(hn::Set(F32(), p.epsilon)),
        m_scale_(hn::Set(F32(), clock.m_scale)),
        v_scale_(hn::Set(F32(), clock.v_scale)),
        average_share_(hn::Set(F32(), clock.average_share)) {}

  template <class Lanes>
  HWY_INLINE void operator()(Lanes lanes, std::int64_t i, VF g) const {
    VF w = lanes.load(p_.params + i);
    switch (kKind) {
      case OptimizerKind::sgd: {
        if (decays_) g = hn::NegMulAdd(decay_, w, g);
        w = hn::MulAdd(rate_, moved_velocity(lanes, i, g), w);
        break;
      }
      case OptimizerKind::nesterov: {
        if (decays_) g = hn::NegMulAdd(decay_, w, g);
        w = hn::MulAdd(rate_, hn::MulAdd(momentum_, moved_velocity(lanes, i, g), g), w);
        break;
      }
      case OptimizerKind::adam: {
        if (decays_) g = hn::NegMulAdd(decay_, w, g);
        w = hn::MulAdd(rate_, adam_direction(lanes, i, g), w);
        break;
      }
      case OptimizerKind::adamw: {
        if (decays_) w = hn::NegMulAdd(hn::Mul(rate_, decay_), w, w);
        w = hn::MulAdd(rate_, adam_direction(lanes, i, g), w);
        break;
      }
    }
    lanes.store(w, p_.params + i);
    if (p_.average == nullptr) return;
    const VF average = lanes.load(p_.average + i);
    lanes.store(hn::MulAdd(average_share_, hn::Sub(w, average), average), p_.average + i);
  }

 private:
  template <class Lanes>
  HWY_INLINE VF moved_velocity(Lanes lanes, std::int64_t i, VF g) const {
    const VF v = hn::MulAdd(momentum_, lanes.load(p_.arrays[0] + i), g);
    lanes.store(v, p_.arrays[0] + i);
    return v;
  }
  template <class Lanes>
  HWY_INLINE VF adam_direction(Lanes lanes, std::int64_t i, VF g) const {
    const VF m = hn::MulAdd(momentum_, lanes.load(p_.arrays[0] + i), hn::Mul(share1_, g));
    const VF v = hn::MulAdd(beta2_, lanes.load(p_.arrays[1] + i), hn::Mul(hn::Mul(share2_, g), g));
    lanes.store(m, p_.arrays[0] + i);
    lanes.store(v, p_.arrays[1] + i);
    return hn::Div(hn::Mul(m_scale_, m), hn::MulAdd(v_scale_, hn::Sqrt(v), epsilon_));
  }

  const UpdateArgs& p_;
  bool decays_;
  VF rate_, decay_, momentum_, beta2_, share1_, share2_, epsilon_, m_scale_, v_scale_,
      average_share_;
};

template <OptimizerKind kKind>
void update_runs_by(const UpdateArgs& p, const Clock& clock, std::int64_t first,
                    std::int64_t count) {
  const float scale = gradient_scale(p);
  SegmentCursor segments(p);
  for (std::int64_t run = first; run < first + count; ++run) {
    VF squares = hn::Zero(F32());
    const std::int64_t end = end_of_run(run, p.size);
    for (std::int64_t begin = run * kSquareRun; begin < end;) {
      const UpdateSegment& segment = segments.at(begin);
      const Step<kKind> step(p, segment, clock);
      const std::int64_t until = std::min(end, segment.end);
      for_gradient(p.parts, scale, begin, until, [&](auto lanes, std::int64_t i, VF g) HWY_ATTR {
        squares = hn::MulAdd(g, g, squares);
        step(lanes, i, g);
      });
      begin = until;
    }
    if (p.square_sums) p.square_sums[run] = lane_sum(squares);
  }
}

void update_runs(const UpdateArgs& p, const Clock& clock, std::int64_t first, std::int64_t count) {
  switch (p.optimizer) {
    case OptimizerKind::sgd:
      return update_runs_by<OptimizerKind::sgd>(p, clock, first, count);
    case OptimizerKind::nesterov:
      return update_runs_by<OptimizerKind::nesterov>(p, clock, first, count);
    case OptimizerKind::adam:
      return update_runs_by<OptimizerKind::adam>(p, clock, first, count);
    case OptimizerKind::adamw:
      return update_runs_by<OptimizerKind::adamw>(p, clock, first, count);
  }
}

void square_sums_of_runs(const SquareSumsArgs& p, std::int64_t first, std::int64_t count) {
  for (std::int64_t run = first; run < first + count; ++run) {
    VF squares = hn::Zero(F32());
    for_gradient(p.parts, p.scale, run * kSquareRun, end_of_run(run, p.size),
                 [&](auto, std::int64_t, VF g) HWY_ATTR { squares = hn::MulAdd(g, g, squares); });
    p.square_sums[run] = lane_sum(squares);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn {
HWY_EXPORT(update_runs);
HWY_EXPORT(square_sums_of_runs);

void cpu::update(const UpdateArgs& p, const Clock& clock, std::int64_t first, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(update_runs)(p, clock, first, count);
}

void cpu::square_sums(const SquareSumsArgs& p, std::int64_t first, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(square_sums_of_runs)(p, first, count);
}

}  // namespace sfnn
#endif  // HWY_ONCE

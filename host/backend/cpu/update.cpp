#include "host/backend/cpu/update.hpp"

#include <algorithm>

#include "host/backend/cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/update.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "host/backend/cpu/simd_math-inl.hpp"

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

template <int kCount>
void momentum_step_of(const UpdateArgs& p, float learning_rate) {
  const F32 d;
  const VF momentum = hn::Set(d, p.momentum), scale = hn::Set(d, p.scale);
  const VF rate = hn::Set(d, learning_rate);
  for_vectors(p.size, [&](auto lanes, std::int64_t i) HWY_ATTR {
    const VF sum = balanced_sum<kCount>(p.parts, lanes, i);
    const VF v = hn::MulAdd(momentum, lanes.load(p.arrays[0] + i), hn::Mul(scale, sum));
    lanes.store(v, p.arrays[0] + i);
    lanes.store(hn::MulAdd(rate, v, lanes.load(p.params + i)), p.params + i);
  });
}

// Any other number of parts: their sum is made first, a piece at a time.
void momentum_step_by_tree(const UpdateArgs& p, float learning_rate) {
  constexpr std::int64_t kPiece = 256;
  HWY_ALIGN float waiting[kMaxTreeHeight + 1][kPiece];
  for (std::int64_t first = 0; first < p.size; first += kPiece) {
    const std::int64_t count = std::min(kPiece, p.size - first);
    walk_tree(
        p.parts.count, p.parts.places,
        [&](std::int64_t i, int slot) {
          std::copy_n(p.parts.data + i * p.parts.stride + first, count, waiting[slot]);
        },
        [&](int slot) {
          for (std::int64_t e = 0; e < count; ++e) waiting[slot][e] += waiting[slot + 1][e];
        });
    UpdateArgs piece = p;
    piece.params += first;
    for (int a = 0; a < row_of(p.optimizer).arrays(); ++a) piece.arrays[a] += first;
    piece.parts = {waiting[0], 1, kPiece, 1};
    piece.size = count;
    momentum_step_of<1>(piece, learning_rate);
  }
}

// v = momentum v + scale * sum of parts; params += learning rate * v
void momentum_step(const UpdateArgs& p, float learning_rate) {
  switch (p.parts.count) {
    case 1:
      return momentum_step_of<1>(p, learning_rate);
    case 2:
      return momentum_step_of<2>(p, learning_rate);
    case 4:
      return momentum_step_of<4>(p, learning_rate);
    case 8:
      return momentum_step_of<8>(p, learning_rate);
    default:
      return momentum_step_by_tree(p, learning_rate);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn {
HWY_EXPORT(momentum_step);

void cpu::update(const UpdateArgs& p, float learning_rate, std::int64_t first, std::int64_t count) {
  UpdateArgs range = p;
  range.params += first;
  for (int a = 0; a < row_of(p.optimizer).arrays(); ++a) range.arrays[a] += first;
  range.parts = p.parts.from(first);
  range.size = count;
  switch (p.optimizer) {
    case OptimizerKind::sgd:
      return HWY_DYNAMIC_DISPATCH(momentum_step)(range, learning_rate);
  }
}

}  // namespace sfnn
#endif  // HWY_ONCE

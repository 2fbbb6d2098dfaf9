#include "host/backend/cpu/update.hpp"

#include "host/backend/cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host/backend/cpu/update.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once per instruction set.
#include "host/backend/cpu/simd_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace sfnn {
namespace HWY_NAMESPACE {

// v = momentum v + scale * sum of parts; params += learning rate * v
void momentum_step(const UpdateArgs& p, float learning_rate, std::int64_t first,
                   std::int64_t count) {
  const F32 d;
  const VF momentum = hn::Set(d, p.momentum), scale = hn::Set(d, p.scale);
  const VF rate = hn::Set(d, learning_rate);
  float* params = p.params + first;
  float* velocity = p.velocity + first;
  const float* parts = p.parts + first;
  for_vectors(count, [&](auto lanes, std::int64_t i) HWY_ATTR {
    VF sum = hn::Zero(d);
    for (std::int64_t k = 0; k < p.part_count; ++k)
      sum = hn::Add(sum, lanes.load(parts + k * p.part_stride + i));
    const VF v = hn::MulAdd(momentum, lanes.load(velocity + i), hn::Mul(scale, sum));
    lanes.store(v, velocity + i);
    lanes.store(hn::MulAdd(rate, v, lanes.load(params + i)), params + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace sfnn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sfnn {
HWY_EXPORT(momentum_step);

void cpu::update(const UpdateArgs& p, float learning_rate, std::int64_t first, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(momentum_step)(p, learning_rate, first, count);
}

}  // namespace sfnn
#endif  // HWY_ONCE

// One parameter's step, for every optimiser, and the norm of a gradient.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/hd.hpp"
#include "kernels/tile.hpp"
#include "kernels/update_args.hpp"

namespace sfnn {

// The segment of element i, for i that only grow.
class SegmentCursor {
 public:
  SFNN_HD explicit SegmentCursor(const UpdateArgs& p) : next_(p.segments) {
    if (next_ != nullptr) {
      segment_ = *next_++;
    } else {
      segment_.end = p.size;
    }
  }
  SFNN_HD const UpdateSegment& at(std::int64_t i) {
    while (i >= segment_.end) segment_ = *next_++;
    return segment_;
  }

 private:
  const UpdateSegment* next_;
  UpdateSegment segment_;
};

SFNN_HD float gradient_scale(const UpdateArgs& p) { return p.clip ? p.scale * *p.clip : p.scale; }

// g points uphill, and so does the step; decay pulls towards zero. As an L2 penalty (sgd, nesterov,
// adam) it is part of g; adamw takes it from the parameter itself, apart from the moments.
//   sgd       v = momentum v + g;  w += rate v
//   nesterov  v = momentum v + g;  w += rate (g + momentum v)
//   adam      m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
//             w += rate m_scale m / (v_scale sqrt(v) + epsilon)
//   adamw     w -= rate decay w, then as adam
SFNN_HD void step_at(const UpdateArgs& p, const UpdateSegment& segment, const Clock& clock,
                     std::int64_t i, float g) {
  const float rate = segment.rate * clock.learning_rate;
  float w = p.params[i];
  if (segment.decay != 0) {
    if (p.optimizer == OptimizerKind::adamw) {
      w -= rate * segment.decay * w;
    } else {
      g -= segment.decay * w;
    }
  }
  switch (p.optimizer) {
    case OptimizerKind::sgd: {
      const float v = p.momentum * p.arrays[0][i] + g;
      p.arrays[0][i] = v;
      w += rate * v;
      break;
    }
    case OptimizerKind::nesterov: {
      const float v = p.momentum * p.arrays[0][i] + g;
      p.arrays[0][i] = v;
      w += rate * (p.momentum * v + g);
      break;
    }
    case OptimizerKind::adam:
    case OptimizerKind::adamw: {
      const float m = p.beta1 * p.arrays[0][i] + p.share1 * g;
      const float v = p.beta2 * p.arrays[1][i] + p.share2 * g * g;
      p.arrays[0][i] = m;
      p.arrays[1][i] = v;
      w += rate * clock.m_scale * m / (clock.v_scale * std::sqrt(v) + p.epsilon);
      break;
    }
  }
  p.params[i] = w;
  if (p.average) p.average[i] += clock.average_share * (w - p.average[i]);
}

// Whether a gradient of that norm is cut, and what by.
SFNN_HD bool is_clipped(const GradientNormArgs& p, double norm) {
  return p.clip_norm > 0 && norm > double(p.clip_norm);
}
SFNN_HD void leave_norm(const GradientNormArgs& p, double norm) {
  p.sums[0] += norm;
  if (is_clipped(p, norm)) p.sums[1] += 1;
  if (p.clip) *p.clip = is_clipped(p, norm) ? float(double(p.clip_norm) / norm) : 1.0f;
}

}  // namespace sfnn

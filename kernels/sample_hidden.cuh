// Eq. (1) (7) (20) (21): h = (u <= sigma(a + b)), with R sigma(a + b + e), written in the type that
// the products want.
//
// One warp per row, four units per thread: one Philox block, whose state cuRAND sets from the
// draw's logical index (kernels/philox.hpp), so that no state is kept and the launch shape cannot
// matter. Reads a once per row and unit, writes h once.
#pragma once

#include <curand_kernel.h>

#include "kernels/activations.hpp"
#include "kernels/args.hpp"
#include "kernels/bf16.hpp"
#include "kernels/warp.cuh"

namespace sfnn {

// The uniforms of units 4*block .. 4*block + 3 of one row.
__device__ inline float4 draw_uniforms(const Draw& draw, std::uint32_t step, std::uint64_t example,
                                       std::uint64_t particle, std::uint64_t block) {
  curandStatePhilox4_32_10_t state;
  const std::uint64_t offset = std::uint64_t(step) << 32 | std::uint64_t(draw.site) << 24 | block;
  curand_init(draw.seed, example << 32 | particle, 4 * offset, &state);
  return curand_uniform4(&state);
}

// Four neighbours in one access; only if every row starts at a multiple of four.
struct alignas(16) FourFloats {
  float v[4];
};
template <class Unit>
struct alignas(4 * sizeof(Unit)) FourUnits {
  Unit v[4];
};

template <class Unit>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    sample_hidden_kernel(const SampleHiddenArgs p, const Clock* __restrict__ clock) {
  const std::int64_t H = p.s.cols;
  const bool by_four = H % 4 == 0;
  Unit* h = reinterpret_cast<Unit*>(p.s.data);
  for (std::int64_t r = first_row(); r < p.tile.rows(); r += row_stride()) {
    const std::int64_t n = r / p.tile.M, m = r - n * p.tile.M;
    const float* a = p.a.data ? p.a.row(p.a.rows == p.tile.N ? n : r) : nullptr;
    const bool by_R = p.R.draws(p.tile.first_particle + m);
    for (std::int64_t i = 4 * lane_of_thread(); i < H; i += 4 * kWarp) {
      const float4 uniforms = draw_uniforms(p.draw, clock->step, p.draw.example(p.tile.first + n),
                                            p.tile.first_particle + m, i / 4);
      const float u[4] = {uniforms.x, uniforms.y, uniforms.z, uniforms.w};
      FourFloats logit{{0.0f, 0.0f, 0.0f, 0.0f}};  // p = 1/2
      FourUnits<Unit> drawn;
      if (a && by_four) {
        const FourFloats four = *reinterpret_cast<const FourFloats*>(a + i);
        for (int k = 0; k < 4; ++k) logit.v[k] = four.v[k] + p.b[i + k];
      } else if (a) {
        for (int k = 0; k < 4 && i + k < H; ++k) logit.v[k] = a[i + k] + p.b[i + k];
      }
      if (by_R) {
        for (int k = 0; k < 4 && i + k < H; ++k) logit.v[k] += p.R.at(n, i + k);
      }
      for (int k = 0; k < 4; ++k) store_unit(drawn.v[k], u[k] <= sigmoid(logit.v[k]));
      if (by_four) {
        *reinterpret_cast<FourUnits<Unit>*>(h + r * H + i) = drawn;
      } else {
        for (int k = 0; k < 4 && i + k < H; ++k) h[r * H + i + k] = drawn.v[k];
      }
    }
  }
}

}  // namespace sfnn

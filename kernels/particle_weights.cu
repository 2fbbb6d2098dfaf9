#include "kernels/launch.cuh"
#include "kernels/particle_weights.cuh"

namespace sfnn {

cudaError_t launch_particle_weights(const ParticleWeightsArgs& p, const Queue& q) {
  if (p.tile.rows() == 0) return cudaSuccess;
  constexpr std::int64_t kParticlesOfAWarp = 512;  // sixteen per lane; with more, a block is faster
  if (p.tile.M <= kParticlesOfAWarp) {
    particle_weights_kernel<WarpGroup><<<grid_of_warps(p.tile.N, q), kThreads, 0, q.stream>>>(p);
  } else {
    particle_weights_kernel<BlockGroup>
        <<<grid_for(p.tile.N, 1, q.multiprocessors), kThreads, 0, q.stream>>>(p);
  }
  return cudaGetLastError();
}

cudaError_t launch_accumulate_metrics(const AccumulateMetricsArgs& p, const Queue& q) {
  if (p.N == 0) return cudaSuccess;
  accumulate_metrics_kernel<<<1, kThreads, 0, q.stream>>>(p.N, p.C_hat, p.ess, p.sums);
  return cudaGetLastError();
}

}  // namespace sfnn

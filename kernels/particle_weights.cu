#include "kernels/launch.cuh"
#include "kernels/particle_weights.cuh"

namespace sfnn {

cudaError_t launch_particle_weights(const Tile& tile, const float* log_w, float* w_bar,
                                    float* C_hat, float* ess, const Queue& q) {
  if (tile.rows() == 0) return cudaSuccess;
  constexpr std::int64_t kParticlesOfAWarp = 512;  // sixteen each lane; beyond, a block is quicker
  const WeightsArgs p{tile.N, tile.M, log_w, w_bar, C_hat, ess};
  if (tile.M <= kParticlesOfAWarp) {
    particle_weights_kernel<WarpGroup><<<grid_of_warps(tile.N, q), kThreads, 0, q.stream>>>(p);
  } else {
    particle_weights_kernel<BlockGroup>
        <<<grid_for(tile.N, 1, q.multiprocessors), kThreads, 0, q.stream>>>(p);
  }
  return cudaGetLastError();
}

cudaError_t launch_accumulate_metrics(std::int64_t N, const float* C_hat, const float* ess,
                                      double* sums, const Queue& q) {
  if (N == 0) return cudaSuccess;
  accumulate_metrics_kernel<<<1, kThreads, 0, q.stream>>>(N, C_hat, ess, sums);
  return cudaGetLastError();
}

}  // namespace sfnn

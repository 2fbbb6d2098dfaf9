#include <cuda_bf16.h>
#include <curand_kernel.h>

#include <cub/block/block_reduce.cuh>

#include "tests/gpusim/probes.hpp"

namespace sfnn::probes {

__global__ void __launch_bounds__(128) bernoulli_kernel(const BernoulliArgs p) {
  const std::int64_t size = p.rows * p.units, stride = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t e = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; e < size;
       e += stride) {
    const std::int64_t row = e / p.units, unit = e % p.units;
    const std::uint64_t block =
        std::uint64_t(p.draw.step) << 32 | p.draw.site << 24 | std::uint64_t(unit) / 4;
    curandStatePhilox4_32_10_t state;
    curand_init(p.seed, std::uint64_t(row) << 32, block * 4 + std::uint64_t(unit) % 4, &state);
    const bool fires = curand_uniform(&state) <= 1.0f / (1.0f + expf(-p.a[e]));
    p.h[e] = fires != p.invert ? 1.0f : 0.0f;
  }
}

__device__ float warp_max(float v) {
  for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, offset));
  return v;
}
__device__ float warp_sum(float v) {
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(~0u, v, offset);
  return v;
}

__global__ void log_sum_exp_kernel(const float* x, float* y, int cols) {
  __shared__ float part[4];
  const float* row = x + std::int64_t(blockIdx.x) * cols;
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
  float top = -INFINITY;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) top = fmaxf(top, row[j]);
  top = warp_max(top);
  if (threadIdx.x % 32 == 0) part[warp] = top;
  __syncthreads();
  for (int w = 0; w < warps; ++w) top = fmaxf(top, part[w]);
  __syncthreads();
  float sum = 0;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) sum += expf(row[j] - top);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) part[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < warps; ++w) sum += part[w];
    y[blockIdx.x] = top + logf(sum);
  }
}

__global__ void block_reduce_kernel(const float* x, float* y, float* top, double* exact, int cols) {
  using Sum = cub::BlockReduce<float, 96>;
  using Max = cub::BlockReduce<float, 96, cub::BLOCK_REDUCE_RAKING>;
  using Exact = cub::BlockReduce<double, 96>;
  __shared__ typename Sum::TempStorage sum_storage;
  __shared__ typename Max::TempStorage max_storage;
  __shared__ typename Exact::TempStorage exact_storage;
  float sum = 0, largest = -INFINITY;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) {
    const float v = x[std::int64_t(blockIdx.x) * cols + j];
    sum += v;
    largest = fmaxf(largest, v);
  }
  const float total = Sum(sum_storage).Sum(sum);
  const float peak = Max(max_storage).Reduce(largest, [](float a, float b) { return fmaxf(a, b); });
  const double total_exact = Exact(exact_storage).Sum(double(sum));
  if (threadIdx.x == 0) {
    y[blockIdx.x] = total;
    top[blockIdx.x] = peak;
    exact[blockIdx.x] = total_exact;
  }
}

__global__ void split_bf16_kernel(const float* x, __nv_bfloat16* parts, __nv_bfloat162* pairs,
                                  int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  float rest = x[i];
  for (int part = 0; part < 3; ++part) {
    const __nv_bfloat16 v = __float2bfloat16(rest);
    parts[part * size + i] = v;
    rest -= __bfloat162float(v);
  }
  if (i % 2 == 0 && i + 1 < size) pairs[i / 2] = __floats2bfloat162_rn(x[i], x[i + 1]);
}

__global__ void volume_kernel(float* out, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < nx && y < ny && z < nz)
    out[(std::int64_t(z) * ny + y) * nx + x] = 1e6f * z + 1e3f * y + x;
}

__global__ void double_math_kernel(const double* x, double* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const double v = x[i];
  const double f[kDoubleFunctions] = {exp(v), log(v), sqrt(v), 1 / v, fma(v, v, -v), cbrt(v)};
  for (int k = 0; k < kDoubleFunctions; ++k) out[i * kDoubleFunctions + k] = f[k];
}

__global__ void float_math_kernel(const float* x, float* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const float v = x[i];
  const float f[kFloatFunctions] = {expf(v),   logf(v),   log1pf(v), tanhf(v),
                                    rsqrtf(v), __expf(v), sinf(v),   powf(v, 1.5f)};
  for (int k = 0; k < kFloatFunctions; ++k) out[i * kFloatFunctions + k] = f[k];
}

__global__ void histogram_kernel(const int* keys, int size, int* counts, int bins, int* biggest,
                                 float* total) {
  extern __shared__ int mine[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) mine[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    atomicAdd(&mine[keys[i]], 1);
    atomicMax(biggest, keys[i]);
    atomicAdd(total, 0.5f);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd(&counts[b], mine[b]);
}

__global__ void warp_operations_kernel(const unsigned* x, unsigned* out) {
  const unsigned lane = threadIdx.x, v = x[lane];
  unsigned* mine = out + lane * kWarpOperations;
  mine[0] = __ballot_sync(~0u, v & 1);
  mine[1] = __any_sync(~0u, v > 1000);
  mine[2] = __all_sync(~0u, v < 1000);
  mine[3] = __match_any_sync(~0u, v & 3);
  mine[4] = 0;
  if (lane % 3 == 0) mine[4] = __activemask();
  __syncwarp();
  mine[5] = __shfl_up_sync(~0u, v, 3);
  mine[6] = __shfl_down_sync(~0u, v, 5, 8);
  mine[7] = __shfl_sync(~0u, v, 7 * lane % 32);
  mine[8] = __shfl_xor_sync(~0u, v, 9, 16);
}

__global__ void integer_operations_kernel(const std::int64_t* a, const std::int64_t* b,
                                          std::uint64_t* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const std::int64_t x = a[i], y = b[i];
  const auto ux = std::uint64_t(x), uy = std::uint64_t(y);
  const auto wx = unsigned(ux), wy = unsigned(uy);
  std::uint64_t* o = out + std::int64_t(i) * kIntegerOperations;
  o[0] = __umul64hi(ux, uy);
  o[1] = std::uint64_t(x / y);
  o[2] = std::uint64_t(x % y);
  o[3] = std::uint64_t(x >> (y & 63));
  o[4] = ux << (y & 63);
  o[5] = __clzll(x) + 100 * __clz(int(wx));
  o[6] = __ffsll(x) + 100 * __popcll(ux);
  o[7] = __brev(wx);
  o[8] = __byte_perm(wx, wy, 0x5140);
  o[9] = __funnelshift_l(wx, wy, wy & 31);
  o[10] = std::uint64_t(std::int64_t(__mulhi(int(wx), int(wy))));
  o[11] = unsigned(int(wx) / (int(wy) | 1)) + ((wx >> 5) & 0xff);
}

__global__ void last_block_sum_kernel(const float* x, int size, float* partial, unsigned* finished,
                                      float* sum) {
  __shared__ float part[2];
  __shared__ bool is_last;
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    mine += x[i];
  mine = warp_sum(mine);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = part[0] + part[1];
    __threadfence();
    is_last = atomicAdd(finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    float total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];
    *sum = total;
  }
}

__constant__ float table[16];
__device__ float table_offset;

__global__ void lookup_kernel(const int* x, float* y, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  float mine[16];
  for (int k = 0; k < 16; ++k) mine[k] = table[15 - k];
  mine[x[i] >> 4 & 15] += 1.0f;
  y[i] = mine[15 - (x[i] & 15)] + table_offset;
}

__global__ void axpy4_kernel(const float4* __restrict__ x, float4* __restrict__ y,
                             const float* __restrict__ shift, int quads) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  const float4 v = x[i];
  const float s = *shift;
  y[i] = make_float4(2 * v.x + s, 2 * v.y + s, 2 * v.z + s, 2 * v.w + s);
}

__global__ void increment_kernel(float* value) { *value += 1.0f; }

__global__ void column_sum_kernel(const float* x, float* y, int rows, int cols) {
  extern __shared__ float tile[];  // [blockDim.y, blockDim.x]
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  if (j < cols)
    for (int i = threadIdx.y; i < rows; i += blockDim.y) sum += x[std::int64_t(i) * cols + j];
  tile[threadIdx.y * blockDim.x + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && j < cols) {
    for (unsigned k = 1; k < blockDim.y; ++k) sum += tile[k * blockDim.x + threadIdx.x];
    y[j] = sum;
  }
}

__global__ void switch_kernel(const int* which, const float* x, float* y, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  float v = x[i];
  switch (which[i]) {
    case 0:
      v = sqrtf(v);
      break;
    case 1:
      v = v * v * v;
      break;
    case 2:
      v = -v;
      break;
    case 3:
      y[i] = 3;
      return;
    case 4:
      v = v / 7;
      break;
    case 5:
      v = floorf(v);
      break;
    case 6:
      v = expf(v);
      break;
    case 7:
      for (int k = 0; k < i; ++k) v += y[size + k];
      break;
    default:
      break;
  }
  y[i] = v;
}

// ------------------------------------------------------------------------------------------
// launchers

namespace {
int blocks_for(int size, int threads) { return (size + threads - 1) / threads; }
}  // namespace

cudaError_t launch_bernoulli(const BernoulliArgs& p, cudaStream_t stream) {
  bernoulli_kernel<<<5, 128, 0, stream>>>(p);
  return cudaGetLastError();
}
cudaError_t launch_log_sum_exp(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  log_sum_exp_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
  return cudaGetLastError();
}
cudaError_t launch_block_reduce(const float* x, float* y, float* top, double* exact, int rows,
                                int cols) {
  block_reduce_kernel<<<rows, 96>>>(x, y, top, exact, cols);
  return cudaGetLastError();
}
cudaError_t launch_split_bf16(const float* x, std::uint16_t* parts, std::uint32_t* pairs,
                              int size) {
  split_bf16_kernel<<<blocks_for(size, 64), 64>>>(x, reinterpret_cast<__nv_bfloat16*>(parts),
                                                  reinterpret_cast<__nv_bfloat162*>(pairs), size);
  return cudaGetLastError();
}
cudaError_t launch_volume(float* out, int nx, int ny, int nz) {
  const dim3 block(5, 4, 3);
  volume_kernel<<<dim3(blocks_for(nx, 5), blocks_for(ny, 4), blocks_for(nz, 3)), block>>>(out, nx,
                                                                                          ny, nz);
  return cudaGetLastError();
}
cudaError_t launch_double_math(const double* x, double* out, int size) {
  double_math_kernel<<<blocks_for(size, 64), 64>>>(x, out, size);
  return cudaGetLastError();
}
cudaError_t launch_float_math(const float* x, float* out, int size) {
  float_math_kernel<<<blocks_for(size, 64), 64>>>(x, out, size);
  return cudaGetLastError();
}
cudaError_t launch_histogram(const int* keys, int size, int* counts, int bins, int* biggest,
                             float* total) {
  histogram_kernel<<<3, 64, std::size_t(bins) * sizeof(int)>>>(keys, size, counts, bins, biggest,
                                                               total);
  return cudaGetLastError();
}
cudaError_t launch_warp_operations(const unsigned* x, unsigned* out) {
  warp_operations_kernel<<<1, 32>>>(x, out);
  return cudaGetLastError();
}
cudaError_t launch_integer_operations(const std::int64_t* a, const std::int64_t* b,
                                      std::uint64_t* out, int size) {
  integer_operations_kernel<<<blocks_for(size, 64), 64>>>(a, b, out, size);
  return cudaGetLastError();
}
cudaError_t launch_last_block_sum(const float* x, int size, float* partial, unsigned* finished,
                                  float* sum, int blocks) {
  last_block_sum_kernel<<<blocks, 64>>>(x, size, partial, finished, sum);
  return cudaGetLastError();
}
cudaError_t upload_table(const float* table16, float offset) {
  const cudaError_t error = cudaMemcpyToSymbol(table, table16, sizeof table);
  return error ? error : cudaMemcpyToSymbol(table_offset, &offset, sizeof offset);
}
cudaError_t launch_lookup(const int* x, float* y, int size) {
  lookup_kernel<<<blocks_for(size, 64), 64>>>(x, y, size);
  return cudaGetLastError();
}
cudaError_t launch_axpy4(const float* x, float* y, const float* shift, int size,
                         cudaStream_t stream) {
  axpy4_kernel<<<blocks_for(size / 4, 64), 64, 0, stream>>>(
      reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y), shift, size / 4);
  return cudaGetLastError();
}
cudaError_t launch_increment(float* value, cudaStream_t stream) {
  increment_kernel<<<1, 1, 0, stream>>>(value);
  return cudaGetLastError();
}
cudaError_t launch_column_sum(const float* x, float* y, int rows, int cols) {
  const dim3 block(16, 8);
  column_sum_kernel<<<blocks_for(cols, 16), block, 16 * 8 * sizeof(float)>>>(x, y, rows, cols);
  return cudaGetLastError();
}
cudaError_t launch_switch(const int* which, const float* x, float* y, int size) {
  switch_kernel<<<blocks_for(size, 64), 64>>>(which, x, y, size);
  return cudaGetLastError();
}

}  // namespace sfnn::probes

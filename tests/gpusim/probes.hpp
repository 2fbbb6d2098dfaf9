// Small kernels of the kind the product has, for the simulator's own tests.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sfnn::probes {

struct BernoulliArgs {
  const float* a;  // [rows, units]
  float* h;        // [rows, units] out
  std::int64_t rows, units;
  std::uint64_t seed;
  struct {
    std::uint32_t step, site;
  } draw;
  bool invert;
};
cudaError_t launch_bernoulli(const BernoulliArgs& p, cudaStream_t stream);

// y[r] = log sum_j exp x[r, j]
cudaError_t launch_log_sum_exp(const float* x, float* y, int rows, int cols, cudaStream_t stream);

// CUB: y[r] = sum_j x[r, j], top[r] = max_j x[r, j], in double as well; raking and shuffle
// variants.
cudaError_t launch_block_reduce(const float* x, float* y, float* top, double* exact, int rows,
                                int cols);

// x = parts[0] + parts[1] + parts[2], each a bf16; pairs[i] packs two neighbours.
cudaError_t launch_split_bf16(const float* x, std::uint16_t* parts, std::uint32_t* pairs, int size);

// out[z][y][x] = 1e6 z + 1e3 y + x by blocks and a grid of three dimensions.
cudaError_t launch_volume(float* out, int nx, int ny, int nz);

// out[i] = {exp x, log x, sqrt x, 1/x, fma(x, x, -x), x^(1/3)} in double
constexpr int kDoubleFunctions = 6;
cudaError_t launch_double_math(const double* x, double* out, int size);

// The same in float: {exp, log, log1p, tanh, rsqrt, fast exp, sin, pow(x, 1.5)}
constexpr int kFloatFunctions = 8;
cudaError_t launch_float_math(const float* x, float* out, int size);

// counts[k] += 1 for each key, biggest = max, total += weights, by atomics in shared and global
// memory.
cudaError_t launch_histogram(const int* keys, int size, int* counts, int bins, int* biggest,
                             float* total);

// out[lane][...]: ballot, any, all, match_any, active lanes under a branch, shuffle up, down, idx,
// xor
constexpr int kWarpOperations = 9;
cudaError_t launch_warp_operations(const unsigned* x, unsigned* out);

// out[i]: high product, quotient, remainder, shifts, clz, ffs, popc, brev, byte permutation, funnel
// shift, dot
constexpr int kIntegerOperations = 12;
cudaError_t launch_integer_operations(const std::int64_t* a, const std::int64_t* b,
                                      std::uint64_t* out, int size);

// One launch, the last block to finish adds up what the others left.
cudaError_t launch_last_block_sum(const float* x, int size, float* partial, unsigned* finished,
                                  float* sum, int blocks);

// y[i] = table[x[i] & 15] + offset, through a local array; table is constant memory.
cudaError_t upload_table(const float* table16, float offset);
cudaError_t launch_lookup(const int* x, float* y, int size);

// y = 2 x + *shift, four at a time; size is a multiple of 4. *shift lives in device memory.
cudaError_t launch_axpy4(const float* x, float* y, const float* shift, int size,
                         cudaStream_t stream);
cudaError_t launch_increment(float* value, cudaStream_t stream);

// y[j] = sum_i x[i, j] with dynamic shared memory
cudaError_t launch_column_sum(const float* x, float* y, int rows, int cols);

// One of eight functions of x, by a switch.
cudaError_t launch_switch(const int* which, const float* x, float* y, int size);

}  // namespace sfnn::probes

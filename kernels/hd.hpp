// The one host/device macro: arithmetic marked SFNN_HD compiles for the CPU and, under nvcc, for
// the GPU too.
#pragma once

#ifdef __CUDACC__
#define SFNN_HD __host__ __device__ inline
#else
#define SFNN_HD inline
#endif

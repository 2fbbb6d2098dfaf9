// Which instruction sets the CPU backend is compiled for; the best one is chosen at run time. To be
// included before anything of Highway.
//
// SSE4, AVX2 and AVX-512 on x86-64, NEON on ARM64, and scalar code behind Highway's interface where
// none of them is found. The kernels keep arrays of vectors, which the sizeless types of SVE
// forbid.
#pragma once

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

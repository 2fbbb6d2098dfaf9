// A training step on paper: its launches, and how long each would take at a GPU's peak rates.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "bench/counting_backend.hpp"
#include "host/train/trainer.hpp"

namespace sfnn::bench {

struct Gpu {
  std::string_view name;
  double bytes_per_second;
  double fp32, tf32, bf16;  // dense operations per second; tensor cores sum in fp32

  double rate(Unit unit) const {
    return unit == Unit::bf16 ? bf16 : unit == Unit::tf32 ? tf32 : fp32;
  }
};

// NVIDIA's own figures, without sparsity:
//   A100      SXM, 80 GB: "NVIDIA A100 Tensor Core GPU" data sheet
//   H100      SXM: "NVIDIA H100 Tensor Core GPU" data sheet, whose tensor rates with sparsity are
//             halved here
//   B200      of HGX B200: "NVIDIA Blackwell Architecture Technical Brief"
//   RTX 4090  "NVIDIA Ada GPU Architecture" white paper, appendix A
inline constexpr std::array<Gpu, 4> kGpus{{
    {"A100", 2039e9, 19.5e12, 156e12, 312e12},
    {"H100", 3350e9, 67e12, 494.5e12, 989.5e12},
    {"B200", 8000e9, 80e12, 1100e12, 2250e12},
    {"RTX 4090", 1008e9, 82.6e12, 82.6e12, 165.2e12},
}};

// Memory and arithmetic overlap: the slower of the two decides.
double seconds(const Launch&, const Gpu&);

// Those of a step in the middle of an epoch, on grey pixels without noise. keep: see
// CountingBackend.
std::vector<Launch> launches_of_step(const NetworkSpec&, TrainOptions, Math, double keep);

}  // namespace sfnn::bench

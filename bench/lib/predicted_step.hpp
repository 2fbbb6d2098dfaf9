// A training step on paper: its launches, and how long each would take at a GPU's peak rates.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "bench/lib/counting_backend.hpp"
#include "host/train/trainer.hpp"

namespace sfnn::bench {

struct Gpu {
  std::string_view name;
  double bytes_per_second;
  double fp32, tf32, bf16;  // dense operations per second; tensor cores sum in fp32
  int multiprocessors = 1;
  double clock = 1;  // cycles per second

  double rate(Unit unit) const {
    return unit == Unit::bf16 ? bf16 : unit == Unit::tf32 ? tf32 : fp32;
  }
};

// NVIDIA's own figures, without sparsity:
//   A100      SXM, 80 GB: "NVIDIA A100 Tensor Core GPU" data sheet, nvidia.com/content/dam/en-zz/
//             Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf
//   H100      SXM: "NVIDIA H100 Tensor Core GPU" data sheet, whose tensor rates with sparsity (989
//             and 1979) are halved here
//   B200      of HGX B200 at 1000 W: "NVIDIA Blackwell Architecture Technical Brief"
//   RTX 4090  "NVIDIA Ada GPU Architecture" white paper, appendix A; bf16 summed in fp32
// Multiprocessors and boost clocks are of the same papers; B200's clock is assumed.
// The tables of glennklockwood.com/garden/processors (A100, h100, B200) and of
// waredb.com/processor/nvidia-geforce-rtx-4090 quote the same ones.
inline constexpr std::array<Gpu, 4> kGpus{{
    {"A100", 2039e9, 19.5e12, 156e12, 312e12, 108, 1.41e9},
    {"H100", 3350e9, 67e12, 494.5e12, 989.5e12, 132, 1.98e9},
    {"B200", 8000e9, 80e12, 1100e12, 2250e12, 148, 1.85e9},
    {"RTX 4090", 1008e9, 82.6e12, 82.6e12, 165.2e12, 128, 2.52e9},
}};

// Memory and arithmetic overlap: the slower of the two decides.
double seconds(const Launch&, const Gpu&);
double seconds(const std::vector<Launch>&, const Gpu&);  // one after another

// Those of a step in the middle of an epoch, on grey pixels without noise. keep: see
// CountingBackend.
std::vector<Launch> launches_of_step(const NetworkSpec&, TrainOptions, Math, double keep);

}  // namespace sfnn::bench

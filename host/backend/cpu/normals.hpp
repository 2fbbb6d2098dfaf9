// Normal numbers in double precision, for the first weights of a network.
#pragma once

#include <span>

#include "kernels/philox.hpp"

namespace sfnn::cpu {

// out[i] = float(sigma * box_muller(u, v)), u and v the uniforms of units 2 i and 2 i + 1 of a row:
// on every instruction set the very bits of the scalar formula (kernels/box_muller.hpp).
void fill_normals(const DrawKey&, std::uint32_t example, std::uint32_t particle, double sigma,
                  std::span<float> out);

}  // namespace sfnn::cpu

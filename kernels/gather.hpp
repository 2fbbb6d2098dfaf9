// An example's value as the network sees it: stored, scaled, then drawn as a bit, or standardised
// with noise added.
#pragma once

#include <cstdint>

#include "kernels/args.hpp"
#include "kernels/box_muller.hpp"
#include "kernels/hd.hpp"
#include "kernels/philox.hpp"

namespace sfnn {

// Units 2k and 2k + 1 get the pair of normals that their two words make.
SFNN_HD float normal_at(const DrawKey& key, std::uint32_t example, std::int64_t unit,
                        std::uint32_t particle = 0) {
  const PhiloxWords words = draw_words(key, example, particle, std::uint32_t(unit >> 2));
  return box_muller(uniform_from_word(words.v[unit & 2]),
                    uniform_from_word(words.v[(unit & 2) + 1]), (unit & 1) != 0);
}

// Value i of the tile's example n, which is example `row` of the whole data set.
SFNN_HD float gather_at(const GatherArgs& p, std::int64_t n, std::int64_t row, std::int64_t i,
                        const DrawKey& binarize_key, const DrawKey& noise_key) {
  const std::int64_t e = p.stored_row(n, row) * p.data.cols + i;
  float value = p.data.scale * (p.data.type == DataColumns::Type::u8
                                    ? float(reinterpret_cast<const std::uint8_t*>(p.data.data)[e])
                                    : reinterpret_cast<const float*>(p.data.data)[e]);
  if (p.binarize) value = uniform(binarize_key, std::uint32_t(row), 0, i) <= value ? 1.0f : 0.0f;
  if (p.mean) value -= p.mean[i];
  if (p.inverse_scale) value *= p.inverse_scale[i];
  if (p.noise > 0) value += p.noise * normal_at(noise_key, std::uint32_t(row), i);
  return value;
}

}  // namespace sfnn

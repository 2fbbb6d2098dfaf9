// Products of a 0/1 matrix with floats by table look-up instead of multiplication.
//
// Five rows of W have 32 possible sums. With those in a table, a row of the product takes one load
// and one addition for five inputs, where a dense product takes five fused multiply-additions. The
// tables of 55 inputs and 16 columns (22 KB) stay in the first-level cache while every row of the
// 0/1 matrix passes by. The gradient of W is the same product with the bits transposed.
#pragma once

#include "host/backend/backend.hpp"

namespace sfnn {

// Whether look-up beats unpacking the bits for a dense product with `rows` rows: filling a table
// costs about as much as 20 rows of a dense product. A rule on shapes, never a timing: the same
// seed must give the same bits.
constexpr bool lookup_pays(std::int64_t rows) { return rows >= 24; }

// out = z W, or out += z W
void bit_product(ConstBits z, ConstMatrix W, Matrix out, Write);

// gW += z[rows]^T g
void bit_outer_product(ConstBits z, RowSet rows, ConstMatrix g, Matrix gW);

// In place: bit j of word i and bit i of word j change places.
void transpose_bits(std::uint64_t (&words)[64]);

}  // namespace sfnn

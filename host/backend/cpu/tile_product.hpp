// Products of a 0/1 matrix with floats in tile registers: the bits as bytes, W in digits of a byte.
//
// Column h of W becomes fixed-point numbers, W[k, h] = scale_h (d_0 + 2^8 d_1 + 2^16 d_2) with
// digits in -128 .. 127 and a power of two for scale_h, just large enough for the column's largest
// element. Sums of digits are exact in int32, whatever their order. With n ones in a row of bits,
// and w the largest |W[k, h]|,
//
//   |error| <= 1.01 n 2^-23 w + 2^-23 |result|
//
// at most about twice the bound n 2^-24 sum |W[k, h]| of a sum in floats. So it is for the gradient
// of W, with g in W's place: what an element below 2^-24 of its column's largest would add is less
// than a rounding of the sums that hold the largest. A column that is not finite gives NaN.
#pragma once

#include "host/backend/backend.hpp"
#include "host/backend/cpu/tile_kernel.hpp"

namespace sfnn {

// out = z W, or out += z W
void tile_product(TileKernel, ConstBits z, ConstMatrix W, Matrix out, Write);

// gW += z[rows]^T g
void tile_outer_product(TileKernel, ConstBits z, RowSet rows, ConstMatrix g, Matrix gW);

}  // namespace sfnn

// What the ops are told: one plain struct per op, the same for every backend, passed by value to a
// kernel too. kName is how messages and timings call the op.
#pragma once

#include "kernels/backward_args.hpp"
#include "kernels/data_args.hpp"
#include "kernels/forward_args.hpp"
#include "kernels/product_args.hpp"
#include "kernels/tile.hpp"
#include "kernels/update_args.hpp"

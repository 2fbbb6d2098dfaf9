// Arguments of the ops: one plain struct per op, the same for every backend, also passed by value
// to kernels. kName is the op's name in messages and timings.
#pragma once

#include "kernels/backward_args.hpp"
#include "kernels/data_args.hpp"
#include "kernels/forward_args.hpp"
#include "kernels/product_args.hpp"
#include "kernels/tile.hpp"
#include "kernels/update_args.hpp"

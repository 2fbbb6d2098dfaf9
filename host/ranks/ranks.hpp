// The processes that share a step's parts. Between the gradient of a batch and the optimiser they
// meet: what goes in are the parts that this process has made, what comes out is the sum of all of
// them, added by the fixed tree (kernels/tree_sum.hpp).
#pragma once

#include "kernels/tree_sum.hpp"

namespace sfnn {

class Ranks {
 public:
  virtual ~Ranks() = default;
  // May leave the adding to whoever reads the result: the parts of one process are their own sum.
  virtual Parts sum(const Parts& own) = 0;
};

// The only process.
class Alone final : public Ranks {
 public:
  Parts sum(const Parts& own) override { return own; }
};

}  // namespace sfnn

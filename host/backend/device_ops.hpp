// What a device does for each op: one virtual `run` per struct of arguments, made from the list of
// ops. A backend overrides all of them, itself or by what it inherits; only the checked front calls
// them.
#pragma once

#include "kernels/args.hpp"

namespace sfnn {

template <class List>
class DeviceOps;

template <class Last>
class DeviceOps<OpList<Last>> {
 protected:
  ~DeviceOps() = default;
  virtual OpResult<Last> run(const Last&) = 0;
};

template <class First, class... Rest>
class DeviceOps<OpList<First, Rest...>> : protected DeviceOps<OpList<Rest...>> {
 protected:
  ~DeviceOps() = default;
  using DeviceOps<OpList<Rest...>>::run;
  virtual OpResult<First> run(const First&) = 0;
};

}  // namespace sfnn

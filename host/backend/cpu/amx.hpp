// The tile registers of Intel's servers since 2023 (AMX): whether this process has them.
#pragma once

#include <string_view>

#include "host/backend/cpu/tile_kernel.hpp"

namespace sfnn {

enum class Amx {
  usable,
  absent,   // the processor has no tile registers for bytes
  refused,  // the operating system does not let this process use them
};

// The operating system is asked once, at the first call.
Amx amx();
std::string_view to_string(Amx);  // for people

TileKernel amx_kernel();  // null unless usable

}  // namespace sfnn

// What a kernel did wrong, and where.
#pragma once

#include <array>
#include <stdexcept>
#include <string>

namespace sfnn::gpusim {

enum class FaultKind {
  kOutOfBounds,
  kMisaligned,
  kUninitialised,
  kRace,
  kBarrier,
  kWarpMask,
  kDeadlock,
  kTrap,
  kBadCall,  // a library call with operands that do not fit
  kBadPtx,
};

struct Fault : std::runtime_error {
  Fault(FaultKind fault_kind, const std::string& message)
      : std::runtime_error(message), kind(fault_kind) {}

  FaultKind kind;
  std::string kernel;
  int ptx_line = 0;
  std::string source;  // "file.cu:31" in the kernel itself, if the PTX says it
  std::array<unsigned, 3> block{}, thread{};
};

}  // namespace sfnn::gpusim

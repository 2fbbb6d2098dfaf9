// Kernels ready to run: every name resolved to a slot, every opcode to a function.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/gpusim/types.hpp"

namespace sfnn::gpusim {

enum class Kind : std::uint8_t {
  kCompute,  // registers to registers
  kBranch,
  kBranchIndexed,
  kExit,
  kTrap,
  kFence,
  kLoad,
  kStore,
  kAtomic,
  kBarrier,     // of the block
  kCollective,  // of a warp
};

enum class Space : std::uint8_t { kGeneric, kGlobal, kShared, kLocal, kParam, kConst };

enum class AtomicOp : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExch, kCas, kInc, kDec };

enum class CollectiveOp : std::uint8_t {
  kShflBfly,
  kShflDown,
  kShflUp,
  kShflIdx,
  kBallot,
  kAny,
  kAll,
  kUni,
  kMatchAny,
  kMatchAll,
  kReduxAdd,
  kReduxMin,
  kReduxMax,
  kReduxAnd,
  kReduxOr,
  kReduxXor,
  kSync,
  kActiveMask,
};

enum class BarrierOp : std::uint8_t { kSync, kPopc, kAnd, kOr };

struct SourceLine {
  std::int32_t file = 0, line = 0;
};

struct Instruction;
using Compute = void (*)(const Instruction&, Slot* row);

// Operands are indices into the thread's row of slots. Immediates, addresses of symbols and special
// registers have slots of their own, filled when the thread starts, so reading an operand never
// asks what it is.
struct Instruction {
  Kind kind = Kind::kCompute;
  bool guard_negated = false;
  std::int32_t guard = -1;  // slot of the predicate, or -1
  Compute compute = nullptr;
  std::array<std::uint16_t, 4> dst{}, src{};
  std::uint32_t target = 0;  // of a branch; the table of an indexed one

  // Memory: `count` values of `type` at row[base] + offset.
  std::uint16_t base = 0;
  std::int64_t offset = 0;
  Space space = Space::kGeneric;
  Type type = Type::kB32;
  std::uint8_t bytes = 0, count = 1;
  bool synchronises = false;  // atomics, .relaxed and stronger: no race among themselves

  Rounding rounding = Rounding::kNearest;
  bool flush = false, saturate = false;  // .ftz, .sat
  union {
    std::uint8_t detail = 0;
    AtomicOp atomic;
    CollectiveOp collective;
    BarrierOp barrier;
  };

  std::int32_t ptx_line = 0;
  SourceLine source, caller;
};

// Slots every row has.
constexpr std::uint16_t kDiscardSlot = 0;  // what "_" names
constexpr std::uint16_t kCarrySlot = 1;    // the condition code of add.cc
constexpr std::uint16_t kFirstFreeSlot = 2;

// Generic addresses of memory that is not global: no pointer of a 64-bit machine looks like these.
constexpr std::uint64_t kSharedWindow = 0x5Aull << 56, kLocalWindow = 0x5Bull << 56,
                        kParamWindow = 0x5Cull << 56, kWindowMask = 0xFFull << 56;

enum class Special : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kSmId,
  kNSmId,
  kLaneMaskEq,
  kLaneMaskLt,
  kLaneMaskLe,
  kLaneMaskGt,
  kLaneMaskGe,
  kDynamicSmemSize,
  kTotalSmemSize,
  kWarpSize,
};

struct Param {
  std::size_t offset, bytes;
};

struct Module;

struct Kernel {
  std::string name;   // as the linker knows it
  std::string title;  // as the programmer does
  const Module* module = nullptr;
  std::vector<Instruction> code;
  std::vector<std::vector<std::uint32_t>> branch_tables;
  std::vector<Slot> row;  // as a thread finds it
  std::vector<std::pair<std::uint16_t, Special>> specials;
  std::vector<Param> params;
  std::size_t param_bytes = 0, shared_bytes = 0, local_bytes = 0;
  std::size_t dynamic_shared_offset = 0;  // dynamic shared memory follows the static
  unsigned max_threads = 1024;
};

struct GlobalArray {
  std::unique_ptr<std::uint64_t[]> storage;
  std::size_t bytes;
  void* data() const { return storage.get(); }
};

struct Module {
  std::string path;
  int target = 0;
  std::map<int, std::string> files;
  std::map<std::string, GlobalArray> arrays;  // .global and .const
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

// Throws PtxError for anything unknown, whichever kernel it stands in.
std::unique_ptr<Module> load_module(const std::string& path, const std::string& text);

}  // namespace sfnn::gpusim

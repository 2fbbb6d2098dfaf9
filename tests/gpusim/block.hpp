// One block of threads, run to its end. A thread is a program counter and a row of slots; it runs
// until it exits or must wait for others, then the next one runs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/gpusim/fault.hpp"
#include "tests/gpusim/memory.hpp"
#include "tests/gpusim/program.hpp"

namespace sfnn::gpusim {

using Dim3 = std::array<unsigned, 3>;

enum class ThreadOrder { kUp, kDown };

constexpr unsigned kWarpSize = 32, kMultiprocessors = 2;

// What all blocks of a launch share.
struct Launch {
  const Kernel& kernel;
  Dim3 grid, block;
  std::size_t dynamic_shared;
  std::vector<std::uint8_t> params;
  ThreadOrder order;
  std::uint32_t generation;  // a number of its own, for stamps
  Memory& memory;

  std::uint64_t instructions = 0, load_bytes = 0, store_bytes = 0;
  std::vector<Allocation*> touched;
  // Blocks that fenced and then did an atomic, by the atomic's address.
  std::map<std::uint64_t, std::vector<std::uint32_t>> released;
};

class Block {
 public:
  explicit Block(Launch& launch);
  void run(std::uint32_t linear_index);  // throws Fault

 private:
  enum class State : std::uint8_t { kReady, kAtBarrier, kAtCollective, kExited };
  struct Thread {
    std::uint32_t pc = 0;
    State state = State::kReady;
  };

  Slot special(Special s, unsigned thread) const;
  Slot* row(unsigned thread) { return &rows_[std::size_t(thread) * row_size_]; }
  Dim3 position(unsigned thread) const;

  void run_thread(unsigned thread);
  bool run_warp(unsigned warp);  // did anything happen?
  void release_barrier();
  [[noreturn]] void report_deadlock();

  // block_memory.cpp
  void load(const Instruction& i, Slot* r, unsigned thread);
  void store(const Instruction& i, Slot* r, unsigned thread);
  void atomic(const Instruction& i, Slot* r, unsigned thread);
  void fence(unsigned thread);
  std::uint8_t* access(const Instruction& i, const Slot* r, unsigned thread, bool reads,
                       bool writes);
  std::uint8_t* shared_access(const Instruction& i, std::uint64_t offset, unsigned thread,
                              bool reads, bool writes);
  std::uint8_t* global_access(const Instruction& i, std::uint64_t address, unsigned thread,
                              bool reads, bool writes);
  Access access_record(const Instruction& i, unsigned thread, bool writes) const;
  void order_after_released_blocks(std::uint64_t address);
  void check_race(const Instruction& i, const Access* rival, unsigned thread, bool writes,
                  const char* where);

  // block_warp.cpp
  bool release_collectives(unsigned warp);
  bool release_active_masks(unsigned warp);
  bool try_collective(unsigned thread);
  void perform(const Instruction& i, unsigned first_thread, std::uint32_t mask,
               std::uint32_t present);
  unsigned shuffle_source(const Instruction& i, const Slot* r, unsigned lane, bool& in_range) const;

  [[noreturn]] void fail(FaultKind kind, unsigned thread, std::uint32_t pc,
                         const std::string& what) const;
  std::string place(std::uint32_t pc) const;  // "PTX line 12 (a.cu:3)"
  std::string source(const SourceLine& at) const;

  Launch& launch_;
  const Kernel& kernel_;
  const unsigned size_;
  const std::size_t row_size_;
  std::vector<Slot> rows_;
  std::vector<Thread> threads_;
  std::vector<std::uint64_t> shared_;
  std::size_t shared_bytes_;
  ValidBits shared_valid_;
  RaceShadow shared_races_;
  std::vector<std::uint8_t> local_;
  std::vector<Allocation*> recent_;  // by pc: the allocation it touched last

  std::uint32_t index_ = 0;
  unsigned exited_ = 0;
  std::uint32_t epoch_ = 0;
  std::vector<std::uint16_t> warp_epoch_;
  std::vector<bool> fenced_;        // by thread
  std::vector<bool> after_blocks_;  // blocks whose writes this one may read
};

}  // namespace sfnn::gpusim

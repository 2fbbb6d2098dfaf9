#include "tests/gpusim/block.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sfnn::gpusim {
namespace {

// A thread that runs longer without waiting for anybody spins for ever: nothing it could wait for
// can happen while it runs.
constexpr std::uint64_t kLongestRun = 1ull << 32;

Dim3 unravel(std::uint32_t linear, const Dim3& shape) {
  return {linear % shape[0], linear / shape[0] % shape[1], linear / shape[0] / shape[1]};
}

std::string text_of(const Dim3& d) { return fmt::format("({},{},{})", d[0], d[1], d[2]); }

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

Block::Block(Launch& launch)
    : launch_(launch),
      kernel_(launch.kernel),
      size_(launch.block[0] * launch.block[1] * launch.block[2]),
      row_size_(kernel_.row.size()),
      rows_(size_ * row_size_),
      threads_(size_),
      shared_bytes_(launch.dynamic_shared ? kernel_.dynamic_shared_offset + launch.dynamic_shared
                                          : kernel_.shared_bytes),
      local_(size_ * kernel_.local_bytes),
      recent_(kernel_.code.size()),
      warp_epoch_((size_ + kWarpSize - 1) / kWarpSize),
      fenced_(size_) {
  shared_.resize(shared_bytes_ / 8 + 2);
  shared_valid_.resize(shared_bytes_);
  shared_races_ = RaceShadow(shared_bytes_);
  for (unsigned t = 0; t < size_; ++t) std::copy(kernel_.row.begin(), kernel_.row.end(), row(t));
}

void Block::run(std::uint32_t linear_index) {
  index_ = linear_index;
  exited_ = epoch_ = 0;
  shared_valid_.clear();
  std::fill(warp_epoch_.begin(), warp_epoch_.end(), std::uint16_t(0));
  std::fill(fenced_.begin(), fenced_.end(), false);
  after_blocks_.clear();
  std::fill(threads_.begin(), threads_.end(), Thread());
  for (unsigned t = 0; t < size_; ++t)
    for (const auto& [slot, which] : kernel_.specials) row(t)[slot] = special(which, t);

  const unsigned warps = unsigned(warp_epoch_.size());
  while (exited_ < size_) {
    bool progress = false;
    for (unsigned n = 0; n < warps; ++n)
      progress |= run_warp(launch_.order == ThreadOrder::kUp ? n : warps - 1 - n);
    if (exited_ == size_) return;
    const bool all_wait = std::all_of(threads_.begin(), threads_.end(), [](const Thread& t) {
      return t.state == State::kAtBarrier || t.state == State::kExited;
    });
    if (all_wait)
      release_barrier();
    else if (!progress)
      report_deadlock();
  }
}

bool Block::run_warp(unsigned warp) {
  const unsigned first = warp * kWarpSize, count = std::min(kWarpSize, size_ - first);
  bool progress = false;
  for (bool again = true; again; progress |= again) {
    again = false;
    for (unsigned n = 0; n < count; ++n) {
      const unsigned t = first + (launch_.order == ThreadOrder::kUp ? n : count - 1 - n);
      if (threads_[t].state != State::kReady) continue;
      run_thread(t);
      again = true;
    }
    again |= release_collectives(warp);
  }
  return progress;
}

void Block::run_thread(unsigned t) {
  Thread& thread = threads_[t];
  Slot* const r = row(t);
  const Instruction* const code = kernel_.code.data();
  std::uint32_t pc = thread.pc;
  std::uint64_t executed = 0;
  while (thread.state == State::kReady) {
    const Instruction& i = code[pc];
    ++executed;
    if (i.guard >= 0 && (r[i.guard] != 0) == i.guard_negated) {
      ++pc;
      continue;
    }
    switch (i.kind) {
      case Kind::kCompute:
        i.compute(i, r);
        break;
      case Kind::kBranch:
        if (executed > kLongestRun) fail(FaultKind::kDeadlock, t, pc, "the thread spins for ever");
        pc = i.target;
        continue;
      case Kind::kBranchIndexed: {
        const auto& targets = kernel_.branch_tables[i.target];
        const auto index = get<std::uint32_t>(r[i.src[0]]);
        if (index >= targets.size()) fail(FaultKind::kTrap, t, pc, "branch beyond its table");
        pc = targets[index];
        continue;
      }
      case Kind::kLoad:
        load(i, r, t);
        break;
      case Kind::kStore:
        store(i, r, t);
        break;
      case Kind::kAtomic:
        atomic(i, r, t);
        break;
      case Kind::kFence:
        fence(t);
        break;
      case Kind::kTrap:
        fail(FaultKind::kTrap, t, pc, "trap");
      case Kind::kExit:
        thread.state = State::kExited;
        ++exited_;
        continue;
      case Kind::kBarrier:
        thread.state = State::kAtBarrier;
        continue;
      case Kind::kCollective:
        thread.state = State::kAtCollective;
        continue;
    }
    ++pc;
  }
  thread.pc = pc;
  launch_.instructions += executed;
}

void Block::release_barrier() {
  const auto waiting = [](const Thread& t) { return t.state == State::kAtBarrier; };
  const auto first = std::find_if(threads_.begin(), threads_.end(), waiting);
  const auto first_thread = unsigned(first - threads_.begin());
  const Instruction& i = kernel_.code[first->pc];
  unsigned votes = 0;
  for (unsigned t = 0; t < size_; ++t) {
    const Thread& other = threads_[t];
    if (other.state == State::kExited)
      fail(FaultKind::kBarrier, first_thread, first->pc,
           fmt::format("the thread waits at a barrier, but thread {} has returned",
                       text_of(position(t))));
    if (other.pc != first->pc)
      fail(FaultKind::kBarrier, first_thread, first->pc,
           fmt::format("threads of a block wait at two barriers: thread {} at {}",
                       text_of(position(t)), place(other.pc)));
    if (i.barrier != BarrierOp::kSync && row(t)[i.src[1]]) ++votes;
  }
  for (unsigned t = 0; t < size_; ++t) {
    Slot& result = row(t)[i.dst[0]];
    if (i.barrier == BarrierOp::kPopc) result = votes;
    if (i.barrier == BarrierOp::kAnd) result = votes == size_;
    if (i.barrier == BarrierOp::kOr) result = votes > 0;
    threads_[t].state = State::kReady;
    ++threads_[t].pc;
  }
  ++epoch_;
}

void Block::report_deadlock() {
  unsigned stuck = 0;
  while (threads_[stuck].state != State::kAtCollective) ++stuck;
  std::string others;
  for (unsigned t = 0; t < size_ && others.empty(); ++t)
    if (threads_[t].state != State::kExited && threads_[t].pc != threads_[stuck].pc &&
        t / kWarpSize == stuck / kWarpSize)
      others = fmt::format("; thread {} waits at {}", text_of(position(t)), place(threads_[t].pc));
  fail(FaultKind::kDeadlock, stuck, threads_[stuck].pc,
       "deadlock: the thread waits for lanes of its mask that never come" + others);
}

Slot Block::special(Special s, unsigned t) const {
  const Dim3 at = position(t), block = unravel(index_, launch_.grid);
  const unsigned lane = t % kWarpSize;
  switch (s) {
    case Special::kTidX:
      return at[0];
    case Special::kTidY:
      return at[1];
    case Special::kTidZ:
      return at[2];
    case Special::kNtidX:
      return launch_.block[0];
    case Special::kNtidY:
      return launch_.block[1];
    case Special::kNtidZ:
      return launch_.block[2];
    case Special::kCtaidX:
      return block[0];
    case Special::kCtaidY:
      return block[1];
    case Special::kCtaidZ:
      return block[2];
    case Special::kNctaidX:
      return launch_.grid[0];
    case Special::kNctaidY:
      return launch_.grid[1];
    case Special::kNctaidZ:
      return launch_.grid[2];
    case Special::kLaneId:
      return lane;
    case Special::kWarpId:
      return t / kWarpSize;
    case Special::kSmId:
      return index_ % kMultiprocessors;
    case Special::kNSmId:
      return kMultiprocessors;
    case Special::kLaneMaskEq:
      return 1u << lane;
    case Special::kLaneMaskLt:
      return (1u << lane) - 1;
    case Special::kLaneMaskLe:
      return (2ull << lane) - 1;
    case Special::kLaneMaskGt:
      return std::uint32_t(~((2ull << lane) - 1));
    case Special::kLaneMaskGe:
      return std::uint32_t(~((1ull << lane) - 1));
    case Special::kDynamicSmemSize:
      return launch_.dynamic_shared;
    case Special::kTotalSmemSize:
      return shared_bytes_;
    case Special::kWarpSize:
      return kWarpSize;
  }
  return 0;
}

Dim3 Block::position(unsigned thread) const { return unravel(thread, launch_.block); }

std::string Block::source(const SourceLine& at) const {
  const auto file = kernel_.module->files.find(at.file);
  if (at.line == 0 || file == kernel_.module->files.end()) return "";
  return fmt::format("{}:{}", base_name(file->second), at.line);
}

std::string Block::place(std::uint32_t pc) const {
  const Instruction& i = kernel_.code[pc];
  const std::string here = source(i.source), caller = source(i.caller);
  if (here.empty()) return fmt::format("PTX line {}", i.ptx_line);
  if (caller == here) return fmt::format("PTX line {} ({})", i.ptx_line, here);
  return fmt::format("PTX line {} ({}, inlined at {})", i.ptx_line, here, caller);
}

void Block::fail(FaultKind kind, unsigned thread, std::uint32_t pc, const std::string& what) const {
  const Dim3 block = unravel(index_, launch_.grid), at = position(thread);
  Fault fault(kind, fmt::format("kernel {}, {}, block {}, thread {}: {}", kernel_.title, place(pc),
                                text_of(block), text_of(at), what));
  fault.kernel = kernel_.title;
  fault.ptx_line = kernel_.code[pc].ptx_line;
  fault.source = source(kernel_.code[pc].caller);
  fault.block = block;
  fault.thread = at;
  throw fault;
}

}  // namespace sfnn::gpusim

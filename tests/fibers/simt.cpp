// The scheduler behind simt.hpp: one OS thread per block, one fiber per CUDA thread.
//
// Never built with -fsanitize=thread: its own state passes between fibers that, to the sanitizer,
// are threads without order.
#include "tests/fibers/simt.hpp"

#include <fmt/format.h>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <exception>
#include <memory>
#include <thread>

#include "tests/fibers/sanitizer_fiber.hpp"

namespace sfnn::simt {
namespace {

namespace context = boost::context;

constexpr unsigned kLanes = 32, kMaxThreads = 1024;
constexpr std::size_t kStackBytes = 256 << 10;

struct Cancelled {};  // unwinds the other threads of a block once one has failed

bool operator==(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         std::strcmp(a.file_name(), b.file_name()) == 0;
}

std::string to_string(const std::source_location& at) {
  return fmt::format("{}:{}", at.file_name(), at.line());
}

// A meeting of threads: all of a block at a barrier, all of a warp at a shuffle.
struct Meeting {
  unsigned expected = 0, arrived = 0;
  unsigned generation = 0;  // how many meetings have been completed here
  std::source_location place;
};

struct Warp {
  Meeting meeting;
  std::uint64_t value[2][kLanes];  // by parity of the generation: the next may begin early
};

struct CudaThread {
  unsigned index = 0;
  context::fiber fiber;  // its state while another runs
  std::unique_ptr<SanitizerFiber> sanitizer;
  const Meeting* waits_at = nullptr;
  unsigned generation = 0;  // number of the meeting it waits for
  bool done = false;

  bool ready() const {
    return !done && (waits_at == nullptr || waits_at->generation != generation);
  }
};

struct Launch {
  dim3 grid, block;
  Order order;
  const std::function<void()>& body;
  char end = 0;  // what the end of a thread releases and the end of the launch acquires
};

class Block {
 public:
  Block(Launch& launch, dim3 index)
      : launch_(launch),
        index_(index),
        size_(launch.block.x * launch.block.y * launch.block.z),
        threads_(std::make_unique<CudaThread[]>(size_)),
        warps_(std::make_unique<Warp[]>((size_ + kLanes - 1) / kLanes)) {
    barrier_.expected = size_;
    for (unsigned t = 0; t < size_; ++t) {
      threads_[t].index = t;
      ++warps_[t / kLanes].meeting.expected;
    }
  }

  void run() {
    for (unsigned done = 0; done < size_;) {
      bool moved = false;
      for (unsigned k = 0; k < size_; ++k) {
        CudaThread& thread = threads_[launch_.order == Order::ascending ? k : size_ - 1 - k];
        if (!thread.ready() || (failure_ && !thread.sanitizer)) continue;
        moved = true;
        resume(thread);
        done += thread.done;
        if (failure_) return cancel();
      }
      if (!moved) {
        failure_ = std::make_exception_ptr(Fault(describe_deadlock()));
        return cancel();
      }
    }
  }

  std::exception_ptr failure() const { return failure_; }
  const Launch& launch() const { return launch_; }
  dim3 index() const { return index_; }
  dim3 thread_index() const {
    const unsigned t = current_->index, width = launch_.block.x, height = launch_.block.y;
    return {t % width, t / width % height, t / (width * height)};
  }

  void barrier(const std::source_location& place) {
    char& order = barrier_order_[barrier_.generation & 1];
    release(&order);
    meet(barrier_, place);
    acquire(&order);
  }

  std::uint64_t exchange(unsigned members, std::uint64_t value, unsigned lane_mask,
                         const std::source_location& place) {
    Warp& warp = warps_[current_->index / kLanes];
    const unsigned lane = current_->index % kLanes;
    if (members != ~0u || warp.meeting.expected != kLanes || lane_mask >= kLanes)
      throw Fault(fmt::format("a shuffle of less than a whole warp in {}", to_string(place)));
    std::uint64_t* values = warp.value[warp.meeting.generation & 1];
    values[lane] = value;
    meet(warp.meeting, place);
    return values[lane ^ lane_mask];
  }

 private:
  void meet(Meeting& meeting, const std::source_location& place) {
    if (meeting.arrived == 0) {
      meeting.place = place;
    } else if (!(meeting.place == place)) {
      throw Fault(fmt::format("thread {} came to {} while others wait in {}", current_->index,
                              to_string(place), to_string(meeting.place)));
    }
    if (++meeting.arrived == meeting.expected) {
      meeting.arrived = 0;
      ++meeting.generation;
      return;
    }
    CudaThread& self = *current_;
    self.waits_at = &meeting, self.generation = meeting.generation;
    suspend(self);
    self.waits_at = nullptr;
  }

  // From the scheduler to a thread, until that waits or ends.
  void resume(CudaThread& thread) {
    if (!thread.sanitizer) start(thread);
    current_ = &thread;
    scheduler_sanitizer_.leave_for(*thread.sanitizer);
    thread.fiber = std::move(thread.fiber).resume();
    scheduler_sanitizer_.arrive_from(*thread.sanitizer);
  }

  // From a thread back to the scheduler, until its turn comes again.
  void suspend(CudaThread& self) {
    self.sanitizer->leave_for(scheduler_sanitizer_);
    scheduler_ = std::move(scheduler_).resume();
    self.sanitizer->arrive_from(scheduler_sanitizer_);
    if (failure_) throw Cancelled{};
  }

  void start(CudaThread& thread) {
    context::protected_fixedsize_stack allocator(kStackBytes);
    const context::stack_context stack = allocator.allocate();
    thread.sanitizer = std::make_unique<SanitizerFiber>(
        static_cast<const char*>(stack.sp) - stack.size, stack.size);
    thread.fiber = context::fiber(
        std::allocator_arg, context::preallocated(stack.sp, stack.size, stack), allocator,
        [this, &thread](context::fiber&& scheduler) { return live(thread, std::move(scheduler)); });
  }

  context::fiber live(CudaThread& self, context::fiber&& scheduler) {
    scheduler_ = std::move(scheduler);
    self.sanitizer->arrive_from(scheduler_sanitizer_);
    try {
      launch_.body();
    } catch (const Cancelled&) {
    } catch (...) {
      failure_ = std::current_exception();
    }
    self.done = true;
    release(&launch_.end);
    self.sanitizer->leave_for(scheduler_sanitizer_, /*last=*/true);
    return std::move(scheduler_);
  }

  // Every thread that has begun runs its destructors.
  void cancel() {
    for (unsigned t = 0; t < size_; ++t)
      if (threads_[t].sanitizer && !threads_[t].done) resume(threads_[t]);
  }

  std::string describe_deadlock() const {
    unsigned done = 0;
    for (unsigned t = 0; t < size_; ++t) done += threads_[t].done;
    std::string text = fmt::format("block ({}, {}, {}) is stuck: {} of {} threads have returned",
                                   index_.x, index_.y, index_.z, done, size_);
    const auto add = [&](const Meeting& meeting) {
      if (meeting.arrived)
        text += fmt::format(", {} wait in {}", meeting.arrived, to_string(meeting.place));
    };
    add(barrier_);
    for (unsigned w = 0; w * kLanes < size_; ++w) add(warps_[w].meeting);
    return text;
  }

  Launch& launch_;
  dim3 index_;
  unsigned size_;
  std::unique_ptr<CudaThread[]> threads_;
  std::unique_ptr<Warp[]> warps_;
  Meeting barrier_;
  char barrier_order_[2] = {};
  CudaThread* current_ = nullptr;
  context::fiber scheduler_;  // the scheduler's state while a thread runs
  SanitizerFiber scheduler_sanitizer_;
  std::exception_ptr failure_;
};

Block* running = nullptr;

}  // namespace

void launch(dim3 grid, dim3 block, Order order, const std::function<void()>& body) {
  const std::uint64_t blocks = std::uint64_t(grid.x) * grid.y * grid.z;
  const std::uint64_t threads = std::uint64_t(block.x) * block.y * block.z;
  if (blocks == 0 || threads == 0 || threads > kMaxThreads)
    throw Fault(fmt::format("a launch of {} blocks of {} threads", blocks, threads));
  Launch launch{grid, block, order, body};
  std::exception_ptr failure;
  for (std::uint64_t k = 0; k < blocks && !failure; ++k) {
    const std::uint64_t b = order == Order::ascending ? k : blocks - 1 - k;
    const dim3 index(unsigned(b % grid.x), unsigned(b / grid.x % grid.y),
                     unsigned(b / grid.x / grid.y));
    std::thread([&] {
      Block of_index(launch, index);
      running = &of_index;
      of_index.run();
      running = nullptr;
      failure = of_index.failure();
    }).join();
  }
  acquire(&launch.end);
  if (failure) std::rethrow_exception(failure);
}

dim3 thread_index() { return running->thread_index(); }
dim3 block_index() { return running->index(); }
dim3 block_size() { return running->launch().block; }
dim3 grid_size() { return running->launch().grid; }

void barrier(const std::source_location& place) { running->barrier(place); }

std::uint64_t exchange(unsigned members, std::uint64_t value, unsigned lane_mask,
                       const std::source_location& place) {
  return running->exchange(members, value, lane_mask, place);
}

}  // namespace sfnn::simt

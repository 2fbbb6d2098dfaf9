#include "host/backend/team.hpp"

#include <utility>

namespace sfnn {
namespace {

// A few microseconds: a training step's shared loops follow each other closely.
constexpr int kSpins = 2000;

// Returns once `value` differs from `seen`.
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t seen) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != seen) return;
  }
  value.wait(seen, std::memory_order_acquire);
}

constexpr Team kNoHelpers{nullptr, 0, 1};

thread_local const Team* own_team = nullptr;

bool has_helpers() { return own_team && own_team->size > 1; }

}  // namespace

void Seat::begin(const Call& call, int member) {
  call_ = &call;
  member_ = member;
  state_.store(called, std::memory_order_release);
  state_.notify_one();
}

void Seat::finish() { wait_for_change(state_, called); }

void Seat::serve() {
  while (true) {
    wait_for_change(state_, idle);
    if (state_.load(std::memory_order_acquire) == dismissed) return;
    work(*call_, member_);
    state_.store(idle, std::memory_order_release);
    state_.notify_one();
  }
}

void Seat::dismiss() {
  state_.store(dismissed, std::memory_order_release);
  state_.notify_one();
}

void Seat::work(const Call& call, int member) {
  try {
    for (std::int64_t block = member; block < call.blocks; block += call.members)
      call.fn(block, *this);
  } catch (...) {
    error_ = std::current_exception();
  }
}

void Team::run(std::int64_t blocks, SeatBlock fn) const {
  const int members = int(std::min<std::int64_t>(size, blocks));
  const Seat::Call call{fn, blocks, members};
  for (int m = 1; m < members; ++m) seat(m).begin(call, m);
  if (members > 0) leader->work(call, 0);
  std::exception_ptr error;
  for (int m = 0; m < members; ++m) {
    if (m > 0) seat(m).finish();
    const std::exception_ptr own = seat(m).take_error();
    if (!error) error = own;
  }
  if (error) std::rethrow_exception(error);
}

Inside::Inside(const Team& team) : before_(std::exchange(own_team, &team)) {}

Inside::~Inside() { own_team = before_; }

bool is_inside() { return own_team; }

void share(std::int64_t blocks, FunctionRef<void(std::int64_t)> fn) {
  if (!has_helpers() || blocks <= 1) {
    for (std::int64_t block = 0; block < blocks; ++block) fn(block);
    return;
  }
  own_team->run(blocks, [&](std::int64_t block, Seat& seat) {
    const Inside inside(kNoHelpers);
    ++seat.done;
    fn(block);
  });
}

void share_range(std::int64_t size, std::int64_t work, std::int64_t unit,
                 FunctionRef<void(std::int64_t, std::int64_t)> fn) {
  if (size <= 0) return;
  if (!has_helpers()) return fn(0, size);
  const std::int64_t unit_work = unit * std::max<std::int64_t>(1, work);
  const std::int64_t range = unit * ((kShareWork + unit_work - 1) / unit_work);
  share((size + range - 1) / range,
        [&](std::int64_t block) { fn(block * range, std::min(range, size - block * range)); });
}

}  // namespace sfnn

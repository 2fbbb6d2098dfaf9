// Operations of a warp: each waits until the lanes of its mask stand at the same instruction.
#include <algorithm>
#include <bit>

#include "tests/gpusim/block.hpp"

namespace sfnn::gpusim {
namespace {

std::uint16_t mask_slot(const Instruction& i) {
  switch (i.collective) {
    case CollectiveOp::kShflBfly:
    case CollectiveOp::kShflDown:
    case CollectiveOp::kShflUp:
    case CollectiveOp::kShflIdx:
      return i.src[3];
    case CollectiveOp::kSync:
      return i.src[0];
    default:
      return i.src[1];
  }
}

bool is_shuffle(const Instruction& i) { return i.collective <= CollectiveOp::kShflIdx; }

std::uint32_t reduced(const Instruction& i, std::uint32_t a, std::uint32_t b) {
  const bool is_less = is_signed(i.type) ? std::int32_t(a) < std::int32_t(b) : a < b;
  switch (i.collective) {
    case CollectiveOp::kReduxAdd:
      return a + b;
    case CollectiveOp::kReduxMin:
      return is_less ? a : b;
    case CollectiveOp::kReduxMax:
      return is_less ? b : a;
    case CollectiveOp::kReduxAnd:
      return a & b;
    case CollectiveOp::kReduxOr:
      return a | b;
    default:
      return a ^ b;
  }
}

// f(lane) for each bit of the mask, from the lowest.
template <class F>
void for_lanes(std::uint32_t mask, F f) {
  for (; mask; mask &= mask - 1) f(unsigned(std::countr_zero(mask)));
}

}  // namespace

bool Block::release_collectives(unsigned warp) {
  const unsigned first = warp * kWarpSize, end = std::min(first + kWarpSize, size_);
  bool released = false;
  for (unsigned t = first; t < end; ++t)
    if (threads_[t].state == State::kAtCollective) released |= try_collective(t);
  return released || release_active_masks(warp);
}

// activemask: the lanes that have arrived once no other lane of the warp can come closer.
bool Block::release_active_masks(unsigned warp) {
  const unsigned first = warp * kWarpSize, end = std::min(first + kWarpSize, size_);
  const auto stands_at = [&](unsigned t, std::uint32_t pc) {
    return threads_[t].state == State::kAtCollective && threads_[t].pc == pc;
  };
  for (unsigned t = first; t < end; ++t) {
    const std::uint32_t pc = threads_[t].pc;
    if (!stands_at(t, pc) || kernel_.code[pc].collective != CollectiveOp::kActiveMask) continue;
    std::uint32_t mask = 0;
    for (unsigned u = first; u < end; ++u)
      if (stands_at(u, pc)) mask |= 1u << (u - first);
    for_lanes(mask, [&](unsigned lane) {
      row(first + lane)[kernel_.code[pc].dst[0]] = mask;
      threads_[first + lane].state = State::kReady;
      ++threads_[first + lane].pc;
    });
    return true;
  }
  return false;
}

// Lanes that have returned or never were need not come; reading a value from them is an error.
bool Block::try_collective(unsigned t) {
  const std::uint32_t pc = threads_[t].pc;
  const Instruction& i = kernel_.code[pc];
  if (i.collective == CollectiveOp::kActiveMask) return false;
  const unsigned first = t / kWarpSize * kWarpSize;
  const auto mask = get<std::uint32_t>(row(t)[mask_slot(i)]);
  if (!(mask >> (t - first) & 1))
    fail(FaultKind::kWarpMask, t, pc,
         "the mask of a warp operation leaves out the lane that executes it");
  std::uint32_t present = 0;
  bool ready = true;
  for_lanes(mask, [&](unsigned lane) {
    const unsigned u = first + lane;
    if (u >= size_ || threads_[u].state == State::kExited) return;
    present |= 1u << lane;
    ready = ready && threads_[u].state == State::kAtCollective && threads_[u].pc == pc;
  });
  if (!ready) return false;
  for_lanes(present, [&](unsigned lane) {
    if (get<std::uint32_t>(row(first + lane)[mask_slot(i)]) != mask)
      fail(FaultKind::kWarpMask, first + lane, pc,
           "lanes meet in a warp operation with different masks");
  });
  perform(i, first, mask, present);
  for_lanes(present, [&](unsigned lane) {
    threads_[first + lane].state = State::kReady;
    ++threads_[first + lane].pc;
  });
  return true;
}

void Block::perform(const Instruction& i, unsigned first, std::uint32_t mask,
                    std::uint32_t present) {
  const auto pc = std::uint32_t(&i - kernel_.code.data());
  if (i.collective == CollectiveOp::kSync) {
    ++warp_epoch_[first / kWarpSize];
    return;
  }
  std::array<Slot, kWarpSize> value{};
  std::uint32_t votes = 0, reduction = 0;
  bool is_first = true;
  for_lanes(present, [&](unsigned lane) {
    value[lane] = row(first + lane)[i.src[0]];
    if (value[lane]) votes |= 1u << lane;
    const auto word = get<std::uint32_t>(value[lane]);
    reduction = is_first ? word : reduced(i, reduction, word);
    is_first = false;
  });
  if (bytes_of(i.type) == 4)
    for (Slot& v : value) v = get<std::uint32_t>(v);
  for_lanes(present, [&](unsigned lane) {
    Slot* r = row(first + lane);
    if (is_shuffle(i)) {
      bool in_range = true;
      const unsigned source = shuffle_source(i, r, lane, in_range);
      if (!(present >> source & 1))
        fail(FaultKind::kWarpMask, first + lane, pc,
             "shuffle reads lane " + std::to_string(source) +
                 (mask >> source & 1 ? ", which is not there" : ", which the mask leaves out"));
      r[i.dst[0]] = value[source];
      r[i.dst[1]] = in_range;
      return;
    }
    std::uint32_t equal = 0;
    for_lanes(present, [&](unsigned other) {
      if (value[other] == value[lane]) equal |= 1u << other;
    });
    switch (i.collective) {
      case CollectiveOp::kBallot:
        r[i.dst[0]] = votes;
        break;
      case CollectiveOp::kAny:
        r[i.dst[0]] = votes != 0;
        break;
      case CollectiveOp::kAll:
        r[i.dst[0]] = votes == present;
        break;
      case CollectiveOp::kUni:
        r[i.dst[0]] = votes == present || votes == 0;
        break;
      case CollectiveOp::kMatchAny:
        r[i.dst[0]] = equal;
        break;
      case CollectiveOp::kMatchAll:
        r[i.dst[0]] = equal == present ? mask : 0;
        r[i.dst[1]] = equal == present;
        break;
      default:
        r[i.dst[0]] = reduction;
    }
  });
}

// PTX manual, shfl.sync: c packs the clamp (bits 0-4) and the segment mask (bits 8-12).
unsigned Block::shuffle_source(const Instruction& i, const Slot* r, unsigned lane,
                               bool& in_range) const {
  const int b = int(get<std::uint32_t>(r[i.src[1]]) & 31), c = int(get<std::uint32_t>(r[i.src[2]]));
  const int clamp = c & 31, segment = c >> 8 & 31, self = int(lane);
  const int highest = (self & segment) | (clamp & ~segment), lowest = self & segment;
  int source = self;
  switch (i.collective) {
    case CollectiveOp::kShflUp:
      source = self - b;
      break;
    case CollectiveOp::kShflDown:
      source = self + b;
      break;
    case CollectiveOp::kShflBfly:
      source = self ^ b;
      break;
    default:
      source = lowest | (b & ~segment);
  }
  in_range = i.collective == CollectiveOp::kShflUp ? source >= highest : source <= highest;
  return unsigned(in_range ? source : self);
}

}  // namespace sfnn::gpusim

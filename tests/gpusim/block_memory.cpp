// Loads, stores and atomics of a thread, and what is checked at each.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/gpusim/block.hpp"

namespace sfnn::gpusim {
namespace {

Slot widened(const std::uint8_t* p, Type type) {
  switch (type) {
    case Type::kS8:
      return Slot(std::int64_t(*reinterpret_cast<const std::int8_t*>(p)));
    case Type::kS16: {
      std::int16_t v;
      std::memcpy(&v, p, sizeof v);
      return Slot(std::int64_t(v));
    }
    default: {
      Slot v = 0;
      std::memcpy(&v, p, std::size_t(bytes_of(type)));
      return v;
    }
  }
}

template <class T>
T updated(AtomicOp op, T old, T b, T c) {
  switch (op) {
    case AtomicOp::kMin:
      return std::min(old, b);
    case AtomicOp::kMax:
      return std::max(old, b);
    case AtomicOp::kExch:
      return b;
    case AtomicOp::kCas:
      return old == b ? c : old;
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    switch (op) {
      case AtomicOp::kAnd:
        return old & b;
      case AtomicOp::kOr:
        return old | b;
      case AtomicOp::kXor:
        return old ^ b;
      case AtomicOp::kInc:
        return old >= b ? T(0) : T(old + 1);
      case AtomicOp::kDec:
        return old == 0 || old > b ? b : T(old - 1);
      default:
        return T(U(old) + U(b));
    }
  } else {
    return old + b;
  }
}

// Reads, computes, writes; returns what was there.
template <class T>
Slot read_modify_write(AtomicOp op, std::uint8_t* p, Slot b, Slot c) {
  T old;
  std::memcpy(&old, p, sizeof old);
  const T value = updated<T>(op, old, get<T>(b), get<T>(c));
  std::memcpy(p, &value, sizeof value);
  Slot result;
  put(result, old);
  return result;
}

std::uint32_t pc_of(const Kernel& kernel, const Instruction& i) {
  return std::uint32_t(&i - kernel.code.data());
}

}  // namespace

void Block::load(const Instruction& i, Slot* r, unsigned t) {
  const std::uint8_t* p = access(i, r, t, /*reads=*/true, /*writes=*/false);
  for (unsigned n = 0; n < i.count; ++n) r[i.dst[n]] = widened(p + n * i.bytes, i.type);
}

void Block::store(const Instruction& i, Slot* r, unsigned t) {
  std::uint8_t* p = access(i, r, t, /*reads=*/false, /*writes=*/true);
  for (unsigned n = 0; n < i.count; ++n) std::memcpy(p + n * i.bytes, &r[i.src[n]], i.bytes);
}

void Block::atomic(const Instruction& i, Slot* r, unsigned t) {
  std::uint8_t* p = access(i, r, t, /*reads=*/true, /*writes=*/true);
  const Slot b = r[i.src[0]], c = r[i.src[1]];
  if (fenced_[t]) launch_.released[std::uint64_t(p)].push_back(index_);
  if (!launch_.released.empty()) order_after_released_blocks(std::uint64_t(p));
  r[i.dst[0]] =
      is_float(i.type)
          ? visit_float(i.type,
                        [&](auto v) { return read_modify_write<decltype(v)>(i.atomic, p, b, c); })
          : visit_integer(
                i.type, [&](auto v) { return read_modify_write<decltype(v)>(i.atomic, p, b, c); });
}

void Block::fence(unsigned t) { fenced_[t] = true; }

// The block that sees another's atomic after a fence may read what that block wrote.
void Block::order_after_released_blocks(std::uint64_t address) {
  const auto it = launch_.released.find(address);
  if (it == launch_.released.end()) return;
  for (const std::uint32_t block : it->second) {
    if (block >= after_blocks_.size()) after_blocks_.resize(block + 1);
    after_blocks_[block] = true;
  }
}

std::uint8_t* Block::access(const Instruction& i, const Slot* r, unsigned t, bool reads,
                            bool writes) {
  std::uint64_t address = r[i.base] + std::uint64_t(i.offset);
  const std::size_t bytes = std::size_t(i.bytes) * i.count;
  if (address & (bytes - 1))
    fail(FaultKind::kMisaligned, t, pc_of(kernel_, i),
         fmt::format("misaligned access of {} bytes", bytes));
  Space space = i.space;
  if (space == Space::kGeneric) {
    const std::uint64_t window = address & kWindowMask;
    space = window == kSharedWindow  ? Space::kShared
            : window == kLocalWindow ? Space::kLocal
            : window == kParamWindow ? Space::kParam
                                     : Space::kGlobal;
    if (space != Space::kGlobal) address &= ~kWindowMask;
  }
  const auto inside = [&](std::size_t size) {
    if (address + bytes > size || address > size)
      fail(FaultKind::kOutOfBounds, t, pc_of(kernel_, i),
           "out of bounds of local or parameter memory");
  };
  switch (space) {
    case Space::kShared:
      return shared_access(i, std::uint32_t(address), t, reads, writes);
    case Space::kLocal:
      inside(kernel_.local_bytes);
      return &local_[t * kernel_.local_bytes + address];
    case Space::kParam:
      inside(launch_.params.size());
      return &launch_.params[address];
    default:
      return global_access(i, address, t, reads, writes);
  }
}

Access Block::access_record(const Instruction& i, unsigned t, bool writes) const {
  Access x;
  x.block = index_;
  x.pc = pc_of(kernel_, i);
  x.epoch = epoch_;
  x.warp_epoch = warp_epoch_[t / kWarpSize];
  x.thread = std::uint16_t(t);
  x.exists = true;
  x.writes = writes;
  x.atomic = i.synchronises;
  return x;
}

void Block::check_race(const Instruction& i, const Access* rival, unsigned t, bool writes,
                       const char* where) {
  if (!rival) return;
  const Dim3 p = position(rival->thread);
  const std::string block = rival->block == index_ ? "" : fmt::format(" of block {}", rival->block);
  fail(FaultKind::kRace, t, pc_of(kernel_, i),
       fmt::format("data race in {} memory: this {} against the {} of thread ({},{},{}){} at {}",
                   where, writes ? "write" : "read", rival->writes ? "write" : "read", p[0], p[1],
                   p[2], block, place(rival->pc)));
}

std::uint8_t* Block::shared_access(const Instruction& i, std::uint64_t offset, unsigned t,
                                   bool reads, bool writes) {
  const std::size_t bytes = std::size_t(i.bytes) * i.count;
  const std::uint32_t pc = pc_of(kernel_, i);
  if (offset + bytes > shared_bytes_)
    fail(FaultKind::kOutOfBounds, t, pc,
         fmt::format("shared memory out of bounds: byte {} of {}", offset, shared_bytes_));
  if (reads && !shared_valid_.aligned_all(offset, bytes))
    fail(FaultKind::kUninitialised, t, pc, "read of uninitialised shared memory");
  check_race(
      i, shared_races_.note(index_ + 1, offset, bytes, access_record(i, t, writes), after_blocks_),
      t, writes, "shared");
  if (writes) shared_valid_.aligned_set(offset, bytes);
  return reinterpret_cast<std::uint8_t*>(shared_.data()) + offset;
}

std::uint8_t* Block::global_access(const Instruction& i, std::uint64_t address, unsigned t,
                                   bool reads, bool writes) {
  const std::size_t bytes = std::size_t(i.bytes) * i.count;
  const std::uint32_t pc = pc_of(kernel_, i);
  Allocation*& a = recent_[pc];
  if (!a || !a->contains(address, bytes)) {
    a = launch_.memory.find(address, bytes);
    if (!a) {
      std::string what = "global memory out of bounds";
      if (const Allocation* near = launch_.memory.nearest(address))
        what += fmt::format(": byte {} of the nearest allocation, which has {}",
                            std::int64_t(address - near->base), near->bytes);
      fail(FaultKind::kOutOfBounds, t, pc, what);
    }
    if (std::find(launch_.touched.begin(), launch_.touched.end(), a) == launch_.touched.end())
      launch_.touched.push_back(a);
  }
  const std::size_t offset = address - a->base;
  if (a->tracks_validity()) {
    if (reads && !a->valid.aligned_all(offset, bytes))
      fail(FaultKind::kUninitialised, t, pc,
           fmt::format("read of uninitialised global memory, byte {} of {}", offset, a->bytes));
    if (writes) a->valid.aligned_set(offset, bytes);
  }
  check_race(
      i,
      a->races.note(launch_.generation, offset, bytes, access_record(i, t, writes), after_blocks_),
      t, writes, "global");
  if (reads) {
    launch_.load_bytes += bytes;
    a->loads.touch(a->bytes, offset, bytes, launch_.generation, index_);
  }
  if (writes) {
    launch_.store_bytes += bytes;
    a->stores.touch(a->bytes, offset, bytes, launch_.generation, index_);
  }
  return reinterpret_cast<std::uint8_t*>(address);
}

}  // namespace sfnn::gpusim

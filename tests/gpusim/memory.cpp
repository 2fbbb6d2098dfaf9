#include "tests/gpusim/memory.hpp"

#include <algorithm>
#include <cstdint>

namespace sfnn::gpusim {
namespace {

// Room around each allocation, so that a small overrun never lands in a neighbour.
constexpr std::size_t kGuardBytes = 4096, kAlignment = 256;

std::uint64_t distance(const Allocation& a, std::uint64_t address) {
  return address < a.base ? a.base - address : address - (a.base + a.bytes);
}

}  // namespace

std::size_t ValidBits::first_invalid(std::size_t offset, std::size_t bytes) const {
  const std::size_t end = offset + bytes;
  for (std::size_t n = offset; n < end;) {
    if (n % 8 == 0 && n + 8 <= end && bits_[n / 8] == 0xff)
      n += 8;
    else if (get(n))
      ++n;
    else
      return n;
  }
  return end;
}

void ValidBits::set(std::size_t offset, std::size_t bytes, bool valid) {
  const std::size_t end = offset + bytes;
  for (std::size_t n = offset; n < end;) {
    if (n % 8 == 0 && n + 8 <= end) {
      const std::size_t whole = (end - n) / 8;
      std::fill_n(bits_.begin() + long(n / 8), whole, std::uint8_t(valid ? 0xff : 0));
      n += 8 * whole;
    } else {
      const auto bit = std::uint8_t(1u << (n & 7));
      valid ? bits_[n / 8] |= bit : bits_[n / 8] &= std::uint8_t(~bit);
      ++n;
    }
  }
}

void ValidBits::copy(std::size_t offset, const ValidBits& from, std::size_t from_offset,
                     std::size_t bytes) {
  if (from.first_invalid(from_offset, bytes) == from_offset + bytes) return set(offset, bytes);
  for (std::size_t n = 0; n < bytes; ++n) set(offset + n, 1, from.get(from_offset + n));
}

void SectorCounter::touch(std::size_t allocation_bytes, std::size_t offset, std::size_t bytes,
                          std::uint32_t launch, std::uint32_t block) {
  if (stamps_.empty()) stamps_.resize(allocation_bytes / kSectorBytes + 1);
  for (std::size_t s = offset / kSectorBytes; s <= (offset + bytes - 1) / kSectorBytes; ++s) {
    Stamp& stamp = stamps_[s];
    if (stamp.launch != launch) {
      stamp.launch = launch;
      ++counted_.by_launch;
    } else if (stamp.block == block) {
      continue;
    }
    stamp.block = block;
    ++counted_.by_block;
  }
}

Sectors SectorCounter::take() {
  const Sectors result = counted_;
  counted_ = {};
  return result;
}

Allocation& Memory::insert(std::uint64_t base, std::size_t bytes, MemoryKind kind) {
  auto& slot = table_[base];
  slot = std::make_unique<Allocation>();
  slot->base = base;
  slot->bytes = bytes;
  slot->kind = kind;
  slot->races = RaceShadow(bytes);
  if (slot->tracks_validity()) slot->valid.resize(bytes);
  return *slot;
}

void* Memory::allocate(std::size_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::kDevice) {
    if (bytes > total_ - used_) return nullptr;
    used_ += bytes;
  }
  auto storage =
      std::make_unique_for_overwrite<std::uint8_t[]>(bytes + 2 * kGuardBytes + kAlignment);
  const std::uint64_t start = std::uint64_t(storage.get()) + kGuardBytes;
  const std::uint64_t base = (start + kAlignment - 1) / kAlignment * kAlignment;
  insert(base, bytes, kind).storage = std::move(storage);
  return reinterpret_cast<void*>(base);
}

void Memory::adopt(void* data, std::size_t bytes) {
  insert(std::uint64_t(data), bytes, MemoryKind::kModule);
}

bool Memory::free(void* pointer, MemoryKind kind) {
  const auto it = table_.find(std::uint64_t(pointer));
  if (it == table_.end() || it->second->kind != kind) return false;
  if (kind == MemoryKind::kDevice) used_ -= it->second->bytes;
  table_.erase(it);
  return true;
}

Allocation* Memory::find(std::uint64_t address, std::size_t bytes) {
  auto it = table_.upper_bound(address);
  if (it == table_.begin()) return nullptr;
  Allocation& a = *std::prev(it)->second;
  return a.contains(address, bytes) ? &a : nullptr;
}

const Allocation* Memory::nearest(std::uint64_t address) const {
  const auto above = table_.upper_bound(address);
  const Allocation* result = above == table_.end() ? nullptr : above->second.get();
  if (above == table_.begin()) return result;
  const Allocation* below = std::prev(above)->second.get();
  return !result || distance(*below, address) <= distance(*result, address) ? below : result;
}

void Memory::mark_valid(const void* pointer, std::size_t bytes) {
  Allocation* a = find(std::uint64_t(pointer), bytes);
  if (a && a->tracks_validity()) a->valid.set(std::uint64_t(pointer) - a->base, bytes);
}

}  // namespace sfnn::gpusim

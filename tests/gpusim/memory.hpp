// Device memory: host memory that the simulator keeps a table of. Each allocation knows which of
// its bytes hold a value, who touched them last, and how many of its 32-byte sectors a launch
// moves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tests/gpusim/race.hpp"

namespace sfnn::gpusim {

// One bit a byte: has it been written?
class ValidBits {
 public:
  void resize(std::size_t bytes) { bits_.assign(bytes / 8 + 2, 0); }
  void clear() { std::fill(bits_.begin(), bits_.end(), std::uint8_t(0)); }

  // 1, 2, 4, 8 or 16 bytes at a multiple of their number.
  bool aligned_all(std::size_t offset, std::size_t bytes) const {
    if (bytes == 16) return bits_[offset >> 3] == 0xff && bits_[(offset >> 3) + 1] == 0xff;
    const unsigned mask = ((1u << bytes) - 1) << (offset & 7);
    return (bits_[offset >> 3] & mask) == mask;
  }
  void aligned_set(std::size_t offset, std::size_t bytes) {
    if (bytes == 16)
      bits_[offset >> 3] = bits_[(offset >> 3) + 1] = 0xff;
    else
      bits_[offset >> 3] |= std::uint8_t(((1u << bytes) - 1) << (offset & 7));
  }

  // Any range; first_invalid returns `offset + bytes` if all is well.
  std::size_t first_invalid(std::size_t offset, std::size_t bytes) const;
  void set(std::size_t offset, std::size_t bytes, bool valid = true);
  void copy(std::size_t offset, const ValidBits& from, std::size_t from_offset, std::size_t bytes);

 private:
  bool get(std::size_t n) const { return bits_[n >> 3] >> (n & 7) & 1; }
  std::vector<std::uint8_t> bits_;
};

// Distinct 32-byte sectors: summed over blocks, and of the launch as a whole.
struct Sectors {
  std::uint64_t by_block = 0, by_launch = 0;
};

class SectorCounter {
 public:
  static constexpr std::size_t kSectorBytes = 32;

  void touch(std::size_t allocation_bytes, std::size_t offset, std::size_t bytes,
             std::uint32_t launch, std::uint32_t block);
  Sectors take();  // what was counted since the last call

 private:
  struct Stamp {
    std::uint32_t launch = 0, block = 0;
  };
  std::vector<Stamp> stamps_;
  Sectors counted_;
};

enum class MemoryKind : std::uint8_t {
  kDevice,
  kPinned,  // host memory a kernel may reach; the host writes it unseen, so all of it counts as
            // valid
  kModule,  // .global and .const arrays
};

struct Allocation {
  std::uint64_t base = 0;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  ValidBits valid;
  RaceShadow races;
  SectorCounter loads, stores;
  std::unique_ptr<std::uint8_t[]> storage;  // empty for module arrays

  bool contains(std::uint64_t address, std::size_t size) const {
    return address >= base && address - base <= bytes && size <= bytes - (address - base);
  }
  bool tracks_validity() const { return kind == MemoryKind::kDevice; }
};

class Memory {
 public:
  // Null if the device is full.
  void* allocate(std::size_t bytes, MemoryKind kind);
  void adopt(void* data, std::size_t bytes);  // a module's array
  bool free(void* pointer, MemoryKind kind);

  Allocation* find(std::uint64_t address, std::size_t bytes);
  // The allocation that ends or begins nearest to an address, for messages.
  const Allocation* nearest(std::uint64_t address) const;

  // Called after cudaMemset, cudaMemcpy and anything else that writes device memory from outside.
  void mark_valid(const void* pointer, std::size_t bytes);

  std::size_t total() const { return total_; }
  std::size_t used() const { return used_; }
  void set_total(std::size_t bytes) { total_ = bytes; }

 private:
  Allocation& insert(std::uint64_t base, std::size_t bytes, MemoryKind kind);

  std::map<std::uint64_t, std::unique_ptr<Allocation>> table_;
  std::size_t total_ = std::size_t(8) << 30, used_ = 0;
};

}  // namespace sfnn::gpusim

// Who touched a piece of memory last, in order to tell whether the next access races with it.
//
// Two accesses of one launch race if they meet in a byte, at least one writes, not both are atomic,
// and nothing orders them. A barrier orders the threads of a block, __syncwarp those of a warp, and
// nothing orders two blocks but a fence followed by an atomic that the other block reads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace sfnn::gpusim {

struct Access {
  std::uint32_t block = 0, pc = 0;
  std::uint32_t epoch = 0;       // barriers the block has passed
  std::uint16_t warp_epoch = 0;  // __syncwarps the warp has passed
  std::uint16_t thread = 0;
  bool exists = false, writes = false, atomic = false;
};

class RaceShadow {
 public:
  RaceShadow() = default;
  explicit RaceShadow(std::size_t bytes) : bytes_(bytes) {}

  // Notes the access; returns an earlier one that it races with, or null. A new generation (launch,
  // or block for shared memory) forgets what came before. after_blocks: blocks whose work is known
  // to be done.
  const Access* note(std::uint32_t generation, std::size_t offset, std::size_t bytes,
                     const Access& x, const std::vector<bool>& after_blocks) {
    if (bytes < unit_) refine(bytes < 4 ? bytes : 4);
    const Access* rival = nullptr;
    for (std::size_t u = offset / unit_; u < (offset + bytes + unit_ - 1) / unit_; ++u)
      if (const Access* found = note_unit(cell(u), generation, x, after_blocks)) rival = found;
    return rival;
  }

 private:
  // Two readers of the present block are enough: whoever writes differs from one of them.
  struct Cell {
    std::uint32_t generation = 0;
    Access writer, reader, other_reader;
    Access earlier_block;  // a read or an atomic of a block that came before
  };

  // Cells come into being a page at a time: most of a large buffer is never touched.
  static constexpr std::size_t kPageCells = 512;
  using Page = std::unique_ptr<Cell[]>;

  Cell& cell(std::size_t unit) {
    Page& page = pages_[unit / kPageCells];
    if (!page) page = std::make_unique<Cell[]>(kPageCells);
    return page[unit % kPageCells];
  }

  const Access* note_unit(Cell& cell, std::uint32_t generation, const Access& x,
                          const std::vector<bool>& after_blocks);
  void refine(std::size_t unit);

  std::size_t bytes_ = 0;
  std::size_t unit_ = 64;  // bytes a cell stands for: the smallest access so far, at most 4
  std::vector<Page> pages_;
};

}  // namespace sfnn::gpusim

#include "tests/gpusim/race.hpp"

namespace sfnn::gpusim {
namespace {

bool races(const Access& before, const Access& x, const std::vector<bool>& after_blocks) {
  if (!before.exists || (!before.writes && !x.writes) || (before.atomic && x.atomic)) return false;
  if (before.block != x.block)
    return !(before.block < after_blocks.size() && after_blocks[before.block]);
  if (before.thread == x.thread || before.epoch != x.epoch) return false;
  const bool same_warp = before.thread / 32 == x.thread / 32;
  return !(same_warp && before.warp_epoch != x.warp_epoch);
}

}  // namespace

const Access* RaceShadow::note_unit(Cell& cell, std::uint32_t generation, const Access& x,
                                    const std::vector<bool>& after_blocks) {
  if (cell.generation != generation) {
    cell = Cell();
    cell.generation = generation;
  }
  for (const Access* before : {&cell.writer, &cell.reader, &cell.other_reader, &cell.earlier_block})
    if (races(*before, x, after_blocks)) return before;
  Access& last = x.writes ? cell.writer : cell.reader;
  if (last.exists && last.block != x.block)
    cell.earlier_block = last;
  else if (!x.writes && last.exists && last.thread != x.thread)
    cell.other_reader = last;
  last = x;
  return nullptr;
}

void RaceShadow::refine(std::size_t unit) {
  const std::vector<Page> coarse = std::move(pages_);
  const std::size_t ratio = unit_ / unit;
  pages_ = std::vector<Page>(bytes_ / unit / kPageCells + 1);
  unit_ = unit;
  for (std::size_t n = 0; n < coarse.size() * kPageCells; ++n)
    if (const Page& page = coarse[n / kPageCells])
      for (std::size_t part = 0; part < ratio && (n * ratio + part) * unit < bytes_; ++part)
        cell(n * ratio + part) = page[n % kPageCells];
}

}  // namespace sfnn::gpusim

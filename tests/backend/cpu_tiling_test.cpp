// How the CPU backend cuts a step up: by shapes alone, in tiles that memory and threads agree with.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "host/backend/cpu/cpu_backend.hpp"

namespace sfnn {
namespace {

TEST(CpuTiling, IsAMatterOfShapesAlone) {
  const CpuBackend one(1), seven(7);
  for (std::int64_t batch : {1, 5, 7, 100, 1000}) {
    for (std::int64_t M : {1, 20, 1000}) {
      const StepShape shape{.batch = batch, .M = M, .row_floats = 1584, .parameters = 200'000};
      const Tiling tiling = one.choose_tiling(shape);
      EXPECT_EQ(tiling.tile, seven.choose_tiling(shape).tile);
      EXPECT_EQ(tiling.parts, seven.choose_tiling(shape).parts);
      EXPECT_GE(tiling.tile, 1);
      EXPECT_LE(tiling.tile, batch);
      EXPECT_GE(tiling.parts, 8);  // so many ranks can share any step
    }
  }
}

// Memory stays flat against particles: a tile has some hundred rows, or one example.
TEST(CpuTiling, MoreParticlesMakeNoLargerTiles) {
  const CpuBackend cpu(1);
  for (std::int64_t M = 1; M <= 1000; ++M) {
    const Tiling tiling =
        cpu.choose_tiling({.batch = 100, .M = M, .row_floats = 1584, .parameters = 200'000});
    EXPECT_LE(tiling.tile * M, std::max<std::int64_t>(1000, M)) << "M = " << M;
  }
}

TEST(CpuTiling, ALargeNetworkHasLongerTiles) {
  const CpuBackend cpu(1);
  const auto rows = [&](std::int64_t parameters) {
    return 50 *
           cpu.choose_tiling({.batch = 200, .M = 50, .row_floats = 7700, .parameters = parameters})
               .tile;
  };
  EXPECT_LT(rows(200'000), 800);
  EXPECT_GT(rows(4'000'000), 900);
}

// Every part that has tiles costs two passes over the parameters.
TEST(CpuTiling, ALargeNetworkOnFewRowsHasFewParts) {
  const CpuBackend cpu(1);
  const Tiling tiling =
      cpu.choose_tiling({.batch = 100, .M = 20, .row_floats = 10'000, .parameters = 50'000'000});
  EXPECT_EQ(tiling.tile, 100);
}

// Ten tiles of good size in five parts would leave one of two threads idle for a sixth of the step.
TEST(CpuTiling, ThreadsEndTogether) {
  const CpuBackend cpu(1);
  for (std::int64_t parameters : {1'000'000, 3'700'000, 8'000'000}) {
    const Tiling tiling =
        cpu.choose_tiling({.batch = 1600, .M = 3, .row_floats = 7700, .parameters = parameters});
    const std::int64_t tiles = (1600 + tiling.tile - 1) / tiling.tile;
    EXPECT_GT(tiles, 1);
    EXPECT_TRUE(tiles % tiling.parts == 0 || std::has_single_bit(std::uint64_t(tiles))) << tiles;
  }
}

}  // namespace
}  // namespace sfnn

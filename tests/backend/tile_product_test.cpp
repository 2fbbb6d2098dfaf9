// Products in tile registers against sums in double: packing, loops and arithmetic in emulated
// registers everywhere, the machine's own registers against the emulation.
#include "host/backend/cpu/tile_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "host/backend/cpu/amx.hpp"
#include "host/backend/cpu/cpu_backend.hpp"
#include "host/backend/cpu/packed_bits.hpp"
#include "host/backend/plain/plain_backend.hpp"
#include "tests/support/emulated_tiles.hpp"
#include "tests/support/random.hpp"
#include "tests/support/targets.hpp"

namespace sfnn {
namespace {

using Floats = std::vector<float>;

constexpr TileKernel kEmulated = tile_kernel<EmulatedTiles>;

// Random bits, packed; padding is zero.
class PackedBits {
 public:
  PackedBits(std::int64_t rows, std::int64_t cols, std::uint64_t seed)
      : words_(std::size_t(rows * words_per_row(cols))), rows_(rows), cols_(cols) {
    Random random(seed);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < cols; ++i)
        row_words(bits(), r)[i / 64] |= std::uint64_t(random.integer(0, 1)) << (i % 64);
  }
  bool at(std::int64_t r, std::int64_t i) const { return bit_at(row_words(view(), r), i); }
  ConstBits view() const {
    return {reinterpret_cast<const std::byte*>(words_.data()), rows_, cols_};
  }

 private:
  Bits bits() { return {reinterpret_cast<std::byte*>(words_.data()), rows_, cols_}; }
  std::vector<std::uint64_t> words_;
  std::int64_t rows_, cols_;
};

double largest(const Floats& W, std::int64_t K, std::int64_t H, std::int64_t h) {
  double max = 0;
  for (std::int64_t k = 0; k < K; ++k) max = std::max(max, std::abs(double(W[k * H + h])));
  return max;
}

// The bound of tile_product.hpp. `has(r, k)`: is bit k of row r set?
void expect_within_bound(const Floats& actual, const Floats& start, const Floats& W,
                         std::int64_t rows, std::int64_t K, std::int64_t H, const auto& has) {
  for (std::int64_t h = 0; h < H; ++h) {
    const double w = largest(W, K, H, h);
    for (std::int64_t r = 0; r < rows; ++r) {
      double sum = start[r * H + h];
      int ones = 0;
      for (std::int64_t k = 0; k < K; ++k) {
        if (!has(r, k)) continue;
        sum += W[k * H + h];
        ++ones;
      }
      const double bound = 1.01 * ones * std::ldexp(w, -23) + std::ldexp(std::abs(sum), -23);
      ASSERT_LE(std::abs(actual[r * H + h] - sum), bound) << "row " << r << " column " << h;
    }
  }
}

class TileProduct : public InstructionSetTest {};

TEST_P(TileProduct, IsWithinTheBound) {
  for (std::int64_t rows : {1, 16, 33, 250, 1100}) {
    for (std::int64_t K : {1, 63, 64, 200}) {
      for (std::int64_t H : {1, 10, 16, 31, 49}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << K << " x " << H);
        const PackedBits z(rows, K, std::uint64_t(rows + K));
        const Floats W = normals(K * H, 1), zeros(std::size_t(rows * H)),
                     some = normals(rows * H, 2);
        for (Write write : {Write::set, Write::add}) {
          Floats out = some;
          tile_product(kEmulated, z.view(), {W.data(), K, H}, {out.data(), rows, H}, write);
          expect_within_bound(out, write == Write::add ? some : zeros, W, rows, K, H,
                              [&](std::int64_t r, std::int64_t k) { return z.at(r, k); });
        }
      }
    }
  }
}

// More inputs than one slab has, and more rows than a piece.
TEST_P(TileProduct, ManyInputsAreAddedSlabBySlab) {
  const std::int64_t rows = 1030, K = 8192 + 70, H = 3;
  const PackedBits z(rows, K, 1);
  const Floats W = normals(K * H, 2), start(std::size_t(rows * H));
  Floats out(std::size_t(rows * H), 5);
  tile_product(kEmulated, z.view(), {W.data(), K, H}, {out.data(), rows, H}, Write::set);
  expect_within_bound(out, start, W, rows, K, H,
                      [&](std::int64_t r, std::int64_t k) { return z.at(r, k); });
}

TEST_P(TileProduct, OfSelectedRowsTransposed) {
  for (std::int64_t rows : {1, 64, 130, 500}) {
    for (std::int64_t K : {1, 24, 65, 200}) {
      for (bool all : {true, false}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << K << " all " << all);
        const std::int64_t H = 33;
        const PackedBits z(rows, K, std::uint64_t(rows + K));
        std::vector<std::int32_t> index;
        for (std::int64_t r = 0; r < rows; ++r)
          if (all || r % 3 == 1) index.push_back(std::int32_t(r));
        const auto count = std::int64_t(index.size());
        const RowSet set = all ? RowSet{nullptr, rows} : RowSet{index.data(), count};
        const Floats g = normals(count * H, 1), start = normals(K * H, 2);
        Floats gW = start;
        tile_outer_product(kEmulated, z.view(), set, {g.data(), count, H}, {gW.data(), K, H});
        expect_within_bound(gW, start, g, K, count, H,
                            [&](std::int64_t i, std::int64_t r) { return z.at(index[r], i); });
      }
    }
  }
}

// Elements of a column some 2^20 apart, as the responsibilities of particles make them.
TEST_P(TileProduct, UnevenColumnsAreWithinTheBound) {
  const std::int64_t rows = 300, K = 90, H = 20;
  const PackedBits z(rows, K, 1);
  Floats g = normals(rows * H, 2);
  for (std::int64_t e = 0; e < rows * H; ++e) g[e] = std::ldexp(g[e], -int(e / H % 21));
  const Floats start(std::size_t(K * H));
  Floats gW = start;
  tile_outer_product(kEmulated, z.view(), {nullptr, rows}, {g.data(), rows, H}, {gW.data(), K, H});
  expect_within_bound(gW, start, g, K, rows, H,
                      [&](std::int64_t i, std::int64_t r) { return z.at(r, i); });
}

TEST_P(TileProduct, ColumnsOfAnyMagnitude) {
  const std::int64_t rows = 40, K = 70;
  const std::vector<float> scales{0,        1e-45f,  1e-38f, 1.17549435e-38f, 1e-30f, 1.9921f,
                                  1.99219f, 1.9999f, 2.0f,   1e30f,           1e36f};
  const auto H = std::int64_t(scales.size());
  const PackedBits z(rows, K, 1);
  Random random(2);
  Floats W(std::size_t(K * H));
  for (std::int64_t e = 0; e < K * H; ++e)
    W[e] = e < H ? scales[e] : float(scales[e % H] * random.uniform(-1, 1));
  const Floats start(std::size_t(rows * H));
  Floats out = start;
  tile_product(kEmulated, z.view(), {W.data(), K, H}, {out.data(), rows, H}, Write::set);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t h = 0; h < H; ++h) {
      double sum = 0;
      for (std::int64_t k = 0; k < K; ++k) sum += z.at(r, k) ? double(W[k * H + h]) : 0;
      // A scale of 2^-126 at least: half of it per input.
      const double bound =
          K * (1.01 * std::ldexp(scales[h], -23) + 0x1p-127) + std::abs(sum) * 0x1p-23;
      ASSERT_LE(std::abs(out[r * H + h] - sum), bound) << "row " << r << ", scale " << scales[h];
    }
  }
}

TEST_P(TileProduct, AColumnThatIsNotFiniteGivesNaN) {
  const std::int64_t rows = 40, K = 70, H = 3;
  const PackedBits z(rows, K, 1);
  Floats W = normals(K * H, 2), out(std::size_t(rows * H));
  W[5 * H] = INFINITY;
  W[6 * H + 2] = NAN;
  tile_product(kEmulated, z.view(), {W.data(), K, H}, {out.data(), rows, H}, Write::set);
  for (std::int64_t r = 0; r < rows; ++r) {
    EXPECT_TRUE(std::isnan(out[r * H]));
    EXPECT_TRUE(std::isfinite(out[r * H + 1]));
    EXPECT_TRUE(std::isnan(out[r * H + 2]));
  }
}

SFNN_INSTANTIATE_FOR_INSTRUCTION_SETS(TileProduct);

// Through the backend, which chooses by shape, with a team of any size.
TEST(TileBackend, AnyNumberOfThreadsGivesTheSameBits) {
  const std::int64_t rows = 300, K = 200, H = 300;
  const Floats W = normals(K * H, 1);
  const auto bits = [&] {
    std::vector<std::uint8_t> values;
    Random random(3);
    for (std::int64_t e = 0; e < rows * K; ++e) values.push_back(random.integer(0, 1));
    return values;
  }();
  const auto results = [&](Backend& backend) {
    Buffer buffer(backend, backend.bits_bytes(rows, K));
    const Bits z{buffer.data(), rows, K};
    backend.upload_bits(bits, z);
    Floats out(std::size_t(rows * H)), gW(std::size_t(K * H));
    backend.for_each(1, [&](std::int64_t, int) {
      backend.multiply({z, {W.data(), K, H}, {out.data(), rows, H}});
      backend.accumulate_outer({z, {nullptr, rows}, {out.data(), rows, H}, {gW.data(), K, H}});
    });
    out.insert(out.end(), gW.begin(), gW.end());
    return out;
  };
  CpuBackend one(1, kEmulated), three(3, kEmulated), lookup(1, nullptr);
  PlainBackend plain(1);
  EXPECT_NE(one.product_method(true, rows), lookup.product_method(true, rows));
  const Floats expected = results(one), others[] = {results(lookup), results(plain)};
  EXPECT_EQ(results(three), expected);
  EXPECT_NE(others[0], expected) << "the backend did not use the tiles";
  // Sums of some 150 numbers of about 10: a rounding of each is about 1e-6.
  for (const Floats& other : others)
    for (std::size_t e = 0; e < expected.size(); ++e)
      ASSERT_NEAR(expected[e], other[e], 2e-3 + 1e-6 * std::abs(other[e]));
}

TEST(Amx, EqualsTheEmulation) {
  if (!amx_kernel()) GTEST_SKIP() << to_string(amx());
  const std::int64_t rows = 1100, K = 600, H = 75;
  const PackedBits z(rows, K, 1);
  const Floats W = normals(K * H, 1), g = normals(rows * H, 2);
  const auto results = [&](TileKernel kernel) {
    Floats out(std::size_t(rows * H)), gW(std::size_t(K * H));
    tile_product(kernel, z.view(), {W.data(), K, H}, {out.data(), rows, H}, Write::set);
    tile_outer_product(kernel, z.view(), {nullptr, rows}, {g.data(), rows, H}, {gW.data(), K, H});
    out.insert(out.end(), gW.begin(), gW.end());
    return out;
  };
  const Floats expected = results(kEmulated);
  EXPECT_EQ(results(amx_kernel()), expected);
  Floats elsewhere;
  std::thread([&] { elsewhere = results(amx_kernel()); }).join();
  EXPECT_EQ(elsewhere, expected);
}

TEST(Amx, IsNotUsedBelowItsInstructionSet) {
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    EXPECT_EQ(CpuBackend::best_tiles() != nullptr, amx_kernel() && target == HWY_AVX3);
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace sfnn

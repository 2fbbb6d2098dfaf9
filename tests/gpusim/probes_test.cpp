// What the probes compute, against plain C++ on the host.
#include "tests/gpusim/probes.hpp"

#include <bit>
#include <cmath>
#include <map>

#include "kernels/philox.hpp"
#include "tests/gpusim/device_array.hpp"

namespace sfnn::probes {
namespace {

__extension__ typedef unsigned __int128 Uint128;

std::uint16_t bf16(float v) {  // round to nearest, ties to even
  const auto bits = std::bit_cast<std::uint32_t>(v);
  return std::uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float from_bf16(std::uint16_t v) { return std::bit_cast<float>(std::uint32_t(v) << 16); }

TEST(Probes, BernoulliDrawsEqualPhiloxByIndex) {
  const std::int64_t rows = 13, units = 71;
  const auto a = values(std::size_t(rows * units), -4, 4);
  for (const bool invert : {false, true}) {
    DeviceArray<float> d_a(a), d_h(a.size());
    BernoulliArgs p{
        d_a.data(), d_h.data(), rows, units, /*seed=*/0x123456789abcull, {/*step=*/7, /*site=*/3},
        invert};
    SFNN_ASSERT_CUDA(launch_bernoulli(p, nullptr));
    const auto h = d_h.to_host();
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < units; ++i) {
        const float u = uniform({p.seed, p.draw.step, p.draw.site}, std::uint32_t(r), 0, i);
        const double sigma = 1 / (1 + std::exp(-double(a[std::size_t(r * units + i)])));
        if (std::fabs(u - sigma) < 1e-6) continue;  // within rounding of the threshold
        EXPECT_EQ(h[std::size_t(r * units + i)], (u <= sigma) != invert ? 1.0f : 0.0f)
            << r << " " << i;
      }
  }
}

TEST(Probes, LogSumExpEqualsDouble) {
  const int rows = 3, cols = 1001;
  const auto x = values(rows * cols, -500, -490);
  DeviceArray<float> d_x(x), d_y(rows);
  SFNN_ASSERT_CUDA(launch_log_sum_exp(d_x.data(), d_y.data(), rows, cols, nullptr));
  const auto y = d_y.to_host();
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int j = 0; j < cols; ++j) sum += std::exp(double(x[std::size_t(r * cols + j)]) + 490);
    EXPECT_NEAR(y[std::size_t(r)], std::log(sum) - 490, 1e-4);
  }
}

TEST(Probes, CubBlockReduce) {
  const int rows = 4, cols = 333;
  const auto x = values(rows * cols, -1, 1);
  DeviceArray<float> d_x(x), d_y(rows), d_top(rows);
  DeviceArray<double> d_exact(rows);
  SFNN_ASSERT_CUDA(
      launch_block_reduce(d_x.data(), d_y.data(), d_top.data(), d_exact.data(), rows, cols));
  const auto y = d_y.to_host(), top = d_top.to_host();
  const auto exact = d_exact.to_host();
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    float largest = -1;
    for (int j = 0; j < cols; ++j) {
      sum += x[std::size_t(r * cols + j)];
      largest = std::fmax(largest, x[std::size_t(r * cols + j)]);
    }
    EXPECT_NEAR(y[std::size_t(r)], sum, 1e-4);
    EXPECT_NEAR(exact[std::size_t(r)], sum, 1e-5);
    EXPECT_EQ(top[std::size_t(r)], largest);
  }
}

TEST(Probes, ThreeBf16PartsHoldAFloat) {
  const int size = 333;  // odd: neighbouring 16-bit stores of two threads share a word
  const auto x = values(size, -3, 3);
  DeviceArray<float> d_x(x);
  DeviceArray<std::uint16_t> d_parts(3 * size);
  DeviceArray<std::uint32_t> d_pairs(size / 2);
  SFNN_ASSERT_CUDA(launch_split_bf16(d_x.data(), d_parts.data(), d_pairs.data(), size));
  const auto parts = d_parts.to_host();
  const auto pairs = d_pairs.to_host();
  for (std::size_t i = 0; i < size; ++i) {
    EXPECT_EQ(parts[i], bf16(x[i]));
    EXPECT_EQ(from_bf16(parts[i]) + from_bf16(parts[size + i]) + from_bf16(parts[2 * size + i]),
              x[i]);
    if (i % 2 == 0 && i + 1 < size) {
      EXPECT_EQ(pairs[i / 2], std::uint32_t(bf16(x[i + 1])) << 16 | bf16(x[i]));
    }
  }
}

TEST(Probes, BlocksAndGridsOfThreeDimensions) {
  const int nx = 13, ny = 9, nz = 7;
  DeviceArray<float> d_out(nx * ny * nz);
  SFNN_ASSERT_CUDA(launch_volume(d_out.data(), nx, ny, nz));
  const auto out = d_out.to_host();
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x)
        EXPECT_EQ(out[std::size_t((z * ny + y) * nx + x)],
                  1e6f * float(z) + 1e3f * float(y) + float(x));
}

TEST(Probes, DoubleFunctions) {
  std::vector<double> x;
  for (const float v : values(100, 0.01f, 30)) x.push_back(v);
  DeviceArray<double> d_x(x), d_out(x.size() * kDoubleFunctions);
  SFNN_ASSERT_CUDA(launch_double_math(d_x.data(), d_out.data(), int(x.size())));
  const auto out = d_out.to_host();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double expected[] = {std::exp(v), std::log(v),        std::sqrt(v),
                               1 / v,       std::fma(v, v, -v), std::cbrt(v)};
    for (std::size_t k = 0; k < kDoubleFunctions; ++k)
      EXPECT_NEAR(out[i * kDoubleFunctions + k], expected[k],
                  4e-16 * std::fabs(expected[k]) + 1e-16)
          << v << " " << k;
  }
}

TEST(Probes, FloatFunctions) {
  const auto x = values(200, 0.01f, 20);
  DeviceArray<float> d_x(x), d_out(x.size() * kFloatFunctions);
  SFNN_ASSERT_CUDA(launch_float_math(d_x.data(), d_out.data(), int(x.size())));
  const auto out = d_out.to_host();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double expected[] = {std::exp(v),      std::log(v), std::log1p(v), std::tanh(v),
                               1 / std::sqrt(v), std::exp(v), std::sin(v),   std::pow(v, 1.5)};
    for (std::size_t k = 0; k < kFloatFunctions; ++k) {
      const double tolerance = k == 5 ? 3e-6 : 4e-7;  // __expf rounds x / log 2 first
      EXPECT_NEAR(out[i * kFloatFunctions + k], expected[k],
                  tolerance * std::fabs(expected[k]) + 1e-7)
          << v << " " << k;
    }
  }
}

TEST(Probes, AtomicsInSharedAndGlobalMemory) {
  const int size = 1000, bins = 17;
  std::vector<int> keys(size), expected(bins);
  for (int i = 0; i < size; ++i) ++expected[std::size_t(keys[std::size_t(i)] = i * i % bins)];
  DeviceArray<int> d_keys(keys), d_counts(std::vector<int>(bins, 0)),
      d_biggest(std::vector<int>{-1});
  DeviceArray<float> d_total(std::vector<float>{0});
  SFNN_ASSERT_CUDA(launch_histogram(d_keys.data(), size, d_counts.data(), bins, d_biggest.data(),
                                    d_total.data()));
  EXPECT_EQ(d_counts.to_host(), expected);
  EXPECT_EQ(d_biggest.to_host()[0], *std::max_element(keys.begin(), keys.end()));
  EXPECT_EQ(d_total.to_host()[0], 500.0f);
}

TEST(Probes, WarpOperations) {
  std::vector<unsigned> x(32);
  for (unsigned l = 0; l < 32; ++l) x[l] = l * 37 % 64;
  DeviceArray<unsigned> d_x(x), d_out(32 * kWarpOperations);
  SFNN_ASSERT_CUDA(launch_warp_operations(d_x.data(), d_out.data()));
  const auto out = d_out.to_host();
  unsigned ballot = 0, active = 0;
  std::map<unsigned, unsigned> match;
  for (unsigned l = 0; l < 32; ++l) {
    if (x[l] & 1) ballot |= 1u << l;
    if (l % 3 == 0) active |= 1u << l;
    match[x[l] & 3] |= 1u << l;
  }
  for (unsigned l = 0; l < 32; ++l) {
    const unsigned* mine = &out[l * kWarpOperations];
    EXPECT_EQ(mine[0], ballot);
    EXPECT_EQ(mine[1], 0u);
    EXPECT_EQ(mine[2], 1u);
    EXPECT_EQ(mine[3], match[x[l] & 3]);
    EXPECT_EQ(mine[4], l % 3 == 0 ? active : 0u);
    EXPECT_EQ(mine[5], x[l < 3 ? l : l - 3]);
    EXPECT_EQ(mine[6], x[l % 8 + 5 < 8 ? l + 5 : l]);
    EXPECT_EQ(mine[7], x[7 * l % 32]);
    EXPECT_EQ(mine[8], x[l ^ 9]);
  }
}

TEST(Probes, IntegerOperations) {
  std::vector<std::int64_t> a, b;
  for (std::int64_t x :
       {1ll, -1ll, 123456789012345ll, -987654321ll, 0x7fffffffffffffffll, 40ll, -(1ll << 40)})
    for (std::int64_t y : {1ll, 7ll, -3ll, 0x123456789abcdefll, -(1ll << 33)})
      a.push_back(x), b.push_back(y);
  DeviceArray<std::int64_t> d_a(a), d_b(b);
  DeviceArray<std::uint64_t> d_out(a.size() * kIntegerOperations);
  SFNN_ASSERT_CUDA(launch_integer_operations(d_a.data(), d_b.data(), d_out.data(), int(a.size())));
  const auto out = d_out.to_host();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int64_t x = a[i], y = b[i];
    const auto ux = std::uint64_t(x), uy = std::uint64_t(y);
    const auto wx = unsigned(ux), wy = unsigned(uy);
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; ++bit) reversed |= (wx >> bit & 1) << (31 - bit);
    const std::uint64_t expected[] = {
        std::uint64_t(Uint128(ux) * uy >> 64),
        std::uint64_t(x / y),
        std::uint64_t(x % y),
        std::uint64_t(x >> (y & 63)),
        ux << (y & 63),
        std::uint64_t(std::countl_zero(ux) + 100 * std::countl_zero(wx)),
        std::uint64_t((ux ? std::countr_zero(ux) + 1 : 0) + 100 * std::popcount(ux)),
        reversed,
        (wx & 0xff) | (wy & 0xff) << 8 | (wx >> 8 & 0xff) << 16 | (wy >> 8 & 0xff) << 24,
        std::uint32_t((std::uint64_t(wy) << 32 | wx) << (wy & 31) >> 32),
        std::uint64_t(std::int64_t(int(wx)) * int(wy) >> 32),
        unsigned(int(wx) / (int(wy) | 1)) + (wx >> 5 & 0xff)};
    for (std::size_t k = 0; k < kIntegerOperations; ++k)
      EXPECT_EQ(out[i * kIntegerOperations + k], expected[k]) << x << " " << y << " " << k;
  }
}

TEST(Probes, LastBlockAddsUpAfterAFence) {
  const auto x = values(5000, 0, 1);
  DeviceArray<float> d_x(x), d_partial(7), d_sum(1);
  DeviceArray<unsigned> d_finished(std::vector<unsigned>{0});
  SFNN_ASSERT_CUDA(launch_last_block_sum(d_x.data(), 5000, d_partial.data(), d_finished.data(),
                                         d_sum.data(), 7));
  double sum = 0;
  for (float v : x) sum += v;
  EXPECT_NEAR(d_sum.to_host()[0], sum, 1e-2);
}

TEST(Probes, ConstantDeviceAndLocalMemory) {
  std::vector<float> table(16);
  std::vector<int> x(100);
  for (std::size_t k = 0; k < 16; ++k) table[k] = float(k * k);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = int(i * 7);
  SFNN_ASSERT_CUDA(upload_table(table.data(), 0.25f));
  DeviceArray<int> d_x(x);
  DeviceArray<float> d_y(x.size());
  SFNN_ASSERT_CUDA(launch_lookup(d_x.data(), d_y.data(), int(x.size())));
  const auto y = d_y.to_host();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const int k = x[i] & 15, bumped = 15 - (x[i] >> 4 & 15);
    EXPECT_EQ(y[i], table[std::size_t(k)] + (k == bumped ? 1.0f : 0.0f) + 0.25f);
  }
}

TEST(Probes, DynamicSharedMemory) {
  const int rows = 37, cols = 41;
  const auto x = values(rows * cols, -1, 1);
  DeviceArray<float> d_x(x), d_y(cols);
  SFNN_ASSERT_CUDA(launch_column_sum(d_x.data(), d_y.data(), rows, cols));
  const auto y = d_y.to_host();
  for (int j = 0; j < cols; ++j) {
    double sum = 0;
    for (int i = 0; i < rows; ++i) sum += x[std::size_t(i * cols + j)];
    EXPECT_NEAR(y[std::size_t(j)], sum, 1e-5);
  }
}

TEST(Probes, SwitchOverManyCases) {
  const int size = 80;
  const auto x = values(size, 1, 4);
  std::vector<int> which(size);
  for (int i = 0; i < size; ++i) which[std::size_t(i)] = i % 9;
  DeviceArray<int> d_which(which);
  DeviceArray<float> d_x(x), d_y(std::vector<float>(2 * size, 0.5f));
  SFNN_ASSERT_CUDA(launch_switch(d_which.data(), d_x.data(), d_y.data(), size));
  const auto y = d_y.to_host();
  for (std::size_t i = 0; i < size; ++i) {
    const float v = x[i];
    const float expected[] = {std::sqrt(v), v * v * v,           -v, 3, v / 7, std::floor(v),
                              std::exp(v),  v + 0.5f * float(i), v};
    EXPECT_NEAR(y[i], expected[i % 9], 1e-5 * std::fabs(expected[i % 9])) << i;
  }
}

}  // namespace
}  // namespace sfnn::probes

// Bits, products, draws, data and updates of the production CPU path against the plain one.
#include "tests/backend/cpu_backend_test.hpp"

namespace sfnn {
namespace {

TEST_P(CpuBackendTest, BitsComeBackAsTheyWere) {
  for_shapes([&](const Shape& s, std::uint64_t seed) {
    const auto values = coins(s.N * s.H, seed);
    const OwnedBits z(cpu_, values, s.N, s.H);
    auto back = std::vector<std::uint8_t>(values.size(), 7);
    cpu_.download_bits(z.bits, back);
    EXPECT_EQ(back, values);
  });
}

TEST_P(CpuBackendTest, ProductsWithBits) {
  for (std::int64_t rows : {0, 1, 5, 23, 24, 61, 250, 1100}) {
    for (std::int64_t K : {0, 1, 4, 5, 50, 55, 56, 64, 128, 200, 303}) {
      for (std::int64_t H : {1, 7, 10, 16, 40}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << K << " x " << H);
        const auto bits = coins(rows * K, std::uint64_t(rows + K));
        const Floats W = normals(K * H, 1), start = normals(rows * H, 2);
        for (Write write : {Write::set, Write::add}) {
          expect_same(1e-7 * double(K + 10), [&](Backend& backend) {
            const OwnedBits z(backend, bits, rows, K);
            Floats out = start;
            out.push_back(kUntouched);
            backend.multiply({z.bits, view(W, K, H), view(out, rows, H), write});
            return out;
          });
        }
      }
    }
  }
}

TEST_P(CpuBackendTest, OuterProductsWithBits) {
  for (std::int64_t rows : {0, 1, 5, 55, 56, 130, 500}) {
    for (std::int64_t K : {0, 1, 23, 24, 64, 65, 200}) {
      for (std::int64_t H : {1, 10, 16, 40}) {
        for (bool all : {true, false}) {
          SCOPED_TRACE(testing::Message() << rows << " x " << K << " x " << H << " all " << all);
          const auto bits = coins(rows * K, std::uint64_t(rows + K));
          const auto index = some_rows(rows, 3);
          const RowSet set =
              all ? RowSet{nullptr, rows} : RowSet{index.data(), std::int64_t(index.size())};
          const Floats g = normals(rows * H, 1), start = normals(K * H, 2);
          expect_same(1e-7 * double(rows + 10), [&](Backend& backend) {
            const OwnedBits z(backend, bits, rows, K);
            Floats gW = start;
            gW.push_back(kUntouched);
            backend.accumulate_outer({z.bits, set, view(g, set.count, H), view(gW, K, H)});
            return gW;
          });
        }
      }
    }
  }
}

TEST_P(CpuBackendTest, OuterProductsWithSelectedRowsOfFloats) {
  const Floats z = normals(90 * 33, 1), g = normals(90 * 20, 2);
  const auto index = some_rows(90, 3);
  expect_same(1e-5, [&](Backend& backend) {
    Floats gW = normals(33 * 20, 4);
    backend.accumulate_outer({view(z, 90, 33),
                              {index.data(), std::int64_t(index.size())},
                              view(g, std::int64_t(index.size()), 20),
                              view(gW, 33, 20)});
    return gW;
  });
}

// Both draw the same u; h may differ only if u falls within rounding of sigma(a + b).
TEST_P(CpuBackendTest, DrawsEqualThePlainOnesExceptAtTies) {
  for (bool shared : {true, false}) {
    for_shapes([&](const Shape& s, std::uint64_t seed) {
      const std::int64_t rows = s.N * s.M;
      const Floats a = normals((shared ? s.N : rows) * s.H, seed, 2), b = normals(s.H, seed + 1);
      const Tile tile{.first = 17, .N = s.N, .M = s.M, .first_particle = 1000};
      const Draw draw{.seed = 42, .site = 3};
      cpu_.set_clock({.step = 9});
      Buffer buffer(cpu_, cpu_.bits_bytes(rows, s.H));
      const Bits bits{buffer.data(), rows, s.H};
      std::fill_n(buffer.data(), buffer.bytes(), std::byte(0xFF));
      cpu_.sample_hidden({draw, tile, view(a, shared ? s.N : rows, s.H), b.data(), bits});
      std::vector<std::uint8_t> h(std::size_t(rows * s.H));
      cpu_.download_bits(bits, h);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t i = 0; i < s.H; ++i) {
          const float p = sigmoid(a[(shared ? r / s.M : r) * s.H + i] + b[i]);
          const float u =
              uniform({42, 9, 3}, std::uint32_t(17 + r / s.M), std::uint32_t(1000 + r % s.M), i);
          if (std::abs(u - p) <= 1e-6f * p) continue;
          ASSERT_EQ(h[std::size_t(r * s.H + i)], u <= p) << "row " << r << " unit " << i;
        }
      }
      // Padding is zero: products read whole words.
      std::int64_t ones = 0, set = 0;
      for (std::uint8_t bit : h) ones += bit;
      for (std::size_t e = 0; e < buffer.bytes(); ++e)
        set += __builtin_popcount(unsigned(buffer.data()[e]));
      EXPECT_EQ(set, ones);
    });
  }
}

TEST_P(CpuBackendTest, FairCoinsWithoutWeights) {
  expect_same(0, [](Backend& backend) {
    backend.set_clock({.step = 5});
    Buffer buffer(backend, backend.bits_bytes(6, 100));
    const Bits s{buffer.data(), 6, 100};
    backend.sample_hidden({.draw = {1, 0}, .tile = {.first = 2, .N = 2, .M = 3}, .s = s});
    std::vector<std::uint8_t> h(600);
    backend.download_bits(s, h);
    return Floats(h.begin(), h.end());
  });
}

TEST_P(CpuBackendTest, SaturatedUnitsAreCertain) {
  const Floats a{-INFINITY, -200, 200, INFINITY}, b(4, 0.0f);
  Buffer buffer(cpu_, cpu_.bits_bytes(1000, 4));
  const Bits s{buffer.data(), 1000, 4};
  cpu_.sample_hidden({{1, 0}, {.N = 1, .M = 1000}, view(a, 1, 4), b.data(), s});
  std::vector<std::uint8_t> h(4000);
  cpu_.download_bits(s, h);
  for (std::size_t e = 0; e < h.size(); ++e) ASSERT_EQ(h[e], e % 4 >= 2);
}

TEST_P(CpuBackendTest, GatherScalesDrawsCentresAndAddsNoise) {
  const std::int64_t rows = 9, cols = 301;
  Random random(1);
  std::vector<std::uint8_t> grey(std::size_t(rows * cols));
  for (auto& value : grey) value = std::uint8_t(random.integer(0, 255));
  const Floats real = normals(rows * cols, 2), mean = normals(cols, 3);
  const std::vector<std::int32_t> order{3, 1, 4, 0, 5, 8, 2, 6, 7};
  for (bool bytes : {true, false}) {
    for (bool binarize : {true, false}) {
      for (float noise : {0.0f, 0.3f}) {
        SCOPED_TRACE(testing::Message() << bytes << binarize << noise);
        expect_same(3e-6, [&](Backend& backend) {
          backend.set_clock({.step = 4, .first = 2});
          Floats out(std::size_t(5 * cols) + 1, kUntouched);
          GatherArgs args;
          args.data = {bytes ? reinterpret_cast<const std::byte*>(grey.data())
                             : reinterpret_cast<const std::byte*>(real.data()),
                       bytes ? DataColumns::Type::u8 : DataColumns::Type::f32, rows, cols,
                       bytes ? 1 / 255.0f : 0.5f};
          args.order = order.data();
          args.tile = {.first = 1, .N = 5};
          args.binarize = binarize;
          args.binarize_draw = {11, kSiteBinarizeInput};
          args.mean = noise > 0 ? mean.data() : nullptr;
          args.inverse_scale = bytes ? mean.data() : nullptr;
          args.noise = noise;
          args.noise_draw = {12, kSiteInputNoise};
          args.out = view(out, 5, cols);
          backend.gather(args);
          return out;
        });
      }
    }
  }
}

TEST_P(CpuBackendTest, UpdateIsThePlainOneAndTheSameForAnyThreadCount) {
  const std::int64_t size = 50'003, stride = size + 5;
  const Floats sums = normals(9 * stride, 1);
  CpuBackend two(2), seven(7);
  for (const std::int64_t count : {1, 2, 3, 4, 5, 7, 8, 9}) {
    const auto updated = [&](Backend& backend) {
      const Parts parts{sums.data(), count, stride, count > 8 ? 16 : 8};
      backend.set_clock({.step = 1, .learning_rate = 0.1f});
      Floats state = normals(2 * size + 1, 2);
      backend.update({.params = state.data(),
                      .arrays = {state.data() + size},
                      .parts = parts,
                      .size = size,
                      .scale = 0.01f});
      Floats averages = normals(17, 3);
      backend.update_baseline(
          {.averages = averages.data(), .parts = parts, .size = 17, .scale = 0.5f});
      state.insert(state.end(), averages.begin(), averages.end());
      return state;
    };
    expect_same(1e-6, updated);
    EXPECT_EQ(updated(two), updated(cpu_));
    EXPECT_EQ(updated(seven), updated(cpu_));
  }
}

TEST_P(CpuBackendTest, EveryOptimizerIsThePlainOneAndTheSameForAnyThreadCount) {
  const std::int64_t size = 30'003, runs = square_runs(size);
  const Floats sums = normals(8 * size, 1);
  const std::vector<UpdateSegment> segments{{48, 1, 0}, {20'000, 0.5f, 0.25f}, {size, 2, 0.125f}};
  CpuBackend seven(7);
  for (const OptimizerRow& row : kOptimizers) {
    for (const std::int64_t count : {1, 3, 8}) {
      const Parts parts{sums.data(), count, size, 8};
      const auto updated = [&](Backend& backend) {
        backend.set_clock(
            {.learning_rate = 0.1f, .m_scale = 1.5f, .v_scale = 2, .average_share = 0.25f});
        Floats state = normals(4 * size + runs, 2);
        for (float& value : std::span(state).subspan(2 * size, size)) value *= value;
        UpdateArgs args{.optimizer = row.id,
                        .params = state.data(),
                        .arrays = {state.data() + size, state.data() + 2 * size},
                        .parts = parts,
                        .size = size,
                        .scale = 0.5f,
                        .segments = segments.data(),
                        .average = state.data() + 3 * size,
                        .square_sums = state.data() + 4 * size};
        backend.update(args);
        // What square_sums finds is what the update has left.
        Floats squares(runs);
        backend.square_sums({parts, size, 0.5f, squares.data()});
        EXPECT_TRUE(std::equal(squares.begin(), squares.end(), args.square_sums));
        for (float& value : std::span(state).subspan(4 * size)) value /= 1024;
        return state;
      };
      expect_same(4e-6, updated);
      EXPECT_EQ(updated(seven), updated(cpu_));
    }
  }
}

// With nothing but the gradient left, the step is the sum itself, whose order cannot hide.
TEST_P(CpuBackendTest, PartsAreAddedByTheTree) {
  const std::int64_t size = 1003;
  const Floats sums = normals(8 * size, 4);
  for (const std::int64_t count : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const Parts parts{sums.data(), count, size, 8};
    Floats params(size), velocity(size);
    cpu_.set_clock({.step = 1, .learning_rate = 1});
    cpu_.update({.params = params.data(),
                 .arrays = {velocity.data()},
                 .parts = parts,
                 .size = size,
                 .momentum = 0});
    for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(params[i], part_sum(parts, i)) << count;
  }
}

// A processor may have better ones than are compiled.
TEST_P(CpuBackendTest, NamesTheInstructionsThatItRuns) {
  const std::string name = GetParam() == HWY_AVX3 ? "AVX-512" : hwy::TargetName(GetParam());
  hwy::SetSupportedTargetsForTest(GetParam() | HWY_AVX3_DL);
  EXPECT_EQ(cpu_.describe().find("cpu (" + name + ","), 0u) << cpu_.describe();
}

SFNN_INSTANTIATE_FOR_INSTRUCTION_SETS(CpuBackendTest);

}  // namespace
}  // namespace sfnn

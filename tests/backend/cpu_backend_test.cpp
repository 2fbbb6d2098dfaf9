// Every op of the production CPU path against the plain one, on every instruction set of this
// machine. Both keep their memory on the host, so that the tests may look at it.
#include "host/backend/cpu/cpu_backend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "host/backend/plain/plain_backend.hpp"
#include "kernels/activations.hpp"
#include "tests/support/random.hpp"
#include "tests/support/targets.hpp"

namespace sfnn {
namespace {

using Floats = std::vector<float>;

// Empty, one, odd, whole vectors and words, the paper's own widths, more than one chunk of units.
struct Shape {
  std::int64_t N, M, H;
};
const Shape kShapes[] = {{0, 3, 5},  {1, 1, 1},   {2, 3, 0},   {3, 1, 7},    {2, 5, 8},
                         {3, 7, 31}, {2, 16, 64}, {5, 13, 65}, {4, 20, 200}, {2, 3, 517}};

std::vector<std::uint8_t> coins(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(std::uint8_t(random.integer(0, 1)));
  return values;
}

// About a third of the rows, ascending.
std::vector<std::int32_t> some_rows(std::int64_t rows, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int32_t> index;
  index.reserve(std::size_t(rows + 1));  // a null index would mean all rows
  for (std::int64_t r = 0; r < rows; ++r)
    if (random.integer(0, 2) == 0) index.push_back(std::int32_t(r));
  return index;
}

ConstMatrix view(const Floats& values, std::int64_t rows, std::int64_t cols) {
  return {values.data(), rows, cols};
}
Matrix view(Floats& values, std::int64_t rows, std::int64_t cols) {
  return {values.data(), rows, cols};
}

void expect_near(const Floats& actual, const Floats& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_LE(std::abs(double(actual[i]) - double(expected[i])),
              tolerance * std::max(1.0, std::abs(double(expected[i]))))
        << "at " << i << ": " << actual[i] << ", expected " << expected[i];
}

class CpuBackendTest : public InstructionSetTest {
 protected:
  // op(backend) -> Floats on both, to be equal within `tolerance`, relative above 1.
  template <class Op>
  void expect_same(double tolerance, const Op& op) {
    expect_near(op(cpu_), op(plain_), tolerance);
  }

  template <class Body>  // body(shape, seed)
  void for_shapes(const Body& body) {
    std::uint64_t seed = 100;
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(testing::Message() << "N=" << shape.N << " M=" << shape.M << " H=" << shape.H);
      body(shape, seed += 10);
    }
  }

  CpuBackend cpu_{1};
  PlainBackend plain_{1};
};

struct OwnedBits {  // a 0/1 matrix in a backend's own storage
  OwnedBits(Backend& backend, const std::vector<std::uint8_t>& values, std::int64_t rows,
            std::int64_t cols)
      : buffer(backend, backend.bits_bytes(rows, cols)), bits{buffer.data(), rows, cols} {
    backend.upload_bits(values, bits);
  }
  Buffer buffer;
  Bits bits;
};

constexpr float kUntouched = 12345;

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

TEST_P(CpuBackendTest, Activations) {
  for (const ActivationRow& unit : kActivations) {
    for (bool shared : {true, false}) {
      for_shapes([&](const Shape& s, std::uint64_t seed) {
        SCOPED_TRACE(unit.suffix);
        const Floats z = normals(s.N * s.H, seed, 3), b = normals(s.H, seed + 1);
        expect_same(1e-6, [&](Backend& backend) {
          Floats d = normals(s.N * s.M * s.H, seed + 2, 3);
          d.push_back(kUntouched);
          backend.activate({.tile = {.N = s.N, .M = s.M},
                            .shared = shared ? view(z, s.N, s.H) : ConstMatrix{},
                            .b = b.data(),
                            .d = view(d, s.N * s.M, s.H),
                            .activation = unit.id});
          return d;
        });
      });
    }
  }
}

// Extremes saturate, and a NaN stays one.
TEST_P(CpuBackendTest, ActivationsOfExtremes) {
  const Floats a{-1e30f, -100, -0.0f, 0, 100, 1e30f, INFINITY, -INFINITY}, b(a.size() + 1);
  for (const ActivationRow& unit : kActivations) {
    for (Backend* backend : {static_cast<Backend*>(&cpu_), static_cast<Backend*>(&plain_)}) {
      Floats d = a;
      d.push_back(NAN);
      const auto width = std::int64_t(d.size());
      backend->activate(
          {.tile = {.N = 1, .M = 1}, .b = b.data(), .d = view(d, 1, width), .activation = unit.id});
      EXPECT_TRUE(std::isnan(d.back())) << unit.suffix;
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_FLOAT_EQ(d[i], float(activation_at(unit.id, double(a[i])))) << unit.suffix << a[i];
    }
  }
}

class CpuOutputTest : public CpuBackendTest {
 protected:
  template <class Body>  // body(args, selected rows)
  void for_outputs(const Body& body) {
    for (Output output : {Output::softmax, Output::bernoulli, Output::gaussian}) {
      for (bool shared : {false, true}) {
        for_shapes([&](const Shape& s, std::uint64_t seed) {
          if (s.H == 0) return;
          SCOPED_TRACE(testing::Message() << "output " << int(output) << " shared " << shared);
          const Tile tile{.N = s.N, .M = shared ? 1 : s.M};
          Random random(seed);
          Floats y(std::size_t(s.N * (output == Output::softmax ? 1 : s.H)));
          for (float& value : y)
            value = output == Output::softmax ? float(random.integer(0, s.H - 1))
                                              : float(random.uniform());
          const Floats o = normals(tile.rows() * s.H, seed + 1, 4), c = normals(s.H, seed + 2);
          const auto index = some_rows(tile.rows(), seed + 3);
          body(OutputOperands{.output = output,
                              .tile = tile,
                              .o = view(o, tile.rows(), s.H),
                              .c = c.data(),
                              .y = view(y, s.N, output == Output::softmax ? 1 : s.H)},
               RowSet{index.data(), std::int64_t(index.size())});
        });
      }
    }
  }
};

TEST_P(CpuOutputTest, LogProb) {
  for_outputs([&](const OutputOperands& args, RowSet) {
    expect_same(2e-6, [&](Backend& backend) {
      Floats log_w(std::size_t(args.o.rows) + 1, kUntouched);
      backend.output_log_prob({args, log_w.data()});
      return log_w;
    });
  });
}

// The logarithm of a product serves many pixels: with o = 0, as before training, every factor is 2.
TEST_P(CpuOutputTest, LogProbOfManyUndecidedPixels) {
  const std::int64_t D = 5000;
  const Floats o(D, 0.0f), y(D, 0.5f);
  float log_w = 0;
  cpu_.output_log_prob({.of = {.output = Output::bernoulli,
                               .tile = {.N = 1, .M = 1},
                               .o = view(o, 1, D),
                               .c = o.data(),
                               .y = view(y, 1, D)},
                        .log_w = &log_w});
  EXPECT_NEAR(log_w, -double(D) * std::log(2.0), 1e-5 * double(D));
}

TEST_P(CpuOutputTest, MeanOutput) {
  for_outputs([&](const OutputOperands& args, RowSet) {
    expect_same(1e-5, [&](Backend& backend) {
      Floats mean(std::size_t(args.tile.N * args.o.cols) + 1, 0.25f);
      backend.accumulate_mean_output({args, view(mean, args.tile.N, args.o.cols)});
      return mean;
    });
  });
}

TEST_P(CpuOutputTest, Gradient) {
  for_outputs([&](const OutputOperands& args, RowSet some) {
    const Floats w_bar = normals(args.tile.rows(), 5);
    for (RowSet rows : {some, RowSet{nullptr, args.tile.rows()}}) {
      expect_same(1e-5, [&](Backend& backend) {
        Floats g(std::size_t(rows.count * args.o.cols) + 1, kUntouched);
        backend.output_grad({args, w_bar.data(), rows, view(g, rows.count, args.o.cols)});
        return g;
      });
    }
  });
}

TEST_P(CpuBackendTest, ParticleWeights) {
  for_shapes([&](const Shape& s, std::uint64_t seed) {
    // As far below zero as an untrained network's: exp of them is zero in float.
    Floats log_w = normals(s.N * s.M, seed, 5);
    for (float& value : log_w) value -= 272;
    if (log_w.size() > 3) log_w[2] = -INFINITY;
    expect_same(1e-5, [&](Backend& backend) {
      Floats out(std::size_t(s.N * (s.M + 2)) + 1, kUntouched);
      float* C_hat = out.data() + s.N * s.M;
      backend.particle_weights(
          {{.N = s.N, .M = s.M}, log_w.data(), out.data(), C_hat, C_hat + s.N});
      return out;
    });
  });
}

// a and g by example, a and g by particle, and a by example for each particle's g.
TEST_P(CpuBackendTest, PathGradients) {
  for (const PathRule rule :
       {PathRule::one, PathRule::sigmoid_slope, PathRule::half_score, PathRule::gumbel_slope}) {
    for (const bool shared : {true, false}) {
      for (const bool summed : {true, false}) {
        if (summed && (!shared || reads_draw(rule))) continue;
        for_shapes([&](const Shape& s, std::uint64_t seed) {
          SCOPED_TRACE(testing::Message() << int(rule) << " shared " << shared << summed);
          const std::int64_t rows = s.N * s.M, a_rows = shared ? s.N : rows;
          const Floats a = normals(a_rows * s.H, seed + 1, 2), b = normals(s.H, seed + 2);
          const auto index = some_rows(rows, seed + 6);
          const RowSet set =
              summed ? RowSet{nullptr, s.N} : RowSet{index.data(), std::int64_t(index.size())};
          const auto bits = coins(rows * s.H, seed);
          expect_same(1e-5, [&](Backend& backend) {
            const OwnedBits h(backend, bits, rows, s.H);
            Floats g = normals(set.count * s.H, seed + 7);
            g.push_back(kUntouched);
            backend.path_grad({.rule = rule,
                               .tile = {.first = 2, .N = s.N, .M = s.M},
                               .a = view(a, a_rows, s.H),
                               .b = b.data(),
                               .rows = set,
                               .g = view(g, set.count, s.H),
                               .s = h.bits,
                               .draw = {seed, /*site=*/3},
                               .T = 0.7f});
            return g;
          });
        });
      }
    }
  }
}

TEST_P(CpuBackendTest, ScoreGradients) {
  for (const bool has_beta : {true, false}) {
    for (bool shared : {true, false}) {
      for_shapes([&](const Shape& s, std::uint64_t seed) {
        SCOPED_TRACE(testing::Message() << "beta " << has_beta << " shared " << shared);
        const std::int64_t rows = s.N * s.M;
        const auto bits = coins(rows * s.H, seed);
        const Floats a = normals((shared ? s.N : rows) * s.H, seed + 1, 2);
        const Floats b = normals(s.H, seed + 2), omega = normals(rows, seed + 3, 50);
        const Floats beta = normals(s.H, seed + 4, 10);
        const auto index = some_rows(rows, seed + 6);
        const bool whole = shared || s.M == 1;
        const RowSet set =
            whole ? RowSet{nullptr, s.N} : RowSet{index.data(), std::int64_t(index.size())};
        expect_same(1e-4, [&](Backend& backend) {
          const OwnedBits h(backend, bits, rows, s.H);
          Floats g = normals(set.count * s.H, seed + 7);
          g.push_back(kUntouched);
          backend.score_grad({.tile = {.N = s.N, .M = s.M},
                              .a = view(a, shared ? s.N : rows, s.H),
                              .b = b.data(),
                              .s = h.bits,
                              .omega = omega.data(),
                              .beta = has_beta ? beta.data() : nullptr,
                              .rows = set,
                              .g = view(g, set.count, s.H)});
          return g;
        });
      });
    }
  }
}

// A unit that stopped being random has no baseline.
TEST_P(CpuBackendTest, BetaIsTheQuotientOfTheAverages) {
  const Floats averages{0.5f, 0.0f, 1e-9f, 2, 7, 7};
  Floats beta(3);
  cpu_.make_beta({averages.data(), 3, beta.data()});
  EXPECT_EQ(beta, (Floats{4, 0, 0}));
}

TEST_P(CpuBackendTest, OmegaByItsRule) {
  const Floats log_w = normals(6, 3, 2);
  for (const OmegaRule rule : {OmegaRule::none, OmegaRule::w_bar, OmegaRule::C_hat}) {
    for (Backend* backend : {static_cast<Backend*>(&cpu_), static_cast<Backend*>(&plain_)}) {
      Floats w_bar(6), C_hat(2), ess(2), omega(6, kUntouched), expected(6, kUntouched);
      backend->particle_weights({{.N = 2, .M = 3},
                                 log_w.data(),
                                 w_bar.data(),
                                 C_hat.data(),
                                 ess.data(),
                                 rule,
                                 omega.data()});
      if (rule == OmegaRule::w_bar) expected = w_bar;
      if (rule == OmegaRule::C_hat)
        expected = {C_hat[0], C_hat[0], C_hat[0], C_hat[1], C_hat[1], C_hat[1]};
      EXPECT_EQ(omega, expected);
    }
  }
}

// Rules that compare particles, from equal weights to a lead of hundreds of nats.
TEST_P(CpuBackendTest, OmegaOfComparedParticles) {
  for (const OmegaRule rule :
       {OmegaRule::gain, OmegaRule::gain_over_geometric_mean, OmegaRule::excess}) {
    for (const float spread : {0.0f, 1.0f, 300.0f}) {
      for_shapes([&](const Shape& s, std::uint64_t seed) {
        Floats log_w = normals(s.N * s.M, seed, spread);
        for (float& value : log_w) value -= 272;
        expect_same(1e-5 * (1 + spread), [&](Backend& backend) {
          Floats w_bar(s.N * s.M), C_hat(s.N), ess(s.N), omega(std::size_t(s.N * s.M) + 1);
          omega.back() = kUntouched;
          backend.particle_weights({{.N = s.N, .M = s.M},
                                    log_w.data(),
                                    w_bar.data(),
                                    C_hat.data(),
                                    ess.data(),
                                    rule,
                                    omega.data()});
          return omega;
        });
      });
    }
  }
}

TEST_P(CpuBackendTest, SumsOverRows) {
  for_shapes([&](const Shape& s, std::uint64_t seed) {
    const std::int64_t rows = s.N * s.M;
    const auto index = some_rows(rows, seed);
    const auto count = std::int64_t(index.size());
    const Floats g = normals(rows * s.H, seed + 1), b = normals(s.H, seed + 2);
    const Floats C_hat = normals(s.N, seed + 3, 50);
    const Tile tile{.N = s.N, .M = s.M};
    expect_same(2e-5, [&](Backend& backend) {
      Floats out(std::size_t(s.N * s.H) + 1, kUntouched);
      backend.sum_particles(
          {tile, {index.data(), count}, view(g, count, s.H), view(out, s.N, s.H)});
      return out;
    });
    expect_same(2e-5, [&](Backend& backend) {
      Floats gb = normals(s.H + 1, seed + 4);
      backend.accumulate_column_sums({view(g, rows, s.H), gb.data()});
      return gb;
    });
    for (const ActivationRow& unit : kActivations) {
      expect_same(1e-6, [&](Backend& backend) {
        Floats out = normals(count * s.H + 1, seed + 5);
        backend.deterministic_grad(
            {view(g, rows, s.H), {index.data(), count}, view(out, count, s.H), unit.id});
        return out;
      });
    }
    for (bool shared : {true, false}) {
      expect_same(1e-4, [&](Backend& backend) {
        const OwnedBits h(backend, coins(rows * s.H, seed + 6), rows, s.H);
        Floats sums = normals(2 * s.H + 1, seed + 7);
        backend.accumulate_baseline(
            {tile, view(g, shared ? s.N : rows, s.H), b.data(), h.bits, C_hat.data(), sums.data()});
        return sums;
      });
    }
  });
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
SFNN_INSTANTIATE_FOR_INSTRUCTION_SETS(CpuOutputTest);

}  // namespace
}  // namespace sfnn

// Hidden units of the production CPU path, forward and back, against the plain one.
#include "kernels/activations.hpp"
#include "tests/backend/cpu_backend_test.hpp"

namespace sfnn {
namespace {

struct CpuHiddenTest : CpuBackendTest {};

TEST_P(CpuHiddenTest, Activations) {
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
TEST_P(CpuHiddenTest, ActivationsOfExtremes) {
  const Floats a{-1e30f, -100, -0.0f, 0, 100, 1e30f, INFINITY, -INFINITY}, b(a.size() + 1);
  for (const ActivationRow& unit : kActivations) {
    for (Backend* backend : {static_cast<Backend*>(&cpu_), static_cast<Backend*>(&plain_)}) {
      Floats d = a;
      d.push_back(NAN);
      const auto width = std::int64_t(d.size());
      backend->activate(
          {.tile = {.N = 1, .M = 1}, .b = b.data(), .d = view(d, 1, width), .activation = unit.id});
      EXPECT_TRUE(std::isnan(d.back())) << unit.suffix;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const auto expected = float(activation_at(unit.id, double(a[i])));
        const bool same =
            d[i] == expected || std::abs(d[i] - expected) < 1e-30f;  // a tiny one is 0
        EXPECT_TRUE(same) << unit.suffix << " of " << a[i] << ": " << d[i];
      }
    }
  }
}

// a and g by example, a and g by particle, and a by example for each particle's g.
TEST_P(CpuHiddenTest, PathGradients) {
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

TEST_P(CpuHiddenTest, ScoreGradients) {
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
TEST_P(CpuHiddenTest, BetaIsTheQuotientOfTheAverages) {
  const Floats averages{0.5f, 0.0f, 1e-9f, 2, 7, 7};
  Floats beta(3);
  cpu_.make_beta({averages.data(), 3, beta.data()});
  EXPECT_EQ(beta, (Floats{4, 0, 0}));
}

TEST_P(CpuHiddenTest, SumsOverRows) {
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

SFNN_INSTANTIATE_FOR_INSTRUCTION_SETS(CpuHiddenTest);

}  // namespace
}  // namespace sfnn

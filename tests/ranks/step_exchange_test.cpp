// Whatever the number of ranks, the sum of a step's parts is the same to the last bit.
#include "host/ranks/step_exchange.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "host/backend/cpu/cpu_backend.hpp"
#include "tests/support/random.hpp"
#include "tests/support/thread_ranks.hpp"

namespace sfnn {
namespace {

struct Shape {
  std::int64_t N, tile, places, stride;
};

class StepExchangeShapes : public testing::TestWithParam<Shape> {
 protected:
  StepShares shares(int ranks, std::int64_t N) const { return {N, p_.tile, p_.places, ranks}; }
  std::vector<float> numbers(std::int64_t count, std::uint64_t seed) const {
    Random random(seed);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = float(random.normal());
    return values;
  }
  Shape p_ = GetParam();
};

struct Outcome {
  std::vector<float> sum, C_hat, ess;
  bool stops = false;
  bool operator==(const Outcome&) const = default;
};

// What each rank has after an exchange in which only rank `stops` wants to stop.
std::vector<Outcome> exchange(const Shape& p, int ranks, std::int64_t N, int stops,
                              const std::vector<float>& parts, const std::vector<float>& C_hat,
                              const std::vector<float>& ess) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](ThreadRanks& own) {
    CpuBackend backend(2);
    const StepShares whole{p.N, p.tile, p.places, ranks}, shares{N, p.tile, p.places, ranks};
    StepExchange step(backend, own, whole, p.stride);
    const IndexRange rows = shares.rows_of(own.rank());
    Outcome& out = outcomes[std::size_t(own.rank())];
    out.C_hat.assign(std::size_t(N), -1);
    out.ess = out.C_hat;
    std::copy_n(C_hat.begin() + rows.begin, rows.size(), out.C_hat.begin() + rows.begin);
    std::copy_n(ess.begin() + rows.begin, rows.size(), out.ess.begin() + rows.begin);
    const std::int64_t first = shares.parts_of(own.rank()).begin;
    for (int repeat = 0; repeat < 2; ++repeat)
      out.stops = step.run({.number = repeat,
                            .N = N,
                            .parts = parts.data() + first * p.stride,
                            .C_hat = out.C_hat.data(),
                            .ess = out.ess.data(),
                            .wants_stop = own.rank() == stops});
    out.sum.assign(step.sum().data, step.sum().data + p.stride);
    if (N == p.N) {
      EXPECT_EQ(own.bytes_sent(), 2 * StepExchange::bytes_sent(whole, own.rank(), p.stride));
    }
  });
  return outcomes;
}

TEST_P(StepExchangeShapes, EveryRankHasTheSumOfOne) {
  for (const std::int64_t N : {p_.N, p_.N / 2 + 1, std::int64_t(1)}) {
    const StepShares alone = shares(1, N);
    const auto values = numbers(alone.parts() * p_.stride, 7), C_hat = numbers(N, 8),
               ess = numbers(N, 9);
    Outcome expected{std::vector<float>(std::size_t(p_.stride)), C_hat, ess, true};
    const Parts parts{values.data(), alone.parts(), p_.stride, p_.places};
    for (std::int64_t e = 0; e < p_.stride; ++e) expected.sum[std::size_t(e)] = part_sum(parts, e);
    for (const int ranks : {2, 3, 4, 5, 8}) {
      if (ranks > p_.places) continue;
      SCOPED_TRACE(testing::Message() << ranks << " ranks, " << N << " examples");
      for (const Outcome& outcome : exchange(p_, ranks, N, ranks - 1, values, C_hat, ess))
        EXPECT_TRUE(outcome == expected);
    }
  }
}

TEST_P(StepExchangeShapes, NobodyStopsIfNobodyWants) {
  const StepShares alone = shares(1, p_.N);
  const auto values = numbers(alone.parts() * p_.stride, 7), rows = numbers(p_.N, 8);
  for (const Outcome& outcome : exchange(p_, 2, p_.N, -1, values, rows, rows))
    EXPECT_FALSE(outcome.stops);
}

// Parts, rows and places are dealt out whole, once each and in order.
TEST_P(StepExchangeShapes, SharesCoverTheStep) {
  for (int ranks = 1; ranks <= p_.places; ++ranks) {
    for (std::int64_t N = 1; N <= p_.N; ++N) {
      const StepShares s = shares(ranks, N);
      std::int64_t part = 0, row = 0;
      for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(s.parts_of(r).begin, part);
        EXPECT_EQ(s.rows_of(r).begin, row);
        for_each_node(s, r, [&](const IndexRange& node) {
          EXPECT_EQ(node.begin, part);
          part = node.end;
        });
        EXPECT_EQ(s.parts_of(r).end, part);
        EXPECT_LE(s.parts_of(r).size(), shares(ranks, p_.N).most_parts_of(r));
        row = s.rows_of(r).end;
        for (std::int64_t i = s.parts_of(r).begin; i < part; ++i) {
          const std::int64_t place = place_of(i, s.parts(), s.places);
          EXPECT_TRUE(s.places_of(r).begin <= place && place < s.places_of(r).end);
        }
      }
      EXPECT_EQ(part, s.parts());
      EXPECT_EQ(row, N);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, StepExchangeShapes,
                         testing::Values(Shape{100, 10, 8, 1000}, Shape{64, 8, 8, 20011},
                                         Shape{7, 1, 8, 33}, Shape{50, 3, 16, 513},
                                         Shape{5, 2, 64, 1}, Shape{9, 9, 8, 100}));

// Adding sums of ranks, as an allreduce may, depends on how many there are: the tree is needed.
TEST(StepExchange, SumsOfRanksInAnotherOrderDiffer) {
  constexpr std::int64_t kStride = 1000, kParts = 8;
  Random random(3);
  std::vector<float> values(kParts * kStride);
  for (float& value : values) value = float(random.normal());
  const Parts parts{values.data(), kParts, kStride, kParts};
  for (const int ranks : {2, 3, 4, 5, 6, 7, 8}) {
    const StepShares shares{kParts, 1, kParts, ranks};
    std::int64_t differ = 0;
    for (std::int64_t e = 0; e < kStride; ++e) {
      float sum = 0;
      for (int r = 0; r < ranks; ++r) {
        float own = 0;
        const IndexRange run = shares.parts_of(r);
        for (std::int64_t i = run.begin; i < run.end; ++i) own += values[i * kStride + e];
        sum += own;
      }
      differ += sum != part_sum(parts, e);
    }
    EXPECT_GT(differ, 0) << ranks;
  }
}

// 2 (R - 1) / R of the part vector, as a ring allreduce moves it, with headers and criteria.
TEST(StepExchange, MovesWhatARingMoves) {
  constexpr std::int64_t kStride = 2'100'000;
  for (const int ranks : {2, 4, 8}) {
    const StepShares shares{100, 10, 8, ranks};
    for (int r = 0; r < ranks; ++r)
      EXPECT_LT(double(StepExchange::bytes_sent(shares, r, kStride)),
                1.02 * 2 * (ranks - 1) / ranks * 4 * double(kStride));
  }
}

}  // namespace
}  // namespace sfnn

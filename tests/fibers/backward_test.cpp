// The kernels of deterministic units, of the backward pass and of the update.
#include "kernels/column_sums.cuh"
#include "kernels/deterministic.cuh"
#include "kernels/hidden_grad.cuh"
#include "kernels/operands.cuh"
#include "kernels/proposal.cuh"
#include "kernels/sum_particles.cuh"
#include "kernels/update.cuh"
#include "tests/fibers/run_kernel.hpp"

namespace sfnn {
namespace {

struct FiberBackward : FiberTest {};

constexpr std::int64_t N = 5, M = 4, H = 35;  // more rows than warps, more units than lanes
constexpr Tile kTile{.N = N, .M = M};
const std::vector<std::int32_t> kSome{0, 3, 4, 11, 19};  // examples 0, 1, 2 and 4 are left

TEST_F(FiberBackward, DeterministicUnitsAndTheirGradient) {
  const Floats shared = normals(N * H, 1), b = normals(H, 2), d = normals(N * M * H, 3);
  for (const ActivationRow& unit : kActivations) {
    for (const ConstMatrix part : {matrix(shared, H), ConstMatrix{}}) {
      const auto args = [&](Floats& out) {
        return ActivateArgs{kTile, part, b.data(), matrix(out, H), unit.id};
      };
      expect_close(
          run_kernel(kBlocks, kFewThreads, d, [&](Floats& out) { activate_kernel(args(out)); }),
          plain(d, [&](auto& cpu, Floats& out) { cpu.activate(args(out)); }), 1e-6, "d");
    }
    for (const RowSet rows : {RowSet{nullptr, N * M}, RowSet{kSome.data(), 5}}) {
      const Floats g = normals(rows.count * H, 4);
      const auto args = [&](Floats& out) {
        return DeterministicGradArgs{matrix(d, H), rows, matrix(out, H), unit.id};
      };
      expect_close(run_kernel(kBlocks, kFewThreads, g,
                              [&](Floats& out) { deterministic_grad_kernel(args(out)); }),
                   plain(g, [&](auto& cpu, Floats& out) { cpu.deterministic_grad(args(out)); }),
                   1e-5, "g of d");
    }
  }
}

template <PathRule rule>
constexpr std::integral_constant<PathRule, rule> kRule;

TEST_F(FiberBackward, PathGradients) {
  const Floats b = normals(H, 5), h = random_bits(N * M * H, 6);
  const Clock clock{};
  const auto expect_same = [&](auto rule, bool shared, const RowSet& rows) {
    const Floats a = normals((shared ? N : N * M) * H, 10);
    const auto args = [&](Floats& g) {
      return PathGradArgs{.rule = rule,
                          .tile = kTile,
                          .a = matrix(a, H),
                          .b = b.data(),
                          .rows = rows,
                          .g = matrix(g, H),
                          .s = bits(h, H),
                          .draw = {/*seed=*/9, /*site=*/3},
                          .T = 0.7f};
    };
    const Floats g = normals(rows.count * H, 11);
    expect_close(
        run_kernel(kBlocks, kFewThreads, g,
                   [&](Floats& out) { path_grad_kernel<rule(), float>(args(out), &clock); }),
        plain(g, [&](auto& cpu, Floats& out) { cpu.path_grad(args(out)); }), 1e-5, "g_a");
  };
  for (const bool shared : {true, false}) {
    for (const RowSet rows :
         {RowSet{nullptr, N}, RowSet{nullptr, N * M}, RowSet{kSome.data(), 5}}) {
      const bool summed = rows.all() && rows.count == N;
      if (!summed || shared) expect_same(kRule<PathRule::sigmoid_slope>, shared, rows);
      if (summed) continue;
      expect_same(kRule<PathRule::half_score>, shared, rows);
      expect_same(kRule<PathRule::gumbel_slope>, shared, rows);
    }
  }
}

TEST_F(FiberBackward, ScoreGradients) {
  const Floats b = normals(H, 5), h = random_bits(N * M * H, 6), omega = normals(N * M, 7),
               beta = normals(H, 9);
  for (const bool shared : {true, false}) {
    const Floats a = normals((shared ? N : N * M) * H, 10);
    for (const RowSet rows : {RowSet{nullptr, shared ? N : N * M}, RowSet{kSome.data(), 5}}) {
      if (shared && !rows.all()) continue;
      for (const float* of_unit : {beta.data(), static_cast<const float*>(nullptr)}) {
        const auto args = [&](Floats& g) {
          return ScoreGradArgs{kTile,        matrix(a, H), b.data(), bits(h, H),
                               omega.data(), of_unit,      rows,     matrix(g, H)};
        };
        const Floats g = normals(rows.count * H, 11);
        const auto kernel = [&](Floats& out) {
          shared ? summed_score_grad_kernel<float>(args(out)) : score_grad_kernel<float>(args(out));
        };
        expect_close(run_kernel(kBlocks, kFewThreads, g, kernel),
                     plain(g, [&](auto& cpu, Floats& out) { cpu.score_grad(args(out)); }),
                     float_tolerance(M, 10 + 4 * M), "g_a");
      }
    }
  }
}

// R with the units of two layers, of which this is the second.
TEST_F(FiberBackward, ALearnedProposal) {
  const Floats b = normals(H, 5), h = random_bits(N * M * H, 6), omega = normals(N * M, 7),
               e = normals(2 * N * H, 8), bias = normals(2 * H, 9), ratio = normals(N * M, 10);
  const ProposalLogits R{matrix(e, 2 * H), bias.data(), /*first=*/H, /*from_P=*/1};
  const double tolerance = float_tolerance(H + M, 10 * (H + M));
  for (const std::int64_t a_rows : {std::int64_t(0), N, N * M}) {
    const Floats a = normals(a_rows * H, 11);
    const ConstMatrix logits = a_rows > 0 ? matrix(a, H) : ConstMatrix{};
    const auto of_ratio = [&](Floats& out) {  // log_ratio, then log_w
      return LogRatioArgs{kTile, logits,     b.data(),   bits(h, H),
                          R,     Write::add, out.data(), out.data() + N * M};
    };
    expect_close(run_kernel(kBlocks, kFewThreads, normals(2 * N * M, 12),
                            [&](Floats& out) { log_ratio_kernel<float>(of_ratio(out)); }),
                 plain(normals(2 * N * M, 12),
                       [&](auto& cpu, Floats& out) { cpu.log_ratio(of_ratio(out)); }),
                 tolerance, "delta and log_w");
    const auto of_grad = [&](Floats& out) {
      return ProposalGradArgs{kTile, logits,       b.data(),          bits(h, H),
                              R,     omega.data(), matrix(out, 2 * H)};
    };
    const auto grad_kernel = [&](Floats& out) {
      a_rows == N* M ? proposal_grad_kernel<float, false>(of_grad(out))
                     : proposal_grad_kernel<float, true>(of_grad(out));
    };
    const Floats before = normals(2 * N * H, 13);
    expect_close(run_kernel(kBlocks, kFewThreads, before, grad_kernel),
                 plain(before, [&](auto& cpu, Floats& out) { cpu.proposal_grad(of_grad(out)); }),
                 tolerance, "g_e");
    for (const RowSet rows : {RowSet{nullptr, a_rows}, RowSet{kSome.data(), 5}}) {
      if (a_rows == 0 || (a_rows == N && !rows.all())) continue;
      const auto of_scores = [&](Floats& out) {
        return ScoreGradArgs{kTile,   logits, b.data(),       bits(h, H), omega.data(),
                             nullptr, rows,   matrix(out, H), R,          ratio.data()};
      };
      const auto scores = [&](Floats& out) {
        a_rows == N ? summed_score_grad_kernel<float>(of_scores(out))
                    : score_grad_kernel<float>(of_scores(out));
      };
      const Floats first = run_kernel(kBlocks, kFewThreads, Floats(rows.count * H), scores);
      expect_close(
          run_kernel(kBlocks, kFewThreads, first,
                     [&](Floats& out) { add_proposal_scores_kernel<float>(of_scores(out)); }),
          plain(Floats(rows.count * H),
                [&](auto& cpu, Floats& out) { cpu.score_grad(of_scores(out)); }),
          tolerance, "g_a through R");
    }
  }
  for (const ProposalRule rule : {ProposalRule::rws, ProposalRule::bound}) {
    const auto of_weights = [&](Floats& out) {  // omega, then omega_R
      return ProposalWeightsArgs{kTile,        rule,         /*from_P=*/1, /*c=*/0.3f,
                                 omega.data(), ratio.data(), out.data(),   out.data() + N * M};
    };
    expect_close(run_kernel(kBlocks, kFewThreads, normals(2 * N * M, 14),
                            [&](Floats& out) { proposal_weights_kernel(of_weights(out)); }),
                 plain(normals(2 * N * M, 14),
                       [&](auto& cpu, Floats& out) { cpu.proposal_weights(of_weights(out)); }),
                 1e-5, "weights of the scores");
  }
  const Floats x = normals(N * 3, 15), classes{0, 2, 1, 1, 0};
  const auto of_join = [&](Floats& out) {
    return JoinTargetArgs{Output::softmax, matrix(x, 3), matrix(classes, 1), matrix(out, 6)};
  };
  expect_close(run_kernel(kBlocks, kFewThreads, Floats(N * 6),
                          [&](Floats& out) { join_target_kernel(of_join(out)); }),
               plain(Floats(N * 6), [&](auto& cpu, Floats& out) { cpu.join_target(of_join(out)); }),
               1e-7, "x and y");
}

TEST_F(FiberBackward, BetaOutOfTheAverages) {
  const Floats averages = normals(2 * H, 9);
  const auto args = [&](Floats& beta) { return MakeBetaArgs{averages.data(), H, beta.data()}; };
  expect_close(
      run_kernel(kBlocks, 32, Floats(H), [&](Floats& beta) { make_beta_kernel(args(beta)); }),
      plain(Floats(H), [&](auto& cpu, Floats& beta) { cpu.make_beta(args(beta)); }), 1e-6, "beta");
}

TEST_F(FiberBackward, SumsOverParticles) {
  for (const RowSet rows : {RowSet{nullptr, N * M}, RowSet{kSome.data(), 5}}) {
    const Floats g = normals(rows.count * H, 12), out(N * H, -1.0f);
    expect_close(run_kernel(kBlocks, kFewThreads, out,
                            [&](Floats& sum) {
                              sum_particles_kernel(kTile, rows, matrix(g, H), matrix(sum, H));
                            }),
                 plain(out,
                       [&](auto& cpu, Floats& sum) {
                         cpu.sum_particles({kTile, rows, matrix(g, H), matrix(sum, H)});
                       }),
                 float_tolerance(M, 4 * M), "sums over particles");
  }
}

// Two groups of columns; in the second case two runs of rows, added by a second launch.
TEST_F(FiberBackward, ColumnSums) {
  const Floats g = normals(N * M * H, 13), before = normals(H, 14);
  const auto expected = plain(before, [&](auto& cpu, Floats& out) {
    cpu.accumulate_column_sums({matrix(g, H), out.data()});
  });
  const double tolerance = float_tolerance(N * M, 3 * N * M);
  expect_close(run_kernel(2, kColumnThreads, before,
                          [&](Floats& out) {
                            column_sums_kernel(matrix(g, H), {out.data(), /*add=*/true});
                          }),
               expected, tolerance, "column sums");
  const Floats parts = run_kernel({2, 2}, kColumnThreads, Floats(2 * H, -1.0f), [&](Floats& out) {
    column_sums_kernel(matrix(g, H), {out.data(), /*add=*/false});
  });
  expect_close(run_kernel(2, kColumnThreads, before,
                          [&](Floats& out) {
                            column_sums_kernel(matrix(parts, H), {out.data(), /*add=*/true});
                          }),
               expected, tolerance, "column sums in two runs");
}

TEST_F(FiberBackward, BaselineSums) {
  const Floats b = normals(H, 15), h = random_bits(N * M * H, 16), C_hat = normals(N, 17);
  for (const bool shared : {true, false}) {
    const Floats a = normals((shared ? N : N * M) * H, 18), before = normals(2 * H, 19);
    expect_close(run_kernel(2, kColumnThreads, before,
                            [&](Floats& sums) {
                              baseline_sums_kernel<float>({kTile, matrix(a, H), b.data(),
                                                           bits(h, H), C_hat.data(), nullptr},
                                                          {sums.data(), /*add=*/true});
                            }),
                 plain(before,
                       [&](auto& cpu, Floats& sums) {
                         cpu.accumulate_baseline({kTile, matrix(a, H), b.data(), bits(h, H),
                                                  C_hat.data(), sums.data()});
                       }),
                 float_tolerance(N * M, 3 * N * M), "baseline sums");
  }
}

// 300 elements: more than the threads. out = {parameters, velocity}
TEST_F(FiberBackward, UpdateOfParametersAndAverages) {
  const std::int64_t size = 300;
  const Floats parts = normals(3 * size, 20), before = normals(2 * size, 21);
  const Clock clock{.step = 1, .learning_rate = 0.1f};
  plain_->set_clock(clock);
  const auto args = [&](Floats& out) {
    return UpdateArgs{.params = out.data(),
                      .arrays = {out.data() + size},
                      .parts = {parts.data(), 3, size, 4},
                      .size = size,
                      .scale = 0.01f};
  };
  expect_close(
      run_kernel(kBlocks, kThreads, before, [&](Floats& out) { update_kernel(args(out), &clock); }),
      plain(before, [&](auto& cpu, Floats& out) { cpu.update(args(out)); }), 1e-6,
      "parameters and velocity");
  // Two runs of squares, Adam's arrays, an average; a norm that clips.
  const std::int64_t long_size = kSquareRun + 300, runs = square_runs(long_size);
  const Floats gradient = normals(2 * long_size, 23);
  Floats state = normals(4 * long_size + runs, 24);
  for (float& value : state) value *= value;
  const std::vector<UpdateSegment> segments{{100, 1, 0}, {long_size, 0.5f, 0.25f}};
  const auto adam = [&](Floats& out) {
    return UpdateArgs{.optimizer = OptimizerKind::adam,
                      .params = out.data(),
                      .arrays = {out.data() + long_size, out.data() + 2 * long_size},
                      .parts = {gradient.data(), 2, long_size, 2},
                      .size = long_size,
                      .scale = 0.01f,
                      .segments = segments.data(),
                      .average = out.data() + 3 * long_size,
                      .square_sums = out.data() + 4 * long_size};
  };
  expect_close(
      run_kernel(kBlocks, kThreads, state, [&](Floats& out) { update_kernel(adam(out), &clock); }),
      plain(state, [&](auto& cpu, Floats& out) { cpu.update(adam(out)); }), 1e-5, "Adam");
  const auto squares = [&](Floats& out) {
    return SquareSumsArgs{{gradient.data(), 2, long_size, 2}, long_size, 0.01f, out.data()};
  };
  const Floats found = run_kernel(kBlocks, kThreads, Floats(runs),
                                  [&](Floats& out) { square_sums_kernel(squares(out)); });
  expect_close(found,
               plain(Floats(runs), [&](auto& cpu, Floats& out) { cpu.square_sums(squares(out)); }),
               1e-5, "squares");
  const auto norm = [&](std::vector<double>& out) {
    return GradientNormArgs{.square_sums = found.data(), .count = runs, .sums = out.data()};
  };
  const auto sums = run_kernel(1, kThreads, std::vector<double>(2),
                               [&](auto& out) { gradient_norm_kernel(norm(out)); });
  EXPECT_NEAR(sums[0], std::sqrt(double(found[0]) + found[1]), 1e-12);
  const auto averages = [&](Floats& out) {
    return BaselineUpdateArgs{.averages = out.data(),
                              .parts = {parts.data(), 3, size, 4},
                              .size = size,
                              .scale = 0.01f,
                              .decay = 0.9f};
  };
  expect_close(
      run_kernel(kBlocks, kFewThreads, normals(size, 22),
                 [&](Floats& out) { update_baseline_kernel(averages(out), &clock); }),
      plain(normals(size, 22), [&](auto& cpu, Floats& out) { cpu.update_baseline(averages(out)); }),
      1e-6, "averages");
}

TEST_F(FiberBackward, SetsTheClock) {
  const std::vector<Clock> clock = run_kernel(1, 1, std::vector<Clock>(1), [](auto& out) {
    set_clock_kernel(out.data(), {.step = 7, .learning_rate = 0.5f, .first = 9});
  });
  EXPECT_EQ(clock[0].step, 7u);
  EXPECT_EQ(clock[0].learning_rate, 0.5f);
  EXPECT_EQ(clock[0].first, 9);
}

TEST_F(FiberBackward, RowsCopiedTogether) {
  const Floats from = normals(N * M * H, 23);
  const Floats to = run_kernel(kBlocks, kFewThreads, Floats(5 * H), [&](Floats& out) {
    gather_rows_kernel(from.data(), {kSome.data(), 5}, H, out.data());
  });
  for (std::size_t k = 0; k < kSome.size(); ++k)
    EXPECT_TRUE(std::equal(&to[k * H], &to[k * H] + H, &from[kSome[k] * H])) << "row " << k;
}

TEST_F(FiberBackward, ThreePartsAddUpToTheFloat) {
  const std::int64_t size = 300, stride = 304;
  const Floats from = normals(size, 24, 100);
  const auto parts = run_kernel(
      kBlocks, kFewThreads, std::vector<Bf16>(3 * stride),
      [&](std::vector<Bf16>& out) { split_bf16_kernel(from.data(), size, out.data(), stride); });
  for (std::int64_t e = 0; e < size; ++e)
    EXPECT_EQ(to_float(parts[e]) + to_float(parts[stride + e]) + to_float(parts[2 * stride + e]),
              from[e]);
}

}  // namespace
}  // namespace sfnn

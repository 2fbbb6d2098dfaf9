// The kernels of the forward pass and of the particles' weights.
#include "kernels/gather.cuh"
#include "kernels/output.cuh"
#include "kernels/particle_weights.cuh"
#include "kernels/sample_hidden.cuh"
#include "tests/fibers/run_kernel.hpp"

namespace sfnn {
namespace {

struct FiberForward : FiberTest {};

TEST_F(FiberForward, GatherBinarisesCentresAndAddsNoise) {
  const std::int64_t rows = 30, cols = 37, N = 7;
  Random random(1);
  std::vector<std::uint8_t> grey(rows * cols);
  for (auto& byte : grey) byte = std::uint8_t(random.integer(0, 255));
  const Floats real = normals(rows * cols, 2), mean = normals(cols, 3);
  std::vector<std::int32_t> order(rows);
  for (std::int64_t i = 0; i < rows; ++i) order[i] = std::int32_t(i * 7 % rows);
  const Clock clock{.step = 5, .first = 10};
  plain_->set_clock(clock);
  for (const bool u8 : {true, false}) {
    const auto args = [&](Floats& out) {
      const auto* data = u8 ? reinterpret_cast<const std::byte*>(grey.data())
                            : reinterpret_cast<const std::byte*>(real.data());
      return GatherArgs{.data = {data, u8 ? DataColumns::Type::u8 : DataColumns::Type::f32, rows,
                                 cols, u8 ? 1 / 255.0f : 1.0f},
                        .order = order.data(),
                        .tile = {.first = 1, .N = N},
                        .binarize = u8,
                        .binarize_draw = {11, kSiteBinarizeInput},
                        .mean = u8 ? nullptr : mean.data(),
                        .inverse_scale = u8 ? nullptr : real.data(),
                        .noise = u8 ? 0 : 0.5f,
                        .noise_draw = {12, kSiteInputNoise},
                        .out = matrix(out, cols)};
    };
    expect_close(run_kernel(kBlocks, kFewThreads, Floats(N * cols),
                            [&](Floats& out) { gather_kernel(args(out), &clock); }),
                 plain(Floats(N * cols), [&](auto& cpu, Floats& out) { cpu.gather(args(out)); }),
                 1e-6, "gathered");
  }
}

template <class Unit>
Floats as_floats(const std::vector<Unit>& units) {
  Floats floats;
  for (const Unit unit : units) floats.push_back(load_unit(unit));
  return floats;
}

// 12 units go by four, 7 one by one, 130 take a lane's second turn.
TEST_F(FiberForward, DrawsAreThePlainBackendsBitForBit) {
  const Clock clock{.step = kMaxStep - 1};
  plain_->set_clock(clock);
  for (const auto& [N, M, H] : {std::tuple{1, 1, 1}, {2, 3, 12}, {1, 5, 7}, {1, 1, 130}}) {
    for (const bool shared : {true, false}) {
      const Floats a = normals((shared ? N : N * M) * H, 4), b = normals(H, 5);
      SampleHiddenArgs args{.draw = {0x123456789abcdef0, 9},
                            .tile = {.first = 70000, .N = N, .M = M, .first_particle = 3},
                            .a = matrix(a, H),
                            .b = b.data()};
      const auto drawn = [&](auto unit) {
        return as_floats(
            run_kernel(kBlocks, kFewThreads, std::vector<decltype(unit)>(N * M * H), [&](auto& h) {
              SampleHiddenArgs p = args;
              p.s = {reinterpret_cast<std::byte*>(h.data()), N * M, H};
              sample_hidden_kernel<decltype(unit)>(p, &clock);
            }));
      };
      Floats expected(N * M * H);
      SampleHiddenArgs on_plain = args;
      on_plain.s = {reinterpret_cast<std::byte*>(expected.data()), N * M, H};
      plain_->sample_hidden(on_plain);
      EXPECT_EQ(drawn(float{}), expected);
      EXPECT_EQ(drawn(Bf16{}), expected);
    }
  }
}

TEST_F(FiberForward, OutputsOfEachKind) {
  const std::int64_t N = 5, M = 4, D = 37;
  for (const OutputRow& row : kOutputs) {
    SCOPED_TRACE(row.name);
    const std::int64_t L = D * row.logits_per_output, S = scale_param_count(row.id, D);
    const Floats o = normals(N * M * L, 6, 1.5), c = normals(L, 7), w_bar = normals(N * M, 8),
                 rho = normals(S, 14);
    Floats y = random_bits(N * D, 9);
    if (row.class_target) y.assign({0, 3, 36, 7, 1});
    const OutputOperands args{
        row.id,
        {.N = N, .M = M},
        matrix(o, L),
        c.data(),
        matrix(y, std::int64_t(y.size()) / N),
        {.inverse_sigma = 2, .log_sigma = -0.7f, .rho = rho.data(), .log_jacobian = 3}};
    expect_close(run_kernel(kBlocks, kFewThreads, Floats(N * M),
                            [&](Floats& log_w) { output_log_prob_kernel(args, log_w.data()); }),
                 plain(Floats(N * M),
                       [&](auto& cpu, Floats& log_w) {
                         cpu.output_log_prob({args, log_w.data()});
                       }),
                 float_tolerance(D, 1000 * D), "log P(y|o)");

    const std::vector<std::int32_t> some{0, 3, 4, 11, 19};
    for (const RowSet rows : {RowSet{nullptr, N * M}, RowSet{some.data(), 5}}) {
      const Floats gradients(rows.count * (L + S));  // g_o, then g_scale
      const auto g_o = [&](Floats& g) { return Matrix{g.data(), rows.count, L}; };
      const auto g_scale = [&](Floats& g) {
        return Matrix{g.data() + rows.count * L, rows.count, S};
      };
      expect_close(run_kernel(kBlocks, kFewThreads, gradients,
                              [&](Floats& g) {
                                output_grad_kernel(args, w_bar.data(), rows, g_o(g), g_scale(g));
                              }),
                   plain(gradients,
                         [&](auto& cpu, Floats& g) {
                           cpu.output_grad({args, w_bar.data(), rows, g_o(g), g_scale(g)});
                         }),
                   float_tolerance(D, 1000), "g_o and g_scale");
    }

    const Floats before = normals(N * D, 10);
    expect_close(
        run_kernel(kBlocks, kFewThreads, before,
                   [&](Floats& mean) { accumulate_mean_output_kernel(args, matrix(mean, D)); }),
        plain(before,
              [&](auto& cpu, Floats& mean) {
                cpu.accumulate_mean_output({args, matrix(mean, D)});
              }),
        float_tolerance(D, 1000), "mean output");
  }
}

// out = {w_bar [N*M], C_hat [N], ess [N], omega [N*M]}
TEST_F(FiberForward, WeightsOfAWarpAndOfABlock) {
  const auto expect_rule = [&](OmegaRule rule, auto group, std::int64_t N, std::int64_t M) {
    const Floats log_w = normals(N * M, 11, 20), empty((2 * M + 2) * N);
    const auto args = [&](Floats& out) {
      float *C_hat = out.data() + N * M, *ess = C_hat + N;
      return ParticleWeightsArgs{{.N = N, .M = M}, log_w.data(), out.data(), C_hat, ess,
                                 rule, ess + N};
    };
    const auto kernel = [&](Floats& out) { particle_weights_kernel<decltype(group)>(args(out)); };
    const auto op = [&](auto& cpu, Floats& out) { cpu.particle_weights(args(out)); };
    expect_close(run_kernel(kBlocks, kThreads, empty, kernel), plain(empty, op), 1e-4, "weights");
  };
  const auto expect_equal = [&](auto group, std::int64_t N, std::int64_t M) {
    for (const OmegaRule rule : {OmegaRule::C_hat, OmegaRule::gain,
                                 OmegaRule::gain_over_geometric_mean, OmegaRule::excess})
      expect_rule(rule, group, N, M);
  };
  expect_equal(WarpGroup{}, 19, 1);  // 19 examples: more than the 16 warps
  expect_equal(WarpGroup{}, 5, 33);
  expect_equal(BlockGroup{}, 3, 5);  // three examples: more than the two blocks
  expect_equal(BlockGroup{}, 3, 300);
}

TEST_F(FiberForward, Metrics) {
  const std::int64_t N = 300;
  const Floats C_hat = normals(N, 12, 100), ess = normals(N, 13);
  const std::vector<double> before{1, 2};
  expect_close(run_kernel(1, kThreads, before,
                          [&](std::vector<double>& sums) {
                            accumulate_metrics_kernel(N, C_hat.data(), ess.data(), sums.data());
                          }),
               plain(before,
                     [&](auto& cpu, std::vector<double>& sums) {
                       cpu.accumulate_metrics({N, C_hat.data(), ess.data(), sums.data()});
                     }),
               double_tolerance(N, 100.0 * N), "metrics");
}

}  // namespace
}  // namespace sfnn

// Single ops of the CUDA backend against the plain CPU path, for what the pass's own cases do not
// reach: many particles, many rows, sizes beyond one wave of blocks, draws and noise on the data.
#include "tests/cuda/op_parity.hpp"

#include <cmath>

#include "host/devices/registry.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

TEST_P(OpParity, ParticleWeightsFromOneParticleToTenThousand) {
  // An example has a warp up to 512 particles, then a block.
  const std::int64_t many_warps = beyond_one_wave(), many_blocks = beyond_one_wave(1);
  using Shape = std::pair<std::int64_t, std::int64_t>;
  for (const auto& [N, M] : {Shape{many_warps, 1},
                             {many_warps, 2},
                             {37, 31},
                             {37, 32},
                             {37, 33},
                             {37, 100},
                             {9, 512},
                             {many_blocks, 513},
                             {2, 10000}}) {
    const auto log_w = normals(N * M, M, 30);
    const Tile tile{.N = N, .M = M};
    for (const OmegaRule rule : {OmegaRule::none, OmegaRule::w_bar, OmegaRule::C_hat, OmegaRule::gain,
                                 OmegaRule::gain_over_geometric_mean, OmegaRule::excess}) {
      expect_equal(
          (2 * M + 2) * N, 2e-4, "w_bar, C_hat, ess, omega", [&](Backend& backend, float* out) {
            const Buffer d_log_w = upload(backend, log_w);
            float *C_hat = out + N * M, *ess = C_hat + N;
            backend.particle_weights({tile, d_log_w.floats(), out, C_hat, ess, rule, ess + N});
          });
    }
  }
}

// Examples and particles may take all of their 32 bits. What PTX itself multiplies to 64 bits,
// blocks, threads and sites, stays far below 2^31: signed or unsigned is the same there, and no
// test could tell.
TEST_P(OpParity, DrawsAreTheCpusBitForBit) {
  const std::int64_t many = beyond_one_wave();
  using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  for (const auto& [N, M, H] : {Shape{1, 1, 1}, {3, 5, 31}, {1, many, 12}, {60, 5, 7}}) {
    for (const bool shared : {true, false}) {
      const auto a = normals((shared ? N : N * M) * H, 5 * H), b = normals(H, 7);
      const std::int64_t two_to_31 = std::int64_t(1) << 31;
      const Tile tile{.first = shared ? 2 * two_to_31 - N : 70000,
                      .N = N,
                      .M = M,
                      .first_particle = shared ? 3 : two_to_31 + 3};
      const Draw draw{.seed = 0x123456789abcdef0, .site = 9};
      const auto run = [&](Backend& backend, const float* logits) {
        const Buffer d_a = upload(backend, a), d_b = upload(backend, b);
        Buffer s(backend, backend.bits_bytes(N * M, H));
        backend.set_clock({.step = kMaxStep - 1});
        const ConstMatrix view{logits ? d_a.floats() : nullptr, shared ? N : N * M, H};
        backend.sample_hidden({draw, tile, view, d_b.floats(), {s.data(), N * M, H}});
        std::vector<std::uint8_t> bits(N * M * H);
        backend.download_bits({s.data(), N * M, H}, bits);
        return bits;
      };
      EXPECT_EQ(run(*gpu_, nullptr), run(*cpu_, nullptr));
      const auto gpu = run(*gpu_, a.data()), cpu = run(*cpu_, a.data());
      for (std::int64_t e = 0; e < N * M * H; ++e) {
        const std::int64_t r = e / H, i = e % H, row = shared ? r / M : r;
        const double p = 1 / (1 + std::exp(-double(a[row * H + i]) - b[i]));
        const float u =
            uniform({draw.seed, kMaxStep - 1, draw.site}, std::uint32_t(tile.first + r / M),
                    std::uint32_t(tile.first_particle + r % M), i);
        if (std::abs(u - p) < 1e-6) continue;  // a tie
        ASSERT_EQ(int(gpu[e]), int(cpu[e])) << r << ", " << i;
      }
    }
  }
}

// u lies in (0, 1], and 1 occurs: here, as does 1/2. A unit fires if u <= p.
TEST_P(OpParity, AUnitFiresWhereUIsItsProbability) {
  struct Case {
    std::int64_t example, particle;
    float u, a;  // draw and input of unit 3
  };
  const auto fast = make_backend({.device = "cpu", .threads = 1});
  for (const auto& [example, particle, u, a] : {Case{11, 82864, 1.0f, 100}, {25, 2166, 0.5f, 0}}) {
    ASSERT_EQ(uniform({1, 0, 0}, std::uint32_t(example), std::uint32_t(particle), 3), u);
    for (Backend* backend : {gpu_.get(), cpu_.get(), fast.get()}) {
      const Buffer d_a = upload(*backend, std::vector<float>(4, a)),
                   d_b = upload(*backend, std::vector<float>(4, 0.0f));
      Buffer s(*backend, backend->bits_bytes(1, 4));
      backend->set_clock({});
      backend->sample_hidden({{.seed = 1},
                              {.first = example, .N = 1, .M = 1, .first_particle = particle},
                              {d_a.floats(), 1, 4},
                              d_b.floats(),
                              {s.data(), 1, 4}});
      std::vector<std::uint8_t> bits(4);
      backend->download_bits({s.data(), 1, 4}, bits);
      EXPECT_EQ(int(bits[3]), 1) << backend->name() << ", u = " << u;
    }
  }
}

TEST_P(OpParity, ColumnSumsOfManyRows) {
  for (const auto& [rows, cols] : {std::pair{1, 1}, {100, 33}, {4097, 3}, {9000, 40}}) {
    const auto g = normals(rows * cols, rows);
    expect_equal(cols, float_tolerance(rows, rows), "column sums",
                 [&](Backend& backend, float* out) {
                   const Buffer d_g = upload(backend, g);
                   backend.accumulate_column_sums({{d_g.floats(), rows, cols}, out});
                   backend.accumulate_column_sums({{d_g.floats(), rows, cols}, out});  // adds
                 });
  }
}

TEST_P(OpParity, BaselineSumsOfManyRows) {
  for (const bool shared : {true, false}) {
    const std::int64_t N = 23, M = 200, H = 5;  // 4600 rows: several splits
    const auto a = normals((shared ? N : N * M) * H, 3), b = normals(H, 4), C_hat = normals(N, 5);
    Random random(6);
    std::vector<std::uint8_t> bits(N * M * H);
    for (auto& bit : bits) bit = std::uint8_t(random.integer(0, 1));
    expect_equal(2 * H, float_tolerance(N * M, N * M), "baseline sums",
                 [&](Backend& backend, float* out) {
                   const Buffer d_a = upload(backend, a), d_b = upload(backend, b),
                                d_C_hat = upload(backend, C_hat);
                   Buffer s(backend, backend.bits_bytes(N * M, H));
                   backend.upload_bits(bits, {s.data(), N * M, H});
                   backend.accumulate_baseline({{.N = N, .M = M},
                                                {d_a.floats(), shared ? N : N * M, H},
                                                d_b.floats(),
                                                {s.data(), N * M, H},
                                                d_C_hat.floats(),
                                                out});
                 });
  }
}

TEST_P(OpParity, GatherBinarisesCentresAndAddsNoise) {
  const std::int64_t rows = 50, cols = 39, N = 21;
  Random random(8);
  std::vector<std::uint8_t> grey(rows * cols);
  for (auto& byte : grey) byte = std::uint8_t(random.integer(0, 255));
  const auto real = normals(rows * cols, 9), mean = normals(cols, 10);
  std::vector<std::int32_t> order(rows);
  for (std::int64_t i = 0; i < rows; ++i) order[i] = std::int32_t((i * 7) % rows);
  for (const bool u8 : {true, false}) {
    for (const bool binarize : {true, false}) {
      expect_equal(N * cols, 2e-5, "gathered", [&](Backend& backend, float* out) {
        const Buffer d_grey = upload(backend, grey), d_real = upload(backend, real),
                     d_mean = upload(backend, mean), d_order = upload(backend, order);
        backend.set_clock({.step = 5, .first = 20});
        backend.gather({.data = {u8 ? d_grey.data() : d_real.data(),
                                 u8 ? DataColumns::Type::u8 : DataColumns::Type::f32, rows, cols,
                                 u8 ? 1 / 255.0f : 1.0f},
                        .order = reinterpret_cast<const std::int32_t*>(d_order.data()),
                        .tile = {.first = 4, .N = N},
                        .binarize = binarize,
                        .binarize_draw = {11, kSiteBinarizeInput},
                        .mean = binarize ? nullptr : d_mean.floats(),
                        .inverse_scale = binarize ? nullptr : d_real.floats(),
                        .noise = binarize ? 0 : 0.5f,
                        .noise_draw = {12, kSiteInputNoise},
                        .out = {out, N, cols}});
      });
    }
  }
}

TEST_P(OpParity, GatherOfManyRows) {
  const std::int64_t N = beyond_one_wave(), cols = 3;
  const auto real = normals(N * cols, 9);
  std::vector<std::int32_t> order(N);
  for (std::int64_t i = 0; i < N; ++i) order[i] = std::int32_t(N - 1 - i);
  expect_equal(N * cols, 1e-7, "gathered", [&](Backend& backend, float* out) {
    const Buffer d_real = upload(backend, real), d_order = upload(backend, order);
    backend.set_clock({});
    backend.gather({.data = {d_real.data(), DataColumns::Type::f32, N, cols, 1.0f},
                    .order = reinterpret_cast<const std::int32_t*>(d_order.data()),
                    .tile = {.N = N},
                    .out = {out, N, cols}});
  });
}

// A window holds the rows in the order in which they are asked for; draws go by the example's own.
TEST_P(OpParity, GatherFromAWindowIsGatherFromTheWhole) {
  const std::int64_t rows = 12, cols = 35, first = 4, N = 5, skipped = 2;
  Random random(8);
  std::vector<std::uint8_t> grey(rows * cols), window;
  for (auto& byte : grey) byte = std::uint8_t(random.integer(0, 255));
  const std::vector<std::int32_t> order = {3, 0, 11, 7, 5, 9, 1, 10, 2, 4, 8, 6};
  for (std::int64_t k = first; k < rows; ++k)
    window.insert(window.end(), grey.begin() + order[k] * cols,
                  grey.begin() + (order[k] + 1) * cols);
  const auto gathered = [&](Backend& backend, const std::vector<std::uint8_t>& data,
                            std::int64_t place) {
    const Buffer d_data = upload(backend, data), d_order = upload(backend, order);
    Buffer out(backend, N * cols * sizeof(float));
    backend.set_clock({.step = 5, .first = first});
    backend.gather({.data = {d_data.data(), DataColumns::Type::u8, rows, cols, 1 / 255.0f},
                    .order = reinterpret_cast<const std::int32_t*>(d_order.data()),
                    .tile = {.first = skipped, .N = N},
                    .binarize = true,
                    .binarize_draw = {11, kSiteBinarizeInput},
                    .out = {out.floats(), N, cols},
                    .place = place});
    return download(backend, out.floats(), N * cols);
  };
  const auto fast = make_backend({.device = "cpu", .threads = 1});
  const auto expected = gathered(*cpu_, grey, -1);
  for (Backend* backend : {gpu_.get(), cpu_.get(), fast.get()})
    EXPECT_EQ(gathered(*backend, window, skipped), expected) << backend->name();
}

TEST_P(OpParity, ShufflesAsTheCpuDoes) {
  for (const std::int64_t count : {0, 1, 2, 1000}) {
    const auto run = [&](Backend& backend) {
      Buffer order(backend, count * sizeof(std::int32_t));
      auto* data = reinterpret_cast<std::int32_t*>(order.data());
      backend.shuffle({{99, 3, kSitePermutation}, count, data});
      return download(backend, data, count);
    };
    const auto order = run(*gpu_);
    EXPECT_EQ(order, run(*cpu_));
    std::vector<bool> seen(count);
    for (std::int32_t i : order) seen[i] = true;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), count);
  }
}

TEST_P(OpParity, SelectsTheSameRows) {
  const std::int64_t N = 5, M = 60;
  Random random(4);
  std::vector<float> w_bar(N * M);
  for (float& w : w_bar) w = random.uniform() < 0.5 ? 0.0f : float(random.uniform());
  w_bar[7] = 1e-3f;  // the threshold itself stays
  const auto run = [&](Backend& backend) {
    const Buffer d_w_bar = upload(backend, w_bar);
    Buffer index(backend, N * M * sizeof(std::int32_t));
    const RowSet rows = backend.select_rows(
        {{.N = N, .M = M}, d_w_bar.floats(), 1e-3f, reinterpret_cast<std::int32_t*>(index.data())});
    return download(backend, rows.index, rows.count);
  };
  EXPECT_EQ(run(*gpu_), run(*cpu_));
}

TEST_P(OpParity, MeanOutputsAndMetrics) {
  for (const OutputRow& row : kOutputs) {
    SCOPED_TRACE(row.name);
    const std::int64_t N = 6, M = 4, D = 37, L = D * row.logits_per_output;
    const auto o = normals(N * M * L, 1), c = normals(L, 2), y = std::vector<float>(N * D),
               rho = normals(D, 5);
    expect_equal(N * D, 1e-4, "mean outputs", [&](Backend& backend, float* out) {
      const Buffer d_o = upload(backend, o), d_c = upload(backend, c), d_y = upload(backend, y),
                   d_rho = upload(backend, rho);
      const OutputOperands args{row.id,
                                {.N = N, .M = M},
                                {d_o.floats(), N * M, L},
                                d_c.floats(),
                                {d_y.floats(), N, target_width(row.id, D)},
                                {.rho = d_rho.floats()}};
      backend.accumulate_mean_output({args, {out, N, D}});
      backend.accumulate_mean_output({args, {out, N, D}});  // adds
    });
  }
  const std::int64_t N = 700;
  const auto C_hat = normals(N, 3, 100), ess = normals(N, 4);
  const auto sums = [&](Backend& backend) {
    const Buffer d_C_hat = upload(backend, C_hat), d_ess = upload(backend, ess);
    Buffer out(backend, 2 * sizeof(double));
    auto* data = reinterpret_cast<double*>(out.data());
    for (int k = 0; k < 2; ++k)
      backend.accumulate_metrics({N, d_C_hat.floats(), d_ess.floats(), data});
    return download(backend, data, 2);
  };
  const auto expected = sums(*cpu_);
  expect_close(sums(*gpu_), expected, double_tolerance(N, 200.0 * N), "metrics");
}

INSTANTIATE_TEST_SUITE_P(Backends, OpParity, backends_under_test(),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace sfnn

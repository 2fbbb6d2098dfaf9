// The ops behind the outputs' likelihood and the gradients, at shapes beyond a lane's first turn, a
// loop's first unrolled round and one wave of blocks, on all rows and on some of them.
#include "tests/cuda/op_parity.hpp"

namespace sfnn {
namespace {

using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

struct OpGradients : OpParity {
  const std::int64_t many_ = beyond_one_wave();

  // Every third row and a few more, ascending, somewhat more than half of them; or all.
  static std::vector<std::int32_t> some_rows(std::int64_t rows) {
    std::vector<std::int32_t> index;
    for (std::int64_t r = 0; r < rows; ++r)
      if (r % 3 == 1 || r % 7 < 2) index.push_back(std::int32_t(r));
    return index;
  }
  static RowSet row_set(const Buffer& index, std::int64_t count, bool all, std::int64_t rows) {
    return all ? RowSet{nullptr, rows}
               : RowSet{reinterpret_cast<const std::int32_t*>(index.data()), count};
  }
};

TEST_P(OpGradients, SumsOverParticles) {
  for (const auto& [N, M, H] : {Shape{1, 1, 1},
                                {2, 3, 33},
                                {3, 4, 5},
                                {2, 9, 70},
                                {40, 2, 31},
                                {9, 12, 2},
                                {1, 130, 2},
                                {many_, 2, 3}}) {
    const std::int64_t rows = N * M;
    const std::vector<std::int32_t> some = some_rows(rows);
    for (const bool all : {true, false}) {
      SCOPED_TRACE(testing::Message() << N << " x " << M << " x " << H << (all ? "" : ", some"));
      const std::int64_t count = all ? rows : std::int64_t(some.size());
      const auto g = normals(count * H, 11);
      expect_equal(N * H, float_tolerance(M, 3 * M), "sums", [&](Backend& backend, float* out) {
        const Buffer d_g = upload(backend, g), index = upload(backend, some);
        backend.sum_particles({{.N = N, .M = M},
                               row_set(index, count, all, rows),
                               {d_g.floats(), count, H},
                               {out, N, H}});
      });
    }
  }
}

// Logits of one size rise or fall along the row, so that in a running log-sum-exp each term counts
// and each may be the new largest; others are large enough to saturate. Two of PTX's own
// branches no value tells apart: a lane's first term is below its largest only if it is NaN, and
// its first sum is x + 0.
std::vector<float> logits(std::int64_t rows, std::int64_t D, double slope, double scale) {
  std::vector<float> o = normals(rows * D, 1, scale);
  for (std::int64_t e = 0; e < rows * D; ++e) o[e] += float(slope * double(e % D) / 32);
  return o;
}

std::vector<float> targets(Output output, std::int64_t N, std::int64_t D) {
  Random random(4);
  std::vector<float> y(N * target_width(output, D));
  for (float& value : y) value = float(random_target(random, output, D));
  return y;
}

struct Logits {
  double slope, scale;
};

TEST_P(OpGradients, LogLikelihoodsAndTheirGradients) {
  for (const OutputRow& row : kOutputs) {
    const Output output = row.id;
    for (const auto& [N, M, D] :
         {Shape{1, 1, 1}, {3, 2, 10}, {2, 5, 37}, {many_, 2, 2}, {1, 2, 96}, {1, 2, 300}}) {
      for (const auto& [slope, scale] : {Logits{0.4, 0.3}, {-0.4, 0.3}, {0, 10}}) {
        if (N == many_ && slope != 0) continue;  // rows are what counts there
        SCOPED_TRACE(testing::Message() << to_string(output) << " " << N << " x " << M << " x " << D
                                        << ", slope " << slope << ", scale " << scale);
        const std::int64_t rows = N * M, L = D * row.logits_per_output,
                           S = scale_param_count(output, D);
        auto o = logits(rows, L, slope, scale);
        for (std::int64_t e = 0; e < rows * L; ++e) {
          // Rates up to exp(6) and sigmas of about 1: others only add to the rounding.
          if (output == Output::poisson) o[e] = std::min(o[e], 6.0f);
          if (e % L >= D) o[e] = 0.5f * std::sin(float(e));
        }
        const auto c = normals(L, 2, 0.1), y = targets(output, N, D), w_bar = normals(rows, 3),
                   rho = normals(S, 5, 0.5);
        const auto with = [&](Backend& backend, const auto& op) {
          const Buffer d_o = upload(backend, o), d_c = upload(backend, c), d_y = upload(backend, y),
                       d_rho = upload(backend, rho);
          op(OutputOperands{output,
                            {.N = N, .M = M},
                            {d_o.floats(), rows, L},
                            d_c.floats(),
                            {d_y.floats(), N, target_width(output, D)},
                            {.inverse_sigma = 2,
                             .log_sigma = -0.7f,
                             .rho = d_rho.floats(),
                             .log_jacobian = 1.5f}});
        };
        // A lane adds up every 32nd term, the lanes' sums are added by five shuffles.
        const double size = 4 * scale + std::abs(slope) * double(D) / 32 + 4;
        // Largest d log P / d o, and largest log P of an element: 1 / sigma lies below 5.
        const bool gaussian = row.family == Output::gaussian;
        const double score = gaussian ? 25 * size : output == Output::poisson ? 500 : size;
        const double magnitude = output == Output::softmax ? size
                                 : gaussian                ? double(D) * 25 * size * size
                                                           : double(D) * score;
        expect_equal(
            rows, float_tolerance(double(D) / 32 + 5, magnitude), "log_w",
            [&](Backend& backend, float* out) {
              with(backend, [&](const OutputOperands& p) { backend.output_log_prob({p, out}); });
            });
        const std::vector<std::int32_t> some = some_rows(rows);
        for (const bool all : {true, false}) {
          const std::int64_t count = all ? rows : std::int64_t(some.size());
          // g_o, then g_scale, of which a sum over the row may be one
          const double largest = 4 * (gaussian ? magnitude : score);
          expect_equal(count * (L + S), float_tolerance(1, largest), "g_o and g_scale",
                       [&](Backend& backend, float* out) {
                         const Buffer d_w_bar = upload(backend, w_bar),
                                      index = upload(backend, some);
                         with(backend, [&](const OutputOperands& p) {
                           backend.output_grad({p,
                                                d_w_bar.floats(),
                                                row_set(index, count, all, rows),
                                                {out, count, L},
                                                {out + count * L, count, S}});
                         });
                       });
        }
        expect_equal(N * D, float_tolerance(M, M * std::max(size, score)), "mean",
                     [&](Backend& backend, float* out) {
                       with(backend, [&](const OutputOperands& p) {
                         backend.accumulate_mean_output({p, {out, N, D}});
                       });
                     });
      }
    }
  }
}

// a and g by example, a and g by particle, and a by example for each particle's g.
TEST_P(OpGradients, OfPathUnits) {
  for (const PathRule rule :
       {PathRule::one, PathRule::sigmoid_slope, PathRule::half_score, PathRule::gumbel_slope}) {
    for (const auto& [shared, summed] : {std::pair{true, true}, {false, false}, {true, false}}) {
      if (summed && reads_draw(rule)) continue;
      for (const auto& [N, M, H] : {Shape{1, 1, 1}, {3, 5, 37}, {many_, 2, 2}, {1, 9, 70}}) {
        SCOPED_TRACE(testing::Message() << int(rule) << " shared " << shared << " summed " << summed
                                        << ", " << N << " x " << M << " x " << H);
        const std::int64_t rows = N * M, a_rows = shared ? N : rows;
        const std::vector<std::int32_t> some = some_rows(rows);
        const auto a = normals(a_rows * H, 1, 3), b = normals(H, 2), g = normals(rows * H, 5);
        Random random(7);
        std::vector<std::uint8_t> bits(rows * H);
        for (auto& bit : bits) bit = std::uint8_t(random.integer(0, 1));
        for (const bool all : {true, false}) {
          if (summed && !all) continue;  // rows are the examples
          const std::int64_t height = summed ? N : rows;
          const std::int64_t count = all ? height : std::int64_t(some.size());
          expect_equal(count * H, 1e-5, "g", [&](Backend& backend, float* out) {
            const Buffer d_a = upload(backend, a), d_b = upload(backend, b),
                         index = upload(backend, some);
            backend.upload(std::as_bytes(std::span(g).first(count * H)),
                           reinterpret_cast<std::byte*>(out));
            const Buffer s(backend, backend.bits_bytes(rows, H));
            backend.upload_bits(bits, {s.data(), rows, H});
            backend.set_clock({.step = 5});
            backend.path_grad({.rule = rule,
                               .tile = {.first = 2, .N = N, .M = M},
                               .a = {d_a.floats(), a_rows, H},
                               .b = d_b.floats(),
                               .rows = row_set(index, count, all, height),
                               .g = {out, count, H},
                               .s = {s.data(), rows, H},
                               .draw = {/*seed=*/9, /*site=*/3},
                               .T = 0.7f});
          });
        }
      }
    }
  }
}

TEST_P(OpGradients, OfScoreUnits) {
  for (const bool has_beta : {true, false}) {
    for (const bool shared : {true, false}) {
      for (const auto& [N, M, H] : {Shape{1, 1, 1}, {3, 5, 37}, {many_, 2, 2}, {1, 9, 70}}) {
        SCOPED_TRACE(testing::Message() << (has_beta ? "beta" : "") << (shared ? " shared " : " ")
                                        << N << " x " << M << " x " << H);
        const std::int64_t rows = N * M, a_rows = shared ? N : rows;
        const std::vector<std::int32_t> some = some_rows(rows);
        const auto a = normals(a_rows * H, 1, 3), b = normals(H, 2), omega = normals(rows, 3, 10),
                   beta = normals(H, 6);
        Random random(7);
        std::vector<std::uint8_t> bits(rows * H);
        for (auto& bit : bits) bit = std::uint8_t(random.integer(0, 1));
        for (const bool all : {true, false}) {
          if (shared && !all) continue;  // rows are the examples
          const std::int64_t count = all ? a_rows : std::int64_t(some.size());
          expect_equal(count * H, float_tolerance(M, 300 * M), "g",
                       [&](Backend& backend, float* out) {
                         const Buffer d_a = upload(backend, a), d_b = upload(backend, b),
                                      d_omega = upload(backend, omega),
                                      d_beta = upload(backend, beta), index = upload(backend, some);
                         Buffer s(backend, backend.bits_bytes(rows, H));
                         backend.upload_bits(bits, {s.data(), rows, H});
                         backend.score_grad({.tile = {.N = N, .M = M},
                                             .a = {d_a.floats(), a_rows, H},
                                             .b = d_b.floats(),
                                             .s = {s.data(), rows, H},
                                             .omega = d_omega.floats(),
                                             .beta = has_beta ? d_beta.floats() : nullptr,
                                             .rows = row_set(index, count, all, a_rows),
                                             .g = {out, count, H}});
                       });
        }
      }
    }
  }
}

TEST_P(OpGradients, BetaOfManyUnits) {
  for (const std::int64_t H : {std::int64_t(1), beyond_one_wave(kThreads)}) {
    std::vector<float> averages = normals(2 * H, 6);
    for (std::int64_t i = 0; i < H; ++i) averages[i] = i % 3 ? std::abs(averages[i]) + 0.1f : 0.0f;
    expect_equal(H, 1e-6, "beta", [&](Backend& backend, float* out) {
      const Buffer d_averages = upload(backend, averages);
      backend.make_beta({d_averages.floats(), H, out});
    });
  }
}

TEST_P(OpGradients, DeterministicUnitsForwardAndBack) {
  std::vector<std::pair<Activation, bool>> each_unit_twice;
  for (const ActivationRow& row : kActivations)
    for (const bool second : {true, false}) each_unit_twice.emplace_back(row.id, second);
  for (const auto& [N, M, H] : {Shape{1, 1, 1}, {3, 5, 37}, {many_, 2, 4}}) {
    const std::int64_t rows = N * M;
    const auto a = normals(rows * H, 1, 5), common = normals(N * H, 2), b = normals(H, 3);
    for (const auto& [unit, shared] : each_unit_twice) {
      expect_equal(rows * H, 1e-6, "d", [&](Backend& backend, float* out) {
        const Buffer d_common = upload(backend, common), d_b = upload(backend, b);
        backend.upload(std::as_bytes(std::span(a)), reinterpret_cast<std::byte*>(out));
        backend.activate({{.N = N, .M = M},
                          {shared ? d_common.floats() : nullptr, N, H},
                          d_b.floats(),
                          {out, rows, H},
                          unit});
      });
    }
    const std::vector<std::int32_t> some = some_rows(rows);
    for (const auto& [unit, all] : each_unit_twice) {
      const std::int64_t count = all ? rows : std::int64_t(some.size());
      expect_equal(count * H, 1e-6, "g_d", [&](Backend& backend, float* out) {
        const Buffer d = upload(backend, a), index = upload(backend, some);
        backend.upload(std::as_bytes(std::span(a).first(count * H)),
                       reinterpret_cast<std::byte*>(out));
        backend.deterministic_grad(
            {{d.floats(), rows, H}, row_set(index, count, all, rows), {out, count, H}, unit});
      });
    }
  }
}

// The rows of the set are copied together first, and with bf16x3 the gradients split: both launches
// go round more than once here. Small whole numbers, whose sums are exact.
TEST_P(OpGradients, WeightsOfWhatReadsManyRows) {
  const std::int64_t rows = 2 * many_, H = 3;
  const std::vector<std::int32_t> some = some_rows(rows);
  const auto count = std::int64_t(some.size());
  ASSERT_GT(count, many_);
  const std::int64_t D = beyond_one_wave(kThreads) / count + 1;
  Random random(3);
  std::vector<float> g(count * D), z(rows * H);
  std::vector<std::uint8_t> bits(rows * H);
  for (float& value : g) value = float(random.integer(-9, 9));
  for (float& value : z) value = float(random.integer(-9, 9));
  for (auto& bit : bits) bit = std::uint8_t(random.integer(0, 1));
  for (const bool of_bits : {true, false}) {
    SCOPED_TRACE(of_bits ? "bits" : "reals");
    expect_equal(H * D, 1e-6, "gW", [&](Backend& backend, float* out) {
      const Buffer d_g = upload(backend, g), d_z = upload(backend, z),
                   index = upload(backend, some);
      Buffer s(backend, backend.bits_bytes(rows, H));
      backend.upload_bits(bits, {s.data(), rows, H});
      const RowSet set = row_set(index, count, /*all=*/false, rows);
      const ConstMatrix gradient{d_g.floats(), count, D};
      const Matrix gW{out, H, D};
      const ConstOperand from =
          of_bits ? ConstOperand(ConstBits{s.data(), rows, H}) : ConstMatrix{d_z.floats(), rows, H};
      backend.accumulate_outer({from, set, gradient, gW});
    });
  }
}

TEST_P(OpGradients, UpdatesOfSeveralParts) {
  for (const std::int64_t parts : {1, 2, 5, 9}) {
    const std::int64_t size = beyond_one_wave(kThreads), stride = size + 3;
    const auto params = normals(size, 1), velocity = normals(size, 2),
               gradient = normals(parts * stride, 3);
    for (const std::uint32_t step : {0u, 7u}) {
      expect_equal(2 * size, float_tolerance(parts, 10 * parts), "params, velocity",
                   [&](Backend& backend, float* out) {
                     const Buffer d_parts = upload(backend, gradient);
                     backend.upload(std::as_bytes(std::span(params)),
                                    reinterpret_cast<std::byte*>(out));
                     backend.upload(std::as_bytes(std::span(velocity)),
                                    reinterpret_cast<std::byte*>(out + size));
                     backend.set_clock({.step = step, .learning_rate = 0.3f});
                     backend.update({.params = out,
                                     .arrays = {out + size},
                                     .parts = {d_parts.floats(), parts, stride, 16},
                                     .size = size,
                                     .scale = 0.125f,
                                     .momentum = 0.9f});
                   });
      expect_equal(
          size, float_tolerance(parts, 10 * parts), "averages", [&](Backend& backend, float* out) {
            const Buffer d_parts = upload(backend, gradient);
            backend.upload(std::as_bytes(std::span(params)), reinterpret_cast<std::byte*>(out));
            backend.set_clock({.step = step});
            backend.update_baseline({.averages = out,
                                     .parts = {d_parts.floats(), parts, stride, 16},
                                     .size = size,
                                     .scale = 0.125f,
                                     .decay = 0.9f});
          });
    }
  }
}

// Every optimiser in segments of their own rate and decay, with an average, clipped or not.
TEST_P(OpGradients, EveryOptimizer) {
  const std::int64_t size = 3 * kSquareRun + 77, parts = 3;
  const std::vector<float> params = normals(size, 1), first = normals(size, 2),
                           gradient = normals(parts * size, 3);
  const std::vector<float> average = normals(size, 5);
  std::vector<float> second = normals(size, 4);
  for (float& value : second) value *= value;
  std::vector<UpdateSegment> segments{
      {16, 1, 0}, {kSquareRun + 48, 0.5f, 0.25f}, {size, 2, 0.125f}};
  for (const OptimizerRow& row : kOptimizers) {
    for (const bool clips : {false, true}) {
      const std::int64_t runs = square_runs(size);
      expect_equal(
          4 * size + runs, float_tolerance(parts + 32, 40), std::string(row.name).c_str(),
          [&](Backend& backend, float* out) {
            const Buffer d_parts = upload(backend, gradient),
                         clip = upload(backend, std::vector<float>{0.25f});
            Buffer d_segments(backend, segments.size() * sizeof(UpdateSegment));
            backend.upload(std::as_bytes(std::span(segments)), d_segments.data());
            std::int64_t at = 0;
            for (const std::vector<float>* values :
                 std::initializer_list<const std::vector<float>*>{&params, &first, &second,
                                                                  &average}) {
              backend.upload(std::as_bytes(std::span(*values)),
                             reinterpret_cast<std::byte*>(out + at));
              at += size;
            }
            backend.set_clock(
                {.learning_rate = 0.3f, .m_scale = 1.5f, .v_scale = 2, .average_share = 0.25f});
            backend.update({.optimizer = row.id,
                            .params = out,
                            .arrays = {out + size, row.arrays() > 1 ? out + 2 * size : nullptr},
                            .parts = {d_parts.floats(), parts, size, 4},
                            .size = size,
                            .scale = 0.125f,
                            .segments = reinterpret_cast<const UpdateSegment*>(d_segments.data()),
                            .average = out + 3 * size,
                            .clip = clips ? clip.floats() : nullptr,
                            .square_sums = clips ? nullptr : out + 4 * size});
          });
    }
  }
}

// The norm that an update leaves is that of square_sums, to the last bit.
TEST_P(OpGradients, NormOfAGradient) {
  const auto backend = make_test_backend(GetParam());
  for (const std::int64_t size : {1, 1000, 5000}) {
    const auto gradient = normals(size, 3);
    const Buffer parts = upload(*backend, gradient), params = upload(*backend, gradient);
    const Buffer velocity(*backend, size * sizeof(float)),
        squares(*backend, 2 * square_runs(size) * sizeof(float)), clip(*backend, sizeof(float)),
        sums(*backend, 2 * sizeof(double));
    const Parts g{parts.floats(), 1, size, 1};
    const std::int64_t runs = square_runs(size);
    backend->set_clock({});
    backend->update({.params = params.floats(),
                     .arrays = {velocity.floats()},
                     .parts = g,
                     .size = size,
                     .scale = 0.5f,
                     .square_sums = squares.floats()});
    backend->square_sums({g, size, 0.5f, squares.floats() + runs});
    const auto both = download(*backend, squares.floats(), 2 * runs);
    EXPECT_TRUE(std::equal(both.begin(), both.begin() + runs, both.begin() + runs));
    double square = 0;
    for (const float value : gradient) square += 0.25 * double(value) * value;
    const double norm = std::sqrt(square);
    for (const double share : {0.5, 2.0}) {
      backend->fill_zero(sums.data(), sums.bytes());
      backend->gradient_norm({.square_sums = squares.floats(),
                              .count = runs,
                              .clip_norm = float(share * norm),
                              .clip = clip.floats(),
                              .sums = reinterpret_cast<double*>(sums.data())});
      double found[2];
      backend->download(sums.data(), std::as_writable_bytes(std::span(found)));
      EXPECT_NEAR(found[0], norm, 1e-5 * norm);
      EXPECT_EQ(found[1], share < 1 ? 1 : 0);
      EXPECT_NEAR(download(*backend, clip.floats(), 1)[0], std::min(1.0, share), 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, OpGradients, backends_under_test(),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace sfnn

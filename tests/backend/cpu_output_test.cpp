// Outputs and the weights of particles, by the production CPU path, against the plain one.
#include "tests/backend/cpu_backend_test.hpp"

namespace sfnn {
namespace {

class CpuOutputTest : public CpuBackendTest {
 protected:
  template <class Body>  // body(args, selected rows)
  void for_outputs(const Body& body) {
    for (const OutputRow& row : kOutputs) {
      const Output output = row.id;
      for (bool shared : {false, true}) {
        for_shapes([&](const Shape& s, std::uint64_t seed) {
          if (s.H == 0) return;
          SCOPED_TRACE(testing::Message() << row.name << " shared " << shared);
          const Tile tile{.N = s.N, .M = shared ? 1 : s.M};
          Random random(seed);
          const std::int64_t D_y = target_width(output, s.H), L = s.H * row.logits_per_output;
          Floats y(std::size_t(s.N * D_y));
          for (float& value : y) value = float(random_target(random, output, s.H));
          const Floats o = normals(tile.rows() * L, seed + 1, row.logits_per_output > 1 ? 1 : 4),
                       c = normals(L, seed + 2), rho = normals(scale_param_count(output, s.H), 9);
          const auto index = some_rows(tile.rows(), seed + 3);
          body(OutputOperands{.output = output,
                              .tile = tile,
                              .o = view(o, tile.rows(), L),
                              .c = c.data(),
                              .y = view(y, s.N, D_y),
                              .scale = {.inverse_sigma = 2,
                                        .log_sigma = -0.7f,
                                        .rho = rho.data(),
                                        .log_jacobian = 1.5f}},
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
      Floats mean(std::size_t(args.tile.N * args.D_out()) + 1, 0.25f);
      backend.accumulate_mean_output({args, view(mean, args.tile.N, args.D_out())});
      return mean;
    });
  });
}

TEST_P(CpuOutputTest, Gradient) {
  for_outputs([&](const OutputOperands& args, RowSet some) {
    const Floats w_bar = normals(args.tile.rows(), 5);
    for (RowSet rows : {some, RowSet{nullptr, args.tile.rows()}}) {
      expect_same(1e-5, [&](Backend& backend) {
        const std::int64_t S = scale_param_count(args.output, args.D_out());
        const std::int64_t size = rows.count * args.o.cols;  // of g_o; g_scale follows
        Floats g(std::size_t(size + rows.count * S) + 1, kUntouched);
        backend.output_grad({args,
                             w_bar.data(),
                             rows,
                             view(g, rows.count, args.o.cols),
                             {g.data() + size, rows.count, S}});
        return g;
      });
    }
  });
}

TEST_P(CpuOutputTest, ParticleWeights) {
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

TEST_P(CpuOutputTest, OmegaByItsRule) {
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
TEST_P(CpuOutputTest, OmegaOfComparedParticles) {
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

SFNN_INSTANTIATE_FOR_INSTRUCTION_SETS(CpuOutputTest);

}  // namespace
}  // namespace sfnn

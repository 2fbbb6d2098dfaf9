#include "tests/support/proposal_reference.hpp"

#include <algorithm>
#include <cmath>

#include "host/train/proposal.hpp"
#include "host/train/train_options.hpp"
#include "tests/support/run_pass.hpp"

namespace sfnn {
namespace {

double log_sigmoid(double a) {
  return a < 0 ? a - std::log1p(std::exp(a)) : -std::log1p(std::exp(-a));
}

std::int64_t target_width(const NetworkSpec& spec) {
  return spec.output == Output::softmax ? 1 : spec.D_out;
}

Vector row(const Vector& matrix, std::int64_t r, std::int64_t cols) {
  return Vector(matrix.begin() + r * cols, matrix.begin() + (r + 1) * cols);
}

// R's pass for example n: it reads x, then y, a class as a one-hot vector.
ReferenceParticle forward_R(const ProposalNetworks& nets, const ReferenceBatch& batch,
                            std::int64_t n) {
  Vector input = row(batch.x, n, nets.P.D_in);
  const Vector y = row(batch.y, n, target_width(nets.P));
  if (nets.P.output == Output::softmax) {
    for (std::int64_t k = 0; k < nets.P.D_out; ++k)
      input.push_back(double(k == std::int64_t(y[0])));
  } else {
    input.insert(input.end(), y.begin(), y.end());
  }
  return reference_forward(nets.R, nets.params_R, input, Vector(nets.R.D_out, 0.0),
                           [](std::int64_t, std::int64_t, double) { return 0.0; });
}

// One particle in both distributions.
struct Both {
  ReferenceParticle particle;
  Vector s, score_P, score_R;  // of all stochastic units, in the order of R's outputs
  double log_R = 0;
};

Both both_of(const ProposalNetworks& nets, const ReferenceBatch& batch, std::int64_t r,
             const Vector& e) {
  const std::int64_t n = r / batch.M;
  const auto draw = [&](std::int64_t l, std::int64_t i, double) {
    return double(batch.bits[l][r * nets.P.hidden[l].n_s + i]);
  };
  Both both{.particle = reference_forward(nets.P, nets.params_P, row(batch.x, n, nets.P.D_in),
                                          row(batch.y, n, target_width(nets.P)), draw)};
  for (const ReferenceLayer& layer : both.particle.layers) {
    for (std::size_t i = 0; i < layer.s.size(); ++i) {
      const double logit = layer.a[i] + e[both.s.size()];
      both.log_R += layer.s[i] * log_sigmoid(logit) + (1 - layer.s[i]) * log_sigmoid(-logit);
      both.score_P.push_back(layer.score[i]);
      both.score_R.push_back(layer.s[i] - 1 / (1 + std::exp(-logit)));
      both.s.push_back(layer.s[i]);
    }
  }
  return both;
}

// C_hat - that of the other particles; C_hat itself if there are none.
double leave_one_out(const Vector& log_w, std::size_t m) {
  const double all = log_sum_exp(log_w) - std::log(double(log_w.size()));
  if (log_w.size() == 1) return all;
  Vector others = log_w;
  others.erase(others.begin() + std::ptrdiff_t(m));
  return all - (log_sum_exp(others) - std::log(double(others.size())));
}

}  // namespace

Vector reference_shifts(const ProposalNetworks& nets, const ReferenceBatch& batch, std::int64_t n) {
  return forward_R(nets, batch, n).o;
}

ProposalResult reference_proposal(const ProposalNetworks& nets, const ReferenceBatch& batch,
                                  const ProposalCase& c) {
  const std::int64_t M = batch.M;
  const double share_P = double(c.from_P) / double(M);
  ProposalResult result{.log_w = {},
                        .w_bar = {},
                        .C_hat = {},
                        .log_drawn = {},
                        .gradient_P = Vector(nets.params_P.size(), 0.0),
                        .gradient_R = Vector(nets.params_R.size(), 0.0)};
  for (std::int64_t n = 0; n < batch.N; ++n) {
    const ReferenceParticle R = forward_R(nets, batch, n);
    std::vector<Both> particles;
    Vector log_w;
    for (std::int64_t m = 0; m < M; ++m) {
      particles.push_back(both_of(nets, batch, n * M + m, R.o));
      const Both& both = particles.back();
      const double log_P = both.particle.log_p;
      const double mixture = share_P * std::exp(log_P) + (1 - share_P) * std::exp(both.log_R);
      log_w.push_back(both.particle.log_w + log_P - std::log(mixture));
      result.log_drawn.push_back(m < c.from_P ? log_P : both.log_R);
    }
    const double total = log_sum_exp(log_w);
    result.C_hat.push_back(total - std::log(double(M)));
    Vector g_e(nets.R.D_out, 0.0);
    for (std::int64_t m = 0; m < M; ++m) {
      const Both& both = particles[m];
      const double w_bar = std::exp(log_w[m] - total);
      result.log_w.push_back(log_w[m]);
      result.w_bar.push_back(w_bar);
      const bool from_P = m < c.from_P;
      double k_P = 0, k_R = 0, through_r = 0;  // through_r: what P gets by way of R's logits
      switch (c.rule) {
        case ProposalRule::rws:
          k_P = w_bar - (from_P ? c.c_P_off_P : c.c_P_off_R);
          k_R = w_bar - (from_P ? c.c_R_off_P : c.c_R_off_R);
          break;
        case ProposalRule::bound: {
          const double P = share_P * std::exp(both.particle.log_p);
          const double pi = P / (P + (1 - share_P) * std::exp(both.log_R));
          const double omega = leave_one_out(log_w, std::size_t(m));
          k_P = w_bar * (1 - pi) + (from_P ? omega : 0);
          k_R = through_r = -w_bar * (1 - pi) + (from_P ? 0 : omega);
          break;
        }
      }
      std::vector<Vector> g_score;
      std::size_t unit = 0;
      for (const LayerSpec& layer : nets.P.hidden) {
        g_score.emplace_back();
        for (std::int64_t i = 0; i < layer.n_s; ++i, ++unit) {
          g_score.back().push_back(k_P * both.score_P[unit] + through_r * both.score_R[unit]);
          g_e[unit] += k_R * both.score_R[unit];
        }
      }
      reference_backward(nets.P, nets.params_P, both.particle,
                         reference_output_gradient(nets.P, nets.params_P, both.particle, w_bar,
                                                   row(batch.y, n, target_width(nets.P))),
                         g_score, result.gradient_P);
    }
    reference_backward(nets.R, nets.params_R, R, {.o = g_e, .rho = {}},
                       std::vector<Vector>(nets.R.depth()), result.gradient_R);
  }
  return result;
}

PassOptions pass_of(ProposalRule rule, std::int64_t from_P, double c) {
  const TrainOptions options{.c = c,
                             .proposal = {.on = true, .particles_from_P = from_P, .rule = rule}};
  return {.estimator = estimator_of(options),
          .c = float(c),
          .proposal = {.on = true, .from_P = from_P, .rule = rule}};
}

EngineProposal run_proposal(Backend& backend, const ProposalNetworks& nets,
                            const ReferenceBatch& batch, const EngineProposalOptions& options) {
  const auto to_float = [](const Vector& v) { return std::vector<float>(v.begin(), v.end()); };
  const std::int64_t N = batch.N, M = batch.M, tile_size = options.tile ? options.tile : N;
  const Buffer params_P = upload(backend, to_float(nets.params_P)),
               params_R = upload(backend, to_float(nets.params_R));
  Buffer part_P(backend, params_P.bytes()), part_R(backend, params_R.bytes());
  Buffer C_hat(backend, N * sizeof(float)), ess(backend, N * sizeof(float));
  Pass pass(backend, nets.P, options.pass, tile_size, M);
  ProposalPass proposal(backend, nets.R, tile_size, /*backward=*/true);
  backend.set_clock({.step = 3});
  EngineProposal result;
  result.bits.resize(nets.P.depth());
  for (std::int64_t first = 0; first < N; first += tile_size) {
    const Tile tile{.first = first, .N = std::min(tile_size, N - first), .M = M};
    const auto put = [&](const Vector& values, Matrix to) {
      const auto begin = values.begin() + first * to.cols;
      const auto rows = to_float(Vector(begin, begin + tile.N * to.cols));
      backend.upload(std::as_bytes(std::span(rows)), reinterpret_cast<std::byte*>(to.data));
    };
    put(batch.x, pass.x(tile.N));
    put(batch.y, pass.y(tile.N));
    const ProposalLogits e = options.without_R
                                 ? ProposalLogits{}
                                 : proposal.forward(tile, pass, nets.P.output, params_R.floats());
    if (options.draw) {
      pass.forward(tile, params_P.floats(), e);
    } else {
      HiddenBits bits(batch.bits.size());
      for (std::size_t l = 0; l < bits.size(); ++l) {
        const std::int64_t stride = M * nets.P.hidden[l].n_s;
        bits[l].assign(batch.bits[l].begin() + first * stride,
                       batch.bits[l].begin() + (first + tile.N) * stride);
      }
      pass.forward(tile, params_P.floats(), bits, e);
    }
    pass.log_prob(params_P.floats());
    pass.weigh(C_hat.floats() + first, ess.floats() + first);
    pass.backward(params_P.floats(), nullptr, C_hat.floats() + first, part_P.floats());
    if (!options.without_R)
      proposal.backward(pass, params_P.floats(), params_R.floats(), part_R.floats());
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(result.log_w, download(backend, pass.log_w(), tile.rows()));
    append(result.w_bar, download(backend, pass.w_bar(), tile.rows()));
    for (std::int64_t l = 0; l < nets.P.depth(); ++l) {
      std::vector<std::uint8_t> bits(tile.rows() * nets.P.hidden[l].n_s);
      backend.download_bits(pass.s(l), bits);
      append(result.bits[l], bits);
    }
  }
  result.C_hat = download(backend, C_hat.floats(), N);
  result.gradient_P = download(backend, part_P.floats(), std::int64_t(nets.params_P.size()));
  result.gradient_R = download(backend, part_R.floats(), std::int64_t(nets.params_R.size()));
  return result;
}

}  // namespace sfnn

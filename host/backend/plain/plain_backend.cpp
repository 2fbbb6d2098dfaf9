#include "host/backend/plain/plain_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/activations.hpp"
#include "kernels/gather.hpp"
#include "kernels/hidden_grad.hpp"
#include "kernels/particle_weights.hpp"
#include "kernels/proposal.hpp"
#include "kernels/update.hpp"

namespace sfnn {
namespace {

// h is stored as floats that are exactly 0 or 1.
ConstMatrix as_matrix(ConstBits s) {
  return {reinterpret_cast<const float*>(s.data), s.rows, s.cols};
}
Matrix as_matrix(Bits s) { return {reinterpret_cast<float*>(s.data), s.rows, s.cols}; }
ConstMatrix as_matrix(const ConstOperand& z) { return z.is_bits ? as_matrix(z.bits()) : z.reals(); }

// The row of a matrix that has one row per example, or one per particle, for particle row r.
const float* row_of(ConstMatrix m, const Tile& tile, std::int64_t r) {
  return m.row(tile.row_in(m.rows, r));
}

// a + b of particle row r; zero if there is no a.
float logit_at(ConstMatrix a, const float* b, const Tile& tile, std::int64_t r, std::int64_t i) {
  return a.data ? row_of(a, tile, r)[i] + b[i] : 0.0f;
}

// g += omega_R (h - sigma(r)), summed over particles if they share a.
void add_proposal_scores(const ScoreGradArgs& p) {
  const ConstMatrix h = as_matrix(p.s);
  const std::int64_t of_row = p.a.rows == p.tile.N ? p.tile.M : 1;
  for (std::int64_t k = 0; k < p.g.rows; ++k) {
    const std::int64_t first = p.rows.source(k) * of_row;
    for (std::int64_t r = first; r < first + of_row; ++r) {
      for (std::int64_t i = 0; i < p.g.cols; ++i) {
        const float logit = logit_at(p.a, p.b, p.tile, r, i) + p.R.at(r / p.tile.M, i);
        p.g.row(k)[i] += p.omega_R[r] * (h.row(r)[i] - sigmoid(logit));
      }
    }
  }
}

float log_sum_exp_of_row(const float* o, const float* c, std::int64_t D) {
  LogSumExp<float> lse;
  for (std::int64_t i = 0; i < D; ++i) lse.add(o[i] + c[i]);
  return lse.value();
}

float normalizer(const OutputOperands& p, const float* o) {
  return has_class_target(p.output) ? log_sum_exp_of_row(o, p.c, p.o.cols) : 0.0f;
}

// to += factor * from
void add_row(float factor, const float* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

void begin(Matrix out, Write write) {
  if (write == Write::set) std::fill_n(out.data, out.size(), 0.0f);
}

const float* target_row(const OutputOperands& p, std::int64_t r) { return p.y.row(r / p.tile.M); }

// f(i) for every element; what f returns is summed run by run.
template <class F>
void for_square_runs(std::int64_t size, float* square_sums, const F& f) {
  for (std::int64_t run = 0; run < square_runs(size); ++run) {
    float squares = 0;
    const std::int64_t end = std::min((run + 1) * kSquareRun, size);
    for (std::int64_t i = run * kSquareRun; i < end; ++i) squares += f(i);
    if (square_sums) square_sums[run] = squares;
  }
}

}  // namespace

std::string PlainBackend::describe() const {
  return fmt::format("cpu, plain path ({} threads)", lanes());
}

std::size_t PlainBackend::bits_bytes(std::int64_t rows, std::int64_t cols) const {
  return std::size_t(rows) * cols * sizeof(float);
}

void PlainBackend::do_upload_bits(std::span<const std::uint8_t> from, Bits to) {
  std::copy(from.begin(), from.end(), as_matrix(to).data);
}

void PlainBackend::do_download_bits(ConstBits from, std::span<std::uint8_t> to) {
  const ConstMatrix h = as_matrix(from);
  std::copy_n(h.data, to.size(), to.data());
}

Tiling PlainBackend::choose_tiling(const StepShape& shape) const {
  return {.tile = std::max<std::int64_t>(1, (shape.batch + 7) / 8), .parts = 8};
}

void PlainBackend::run(const GatherArgs& p) {
  const DrawKey binarize = key(p.binarize_draw), noise = key(p.noise_draw);
  for (std::int64_t n = 0; n < p.tile.N; ++n) {
    const std::int64_t position = clock().first + p.tile.first + n;
    const std::int64_t row = p.order ? p.order[position] : position;
    for (std::int64_t i = 0; i < p.data.cols; ++i)
      p.out.row(n)[i] = gather_at(p, n, row, i, binarize, noise);
  }
}

void PlainBackend::run(const MultiplyArgs& p) {
  const ConstMatrix z = as_matrix(p.z);
  begin(p.out, p.write);
  for (std::int64_t r = 0; r < z.rows; ++r)
    for (std::int64_t k = 0; k < z.cols; ++k)
      add_row(z.row(r)[k], p.W.row(k), p.out.row(r), p.W.cols);
}

void PlainBackend::run(const MultiplyTransposedArgs& p) {
  begin(p.out, p.write);
  for (std::int64_t r = 0; r < p.g.rows; ++r)
    for (std::int64_t i = 0; i < p.W.rows; ++i)
      p.out.row(r)[i] += std::inner_product(p.W.row(i), p.W.row(i) + p.W.cols, p.g.row(r), 0.0f);
}

void PlainBackend::run(const AccumulateOuterArgs& p) {
  const ConstMatrix z = as_matrix(p.z);
  for (std::int64_t k = 0; k < p.g.rows; ++k)
    for (std::int64_t i = 0; i < z.cols; ++i)
      add_row(z.row(p.rows.source(k))[i], p.g.row(k), p.gW.row(i), p.g.cols);
}

void PlainBackend::run(const SampleHiddenArgs& p) {
  const Matrix h = as_matrix(p.s);
  for (std::int64_t r = 0; r < p.tile.rows(); ++r) {
    const auto [example, particle] = drawing_row(p.tile, p.draw, r);
    for (std::int64_t i = 0; i < h.cols; ++i) {
      const float e = p.R.draws(particle) ? p.R.at(r / p.tile.M, i) : 0.0f;
      const float probability = sigmoid(logit_at(p.a, p.b, p.tile, r, i) + e);
      h.row(r)[i] = uniform(key(p.draw), example, particle, i) <= probability ? 1.0f : 0.0f;
    }
  }
}

void PlainBackend::run(const ActivateArgs& p) {
  for (std::int64_t r = 0; r < p.d.rows; ++r) {
    for (std::int64_t i = 0; i < p.d.cols; ++i) {
      float& value = p.d.row(r)[i];
      const float shared = p.shared.data ? row_of(p.shared, p.tile, r)[i] : 0.0f;
      value = activation_at(p.activation, value + p.b[i] + shared);
    }
  }
}

void PlainBackend::run(const OutputLogProbArgs& args) {
  const OutputOperands& p = args.of;
  for (std::int64_t r = 0; r < p.o.rows; ++r) {
    const float* o = p.o.row(r);
    const float* y = target_row(p, r);
    double sum = -double(normalizer(p, o));
    for (std::int64_t i = 0; i < p.D_out(); ++i) {
      sum += log_prob_at(p.output, o[i] + p.c[i], target_at(p.output, y, i), p.deviation(o, i));
    }
    args.log_w[r] = float(sum + double(p.scale.log_jacobian));
  }
}

void PlainBackend::run(const AccumulateMeanOutputArgs& args) {
  const OutputOperands& p = args.of;
  for (std::int64_t r = 0; r < p.o.rows; ++r) {
    const float* o = p.o.row(r);
    float* out = args.mean.row(r / p.tile.M);
    const float lse = normalizer(p, o);
    for (std::int64_t i = 0; i < p.D_out(); ++i)
      out[i] += output_mean_at(p.output, o[i] + p.c[i], lse);
  }
}

void PlainBackend::run(const ParticleWeightsArgs& p) {
  const std::int64_t M = p.tile.M;
  for (std::int64_t n = 0; n < p.tile.N; ++n) {
    const float* row = p.log_w + n * M;
    LogSumExp<float> lse;
    for (std::int64_t m = 0; m < M; ++m) lse.add(row[m]);
    float squares = 0;
    for (std::int64_t m = 0; m < M; ++m) {
      const float w = std::exp(row[m] - lse.max) / lse.sum;
      p.w_bar[n * M + m] = w;
      squares += w * w;
    }
    p.C_hat[n] = lse.value() - std::log(float(M));
    p.ess[n] = 1.0f / squares;
    if (p.omega_rule == OmegaRule::none) continue;
    ParticleRow<float> particles{float(M), p.C_hat[n], lse};
    for (std::int64_t m = 0; m < M; ++m) particles.add(row[m]);
    for (std::int64_t m = 0; m < M; ++m)
      p.omega[n * M + m] = omega_at(p.omega_rule, particles, row[m], p.w_bar[n * M + m]);
  }
}

void PlainBackend::run(const LogRatioArgs& p) {
  const ConstMatrix h = as_matrix(p.s);
  const float share_P = float(p.R.from_P) / float(p.tile.M);
  for (std::int64_t r = 0; r < p.tile.rows(); ++r) {
    double sum = 0;
    for (std::int64_t i = 0; i < h.cols; ++i)
      sum += log_ratio_at(logit_at(p.a, p.b, p.tile, r, i), p.R.at(r / p.tile.M, i), h.row(r)[i]);
    float& delta = p.log_ratio[r];
    delta = p.write == Write::add ? delta + float(sum) : float(sum);
    if (p.log_w) p.log_w[r] += log_weight_of_ratio(delta, share_P);
  }
}

void PlainBackend::run(const ProposalGradArgs& p) {
  const ConstMatrix h = as_matrix(p.s);
  for (std::int64_t n = 0; n < p.tile.N; ++n) {
    for (std::int64_t i = 0; i < h.cols; ++i) {
      float sum = 0;
      for (std::int64_t r = n * p.tile.M; r < (n + 1) * p.tile.M; ++r)
        sum +=
            p.omega_R[r] * (h.row(r)[i] - sigmoid(logit_at(p.a, p.b, p.tile, r, i) + p.R.at(n, i)));
      p.g_e.row(n)[p.R.first + i] = sum;
    }
  }
}

// The score of rho goes to a second logit, to rho's own column, or to the row's sum.
void PlainBackend::run(const OutputGradArgs& args) {
  const OutputOperands& p = args.of;
  const std::int64_t D = p.D_out();
  for (std::int64_t i = 0; i < args.rows.count; ++i) {
    const std::int64_t r = args.rows.source(i);
    const float* o = p.o.row(r);
    const float* y = target_row(p, r);
    const float lse = normalizer(p, o), weight = args.weight[r];
    float *g_o = args.g_o.row(i), *g_scale = args.g_scale.row(i);
    double sum = 0;
    for (std::int64_t j = 0; j < D; ++j) {
      const float logit = o[j] + p.c[j], t = target_at(p.output, y, j);
      const Deviation<float> deviation = p.deviation(o, j);
      g_o[j] = weight * output_score_at(p.output, logit, t, lse, deviation);
      switch (p.output) {
        case Output::gaussian_learnt:
          sum += scale_score_at(logit, t, deviation);
          g_scale[0] = float(weight * sum);
          break;
        case Output::gaussian_each:
          g_scale[j] = weight * scale_score_at(logit, t, deviation);
          break;
        case Output::gaussian_predicted:
          g_o[D + j] = weight * scale_score_at(logit, t, deviation);
          break;
        case Output::softmax:
        case Output::bernoulli:
        case Output::gaussian:
        case Output::poisson:
          break;  // no rho
      }
    }
  }
}

void PlainBackend::run(const PathGradArgs& p) {
  for (std::int64_t k = 0; k < p.g.rows; ++k) {
    const std::int64_t r = p.rows.source(k);
    const float* a = p.by_example() ? p.a.row(k) : row_of(p.a, p.tile, r);
    const auto [example, particle] = drawing_row(p.tile, p.draw, r);
    for (std::int64_t i = 0; i < p.g.cols; ++i) {
      PathUnit<float> unit{a[i] + p.b[i]};
      if (reads_draw(p.rule))
        unit = {unit.a, as_matrix(p.s).row(r)[i], uniform(key(p.draw), example, particle, i)};
      p.g.row(k)[i] *= path_weight(p.rule, unit, p.T);
    }
  }
}

void PlainBackend::run(const ScoreGradArgs& p) {
  const std::int64_t M = p.tile.M;
  const bool summed = p.a.rows == p.tile.N;
  const auto beta = [&](std::int64_t i) { return p.beta ? p.beta[i] : 0.0f; };
  const ConstMatrix h = as_matrix(p.s);
  for (std::int64_t k = 0; k < p.g.rows; ++k) {
    const std::int64_t r = p.rows.source(k);
    const float* a = p.a.row(r);
    for (std::int64_t i = 0; i < p.g.cols; ++i) {
      const float probability = sigmoid(a[i] + p.b[i]);
      if (!summed) {
        p.g.row(k)[i] = (p.omega[r] - beta(i)) * (h.row(r)[i] - probability);
        continue;
      }
      ScoreSums<float> sums;
      float omega_sum = 0;
      for (std::int64_t m = k * M; m < (k + 1) * M; ++m) {
        omega_sum += p.omega[m];
        sums.omega_h += p.omega[m] * h.row(m)[i];
        sums.h += h.row(m)[i];
      }
      p.g.row(k)[i] = summed_score(sums, omega_sum, beta(i), probability, float(M));
    }
  }
  if (p.omega_R) add_proposal_scores(p);
}

void PlainBackend::run(const DeterministicGradArgs& p) {
  for (std::int64_t k = 0; k < p.g.rows; ++k) {
    const float* value = p.d.row(p.rows.source(k));
    for (std::int64_t i = 0; i < p.g.cols; ++i) p.g.row(k)[i] *= slope_at(p.activation, value[i]);
  }
}

void PlainBackend::run(const SumParticlesArgs& p) {
  std::fill_n(p.out.data, p.out.size(), 0.0f);
  for (std::int64_t k = 0; k < p.rows.count; ++k) {
    float* sum = p.out.row(p.rows.source(k) / p.tile.M);
    for (std::int64_t i = 0; i < p.g.cols; ++i) sum[i] += p.g.row(k)[i];
  }
}

void PlainBackend::run(const AccumulateColumnSumsArgs& p) {
  for (std::int64_t k = 0; k < p.g.rows; ++k) {
    for (std::int64_t i = 0; i < p.g.cols; ++i) p.gb[i] += p.g.row(k)[i];
  }
}

void PlainBackend::run(const AccumulateBaselineArgs& p) {
  const ConstMatrix h = as_matrix(p.s);
  for (std::int64_t r = 0; r < p.tile.rows(); ++r) {
    for (std::int64_t i = 0; i < h.cols; ++i) {
      const float score = h.row(r)[i] - sigmoid(row_of(p.a, p.tile, r)[i] + p.b[i]);
      p.sums[i] += score * score;
      p.sums[h.cols + i] += score * score * p.C_hat[r / p.tile.M];
    }
  }
}

void PlainBackend::run(const UpdateArgs& p) {
  const float scale = gradient_scale(p);
  SegmentCursor segments(p);
  for_square_runs(p.size, p.square_sums, [&](std::int64_t i) {
    const float g = scale * part_sum(p.parts, i);
    step_at(p, segments.at(i), clock(), i, g);
    return g * g;
  });
}

void PlainBackend::run(const SquareSumsArgs& p) {
  for_square_runs(p.size, p.square_sums, [&](std::int64_t i) {
    const float g = p.scale * part_sum(p.parts, i);
    return g * g;
  });
}

}  // namespace sfnn

#include "host/train/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "host/base/error.hpp"
#include "host/base/statistics.hpp"
#include "host/train/pass.hpp"
#include "host/train/proposal.hpp"
#include "host/train/staged_data.hpp"
#include "kernels/output.hpp"
#include "kernels/particle_weights.hpp"
#include "kernels/philox.hpp"

namespace sfnn {
namespace {

// What a tile's examples add to the figures. Tiles are summed in order, so the threads do not
// matter.
struct Sums {
  std::vector<double> curve;
  double ess = 0, errors = 0, mean_sse = 0;
  std::vector<double> confusion;  // as in Evaluation
};

// One set of draws: its figures and, of each example, what they are the means of.
struct OneDraw {
  Evaluation figures;          // with log_p
  std::vector<double> losses;  // of the mean prediction: 1 for a wrong class, or the SSE
};

// Runs of tiles, each summed by one thread, and then added in order. The result depends on their
// number, which is why it does not follow the threads'; 32 keep as many busy, and take 32 curves of
// M figures.
constexpr std::int64_t kParts = 32;

// A pass of P and, if particles are drawn from R, one of R beside it.
struct DrawingPass {
  DrawingPass(const Model& model, const Model* of_R, std::uint64_t seed, bool same_draws,
              std::int64_t tile, std::int64_t M)
      : P(model),
        R(of_R),
        pass(model.backend(), model.spec(),
             {.seed = seed,
              .first_site = model.first_site(),
              .same_draws = same_draws,
              .backward = false,
              .y_units = model.target_units(),
              .proposal = {.on = of_R != nullptr}},
             tile, M) {
    if (R) proposal.emplace(model.backend(), R->spec(), tile, /*backward=*/false);
  }

  // Of a tile whose x and y are in the pass, or of a further chunk of its particles.
  void forward(const Tile& tile) {
    if (R && tile.first_particle == 0)
      e = proposal->forward(tile, pass, P.spec().output, R->params());
    pass.forward(tile, P.params(), e);
  }

  const Model& P;
  const Model* R;  // null: there is none
  Pass pass;
  std::optional<ProposalPass> proposal;
  ProposalLogits e;
};

// One lane's workspace.
struct Lane {
  Lane(const Model& model, const Model* R, std::uint64_t seed, bool same_draws, std::int64_t tile,
       std::int64_t chunk, bool predict)
      : drawing(model, R, seed, same_draws, tile, chunk),
        mean(model.backend(), predict ? sizeof(float) * tile * model.spec().D_out : 0),
        log_w(tile * chunk),
        mean_host(predict ? tile * model.spec().D_out : 0) {}

  DrawingPass drawing;
  Buffer mean;
  std::vector<float> log_w, mean_host;
};

// C_hat_1 .. C_hat_M of each example as its particles go by, in double.
class RunningCriterion {
 public:
  explicit RunningCriterion(std::int64_t N) : examples_(N) {}

  void add(const Tile& tile, const float* log_w, std::vector<double>& curve) {
    for (std::int64_t n = 0; n < tile.N; ++n) {
      for (std::int64_t m = 0; m < tile.M; ++m) {
        const std::int64_t k = tile.first_particle + m;
        examples_[n].add(log_w[n * tile.M + m]);
        curve[k] += examples_[n].weights.value() - std::log(double(k + 1));
      }
    }
  }
  double C_hat(std::int64_t n, std::int64_t M) const {
    return examples_[n].weights.value() - std::log(double(M));
  }
  double effective_particles(std::int64_t n) const { return examples_[n].effective(); }

 private:
  std::vector<WeightSums<double>> examples_;
};

// Are targets numbers that a mean prediction misses by so much?
bool has_mean_sse(Output output) {
  switch (output) {
    case Output::gaussian:
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
    case Output::poisson:
      return true;
    case Output::softmax:
    case Output::bernoulli:
      return false;
  }
  return false;
}

// Of more classes nobody looks at the matrix, and it would take their square in memory.
constexpr std::int64_t kMostConfusedClasses = 100;

// Figures of the mean prediction: the share of wrong classes, the SSE of the mean.
bool has_prediction_figures(Output output) {
  return row_of(output).class_target || has_mean_sse(output);
}

// The parameter sigma, in the targets' own units, or, if there are several, the root of their mean
// square.
double learnt_sigma(const Model& model) {
  const ParamSlot& slot = model.layout().rho;
  std::vector<float> rho(slot.size());
  download(model.backend(), slot.in(model.params()).data, rho);
  double squares = 0;
  for (std::size_t i = 0; i < rho.size(); ++i)
    squares += std::pow(std::exp(deviation_from(double(rho[i])).log_sigma) *
                            model.units().y_scale_of(std::int64_t(i)),
                        2);
  return std::sqrt(squares / double(rho.size()));
}

// sigma of all outputs, if they have one in common.
std::optional<double> common_sigma(const Model& model) {
  switch (model.spec().output) {
    case Output::gaussian:
      return model.spec().sigma;
    case Output::gaussian_learnt:
      return learnt_sigma(model);
    case Output::softmax:
    case Output::bernoulli:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
    case Output::poisson:
      return std::nullopt;
  }
  return std::nullopt;
}

// What the tiles of an evaluation share, and what is done with each.
struct Evaluator {
  const Model& model;
  const EvaluationData& data;
  std::int64_t M;
  bool predict;

  Sums empty_sums() const;
  void add(Tile tile, Lane& lane, Sums& sums, OneDraw& draw) const;
  void summarize(const std::vector<Sums>& parts, Evaluation& result) const;

 private:
  const NetworkSpec& spec() const { return model.spec(); }
  void add_prediction(const Tile& tile, const std::vector<float>& mean_sum, Sums& sums,
                      OneDraw& draw) const;
};

Sums Evaluator::empty_sums() const {
  Sums sums{.curve = std::vector<double>(M)};
  const std::int64_t D = spec().D_out;
  if (predict && row_of(spec().output).class_target && D <= kMostConfusedClasses)
    sums.confusion.resize(D * D);
  return sums;
}

void Evaluator::add(Tile tile, Lane& lane, Sums& sums, OneDraw& draw) const {
  Backend& backend = model.backend();
  RunningCriterion criterion(tile.N);
  Pass& pass = lane.drawing.pass;
  data.staged().gather(tile, {}, model.gather_units(), pass);
  if (predict) backend.fill_zero(lane.mean.data(), lane.mean.bytes());
  for (std::int64_t m = 0; m < M; m += kParticleChunk) {
    tile.first_particle = m;
    tile.M = std::min(kParticleChunk, M - m);
    lane.drawing.forward(tile);
    const Range range(backend, "weigh");
    pass.log_prob(model.params());
    if (predict) {
      backend.accumulate_mean_output(
          {pass.output(model.params()), {lane.mean.floats(), tile.N, spec().D_out}});
    }
    const std::span log_w(lane.log_w.data(), tile.rows());
    download(backend, pass.log_w(), log_w);
    criterion.add(tile, log_w.data(), sums.curve);
  }
  for (std::int64_t n = 0; n < tile.N; ++n) {
    sums.ess += criterion.effective_particles(n);
    draw.figures.log_p[tile.first + n] = criterion.C_hat(n, M);
  }
  if (predict) {
    const std::span mean(lane.mean_host.data(), tile.N * spec().D_out);
    download(backend, lane.mean.floats(), mean);
    add_prediction(tile, lane.mean_host, sums, draw);
  }
}

void Evaluator::add_prediction(const Tile& tile, const std::vector<float>& mean_sum, Sums& sums,
                               OneDraw& draw) const {
  const Columns& y = data.examples().y;
  const std::int64_t D_out = spec().D_out;
  for (std::int64_t n = 0; n < tile.N; ++n) {
    const float* mean = mean_sum.data() + n * D_out;
    double& loss = draw.losses[tile.first + n];
    switch (spec().output) {
      case Output::softmax: {
        const std::int64_t said = std::max_element(mean, mean + D_out) - mean,
                           wanted = std::int64_t(y.at(tile.first + n, 0));
        loss = said != wanted;
        sums.errors += loss;
        if (!sums.confusion.empty()) ++sums.confusion[wanted * D_out + said];
        break;
      }
      case Output::gaussian:
      case Output::gaussian_learnt:
      case Output::gaussian_each:
      case Output::gaussian_predicted:
      case Output::poisson: {
        const std::vector<float> wanted = y.row(tile.first + n);
        for (std::int64_t i = 0; i < D_out; ++i) {
          const double square =
              std::pow(model.units().y_value(i, double(mean[i]) / double(M)) - wanted[i], 2);
          sums.mean_sse += square;
          loss += square;
        }
        break;
      }
      case Output::bernoulli:
        break;
    }
  }
}

void Evaluator::summarize(const std::vector<Sums>& parts, Evaluation& result) const {
  result.curve.resize(M);
  result.confusion.resize(parts.front().confusion.size());
  double ess = 0, errors = 0, mean_sse = 0;
  for (const Sums& sums : parts) {
    for (std::int64_t k = 0; k < M; ++k) result.curve[k] += sums.curve[k];
    for (std::size_t k = 0; k < sums.confusion.size(); ++k)
      result.confusion[k] += sums.confusion[k];
    ess += sums.ess;
    errors += sums.errors;
    mean_sse += sums.mean_sse;
  }
  const auto count = double(data.examples().count);
  for (double& value : result.curve) value /= count;
  result.nll = -result.curve.back();
  result.effective_particles = ess / count;
  if (model.layout().rho.size() > 0) result.sigma = learnt_sigma(model);
  if (const auto sigma = common_sigma(model)) {
    const double D = double(spec().D_out), variance = *sigma * *sigma;
    result.criterion_sse = variance * (2 * result.nll - D * kLogTwoPi - D * std::log(variance));
  }
  if (!predict) return;
  if (row_of(spec().output).class_target) result.error = errors / count;
  if (has_mean_sse(spec().output)) result.mean_sse = mean_sse / count;
}

// --- several draws -----------------------------------------------------------------------------

void set_standard_errors(const Model& model, const std::vector<double>& losses,
                         Evaluation& result) {
  EvaluationErrors& errors = result.standard_error;
  errors.nll = standard_error_of(result.log_p);
  if (result.error) errors.error = standard_error_of(losses);
  const std::optional<double> sigma = common_sigma(model);
  if (sigma && errors.nll) errors.criterion_sse = 2 * *sigma * *sigma * *errors.nll;
  if (result.mean_sse) errors.mean_sse = standard_error_of(losses);
}

// values[k] is that of draw k.
std::vector<double> mean_vector(const std::vector<OneDraw>& draws, auto&& values_of) {
  std::vector<double> mean = values_of(draws.front());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    for (std::size_t k = 1; k < draws.size(); ++k) mean[i] += values_of(draws[k])[i];
    mean[i] /= double(draws.size());
  }
  return mean;
}

Evaluation mean_of_draws(const Model& model, const std::vector<OneDraw>& draws) {
  const Evaluation& first = draws.front().figures;
  Evaluation result{.examples = first.examples,
                    .particles = first.particles,
                    .draws = std::int64_t(draws.size())};
  result.sigma = first.sigma;
  std::optional<double> no_spread;
  const auto set = [&](auto Evaluation::*figure, std::optional<double>& sd) {
    std::vector<double> values;
    for (const OneDraw& draw : draws)
      if (const std::optional<double> value = draw.figures.*figure) values.push_back(*value);
    if (values.empty()) return;
    result.*figure = mean_of(values);
    sd = deviation_of(values);
  };
  set(&Evaluation::nll, result.draw_sd.nll);
  set(&Evaluation::effective_particles, no_spread);
  set(&Evaluation::error, result.draw_sd.error);
  set(&Evaluation::criterion_sse, result.draw_sd.criterion_sse);
  set(&Evaluation::mean_sse, result.draw_sd.mean_sse);
  result.curve = mean_vector(
      draws, [](const OneDraw& d) -> auto& { return d.figures.curve; });
  result.log_p = mean_vector(
      draws, [](const OneDraw& d) -> auto& { return d.figures.log_p; });
  result.confusion = mean_vector(
      draws, [](const OneDraw& d) -> auto& { return d.figures.confusion; });
  const auto losses = mean_vector(
      draws, [](const OneDraw& d) -> auto& { return d.losses; });
  set_standard_errors(model, losses, result);
  return result;
}

std::int64_t particles_of(const NetworkSpec& spec, std::int64_t asked) {
  if (asked < 1) throw ConfigError("eval.particles must be at least 1");
  return spec.samples() ? asked : 1;
}

std::int64_t evaluation_tile(const Model& model, const Examples& examples, std::int64_t particles) {
  if (examples.count == 0) throw ConfigError("there are no examples to evaluate on");
  const Backend& backend = model.backend();
  return backend
      .choose_tiling(
          {.batch = examples.count,
           .M = std::min(particles_of(model.spec(), particles), kParticleChunk),
           .row_floats = Pass::row_floats(model.spec()),
           .parameters = model.layout().size,
           .example_bytes = StagedData::pass_bytes(examples) + StagedData::window_bytes(examples),
           .other_bytes = StagedData::bytes(backend, examples, /*height=*/1)})
      .tile;
}

OneDraw evaluate_once(const Model& model, const Model* R, const EvaluationData& data,
                      const EvaluateOptions& options, std::uint64_t seed) {
  Backend& backend = model.backend();
  const std::int64_t M = particles_of(model.spec(), options.particles);
  const std::int64_t count = data.examples().count, tile_size = data.tile();
  const std::int64_t tiles = (count + tile_size - 1) / tile_size;
  const std::int64_t parts = std::min(tiles, kParts);
  const bool predict = options.predict && has_prediction_figures(model.spec().output);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (std::int64_t lane = 0; lane < std::min<std::int64_t>(backend.lanes(), parts); ++lane) {
    lanes.push_back(std::make_unique<Lane>(model, R, seed, options.same_draws, tile_size,
                                           std::min(M, kParticleChunk), predict));
  }
  const Evaluator evaluator{.model = model, .data = data, .M = M, .predict = predict};
  OneDraw draw{.figures = {.examples = count, .particles = M, .log_p = std::vector<double>(count)},
               .losses = std::vector<double>(predict ? count : 0)};
  std::vector<Sums> sums(parts);
  backend.set_clock({.step = kEvaluationStep});
  backend.for_each(parts, [&](std::int64_t p, int lane) {
    sums[p] = evaluator.empty_sums();
    for (std::int64_t t = tiles * p / parts; t < tiles * (p + 1) / parts; ++t) {
      const std::int64_t first = t * tile_size;
      evaluator.add({.first = first, .N = std::min(tile_size, count - first)}, *lanes[lane],
                    sums[p], draw);
    }
  });
  evaluator.summarize(sums, draw.figures);
  return draw;
}

// By particles of R, or of P if there is none.
Evaluation evaluate_by(const Model* R, const Model& model, const EvaluationData& data,
                       const EvaluateOptions& options) {
  // A network that draws nothing says the same each time.
  const std::int64_t count = model.spec().samples() ? options.draws : 1;
  std::vector<OneDraw> draws;
  for (std::int64_t k = 0; k < count; ++k)
    draws.push_back(evaluate_once(model, R, data, options, options.seed + std::uint64_t(k)));
  return mean_of_draws(model, draws);
}

}  // namespace

EvaluationData::EvaluationData(const Model& model, const Examples& examples, std::int64_t particles)
    : examples_(examples),
      staged_(model.backend(), examples, evaluation_tile(model, examples, particles)) {}

Evaluation evaluate(const Model& model, const Examples& examples, const EvaluateOptions& options,
                    const Model* R) {
  return evaluate(model, EvaluationData(model, examples, options.particles), options, R);
}

Evaluation evaluate(const Model& model, const EvaluationData& data, const EvaluateOptions& options,
                    const Model* R) {
  if (options.draws < 1) throw ConfigError("an evaluation needs at least one draw");
  const Range range(model.backend(), "evaluate");
  Evaluation result = evaluate_by(/*R=*/nullptr, model, data, options);
  if (!R) return result;
  EvaluateOptions without_prediction = options;  // that is made by draws of P
  without_prediction.predict = false;
  Evaluation by_R = evaluate_by(R, model, data, without_prediction);
  result.proposal = {.nll = by_R.nll,
                     .nll_se = by_R.standard_error.nll,
                     .nll_draw_sd = by_R.draw_sd.nll,
                     .curve = std::move(by_R.curve),
                     .effective_particles = by_R.effective_particles};
  return result;
}

SampledOutputs sample_outputs(const Model& model, const Examples& examples,
                              std::span<const std::int32_t> rows, std::int64_t M,
                              std::uint64_t seed, bool same_draws, const Model* R) {
  Backend& backend = model.backend();
  const NetworkSpec& spec = model.spec();
  const StagedData data(backend, examples, /*height=*/1);
  DrawingPass drawing(model, R, seed, same_draws, /*tile=*/1, spec.samples() ? M : 1);
  Pass& pass = drawing.pass;
  backend.set_clock({.step = kEvaluationStep});
  const std::int64_t D = spec.D_out;
  const bool has_sigma = row_of(spec.output).family == Output::gaussian;
  std::vector<float> c(spec.logits()), rho(model.layout().rho.size()), o;
  download(backend, model.layout().c.in(model.params()).data, c);
  download(backend, model.layout().rho.in(model.params()).data, rho);
  SampledOutputs outputs;
  for (std::int32_t row : rows) {
    const Tile tile{.first = row, .N = 1, .M = spec.samples() ? M : 1};
    data.gather(tile, {}, model.gather_units(), pass);
    drawing.forward(tile);
    o.resize(tile.rows() * spec.logits());
    const OutputOperands operands = pass.output(model.params());
    download(backend, operands.o.data, o);
    OutputScale scale = operands.scale;
    scale.rho = rho.data();
    for (std::int64_t m = 0; m < M; ++m) {
      // A deterministic network repeats its one answer.
      const float* particle = o.data() + (m % tile.M) * spec.logits();
      LogSumExp<float> lse;
      for (std::int64_t i = 0; i < D; ++i) lse.add(particle[i] + c[i]);
      for (std::int64_t i = 0; i < D; ++i) {
        outputs.means.push_back(float(model.units().y_value(
            i, output_mean_at(spec.output, particle[i] + c[i], lse.value()))));
        if (!has_sigma) continue;
        outputs.sigmas.push_back(
            float(model.units().y_scale_of(i) /
                  deviation_at(spec.output, scale, particle, c.data(), D, i).inverse));
      }
    }
  }
  return outputs;
}

}  // namespace sfnn

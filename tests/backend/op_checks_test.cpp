// Every op refuses operands that do not fit, in a message that names the op and the operand: on
// every backend alike, for all go through one front.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/base/error.hpp"
#include "tests/support/backends.hpp"

namespace sfnn {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t N = 3, M = 2, H = 8, D = 5, kRows = N * M;
constexpr Tile kTile{.N = N, .M = M};
constexpr RowSet kAll{nullptr, kRows};

template <class T>
T* shifted(T* data, std::size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(data) + bytes);
}

class OpChecks : public testing::TestWithParam<const char*> {
 protected:
  // Zeros, with room behind them for an operand that is spoiled by a shift.
  std::byte* memory(std::size_t bytes) {
    return buffers_.emplace_back(*backend_, bytes + 64).data();
  }
  float* floats(std::int64_t count) {
    return reinterpret_cast<float*>(memory(std::size_t(count) * sizeof(float)));
  }
  Matrix matrix(std::int64_t rows, std::int64_t cols) { return {floats(rows * cols), rows, cols}; }
  Bits bits(std::int64_t rows, std::int64_t cols) {
    return {memory(backend_->bits_bytes(rows, cols)), rows, cols};
  }
  std::int32_t* index(std::int64_t count) {
    return reinterpret_cast<std::int32_t*>(memory(std::size_t(count) * sizeof(std::int32_t)));
  }
  OutputOperands output() {
    return {Output::bernoulli, kTile, matrix(kRows, D), floats(D), matrix(N, D)};
  }

  template <class Args>
  struct Misfit {
    const char* says;
    std::function<void(Args&)> spoil;
  };

  // `op` takes `fitting`, and refuses it spoiled in each of these ways.
  template <class Args, class Op>
  void expect_refusals(const Op& op, const Args& fitting,
                       const std::vector<Misfit<Args>>& misfits) {
    SCOPED_TRACE(Args::kName);
    EXPECT_NO_THROW(op(fitting));
    for (const Misfit<Args>& misfit : misfits) {
      Args spoiled = fitting;
      misfit.spoil(spoiled);
      try {
        op(spoiled);
        ADD_FAILURE() << "not refused: " << misfit.says;
      } catch (const ShapeError& error) {
        EXPECT_THAT(error.what(), StartsWith(std::string(Args::kName) + ": "));
        EXPECT_THAT(error.what(), HasSubstr(misfit.says));
      }
    }
    backend_->synchronize();
  }

  std::unique_ptr<Backend> backend_ = make_test_backend(GetParam());
  std::vector<Buffer> buffers_;
};

TEST_P(OpChecks, Data) {
  using G = GatherArgs;
  backend_->set_clock({});
  const float* mean = floats(D);
  expect_refusals<G>([&](const G& p) { backend_->gather(p); },
                     {.data = {memory(4 * 9 * D), DataColumns::Type::f32, 9, D},
                      .order = index(9),
                      .tile = {.N = N},
                      .mean = mean,
                      .out = matrix(N, D)},
                     {{"out.rows", [](G& p) { --p.out.rows; }},
                      {"out.cols", [](G& p) { ++p.out.cols; }},
                      {"out is null", [](G& p) { p.out.data = nullptr; }},
                      {"data is null", [](G& p) { p.data.data = nullptr; }},
                      {"ends behind", [](G& p) { p.tile.first = 7; }},
                      {"ends behind", [](G& p) { p.place = 7; }},
                      {"data does not lie", [](G& p) { p.data.data = shifted(p.data.data, 2); }},
                      {"out overlaps mean", [](G& p) { p.mean = p.out.row(1); }},
                      {"out overlaps data",
                       [](G& p) { p.data.data = reinterpret_cast<std::byte*>(p.out.data); }}});
  using S = ShuffleArgs;
  expect_refusals<S>([&](const S& p) { backend_->shuffle(p); }, {{1, 2, 3}, 7, index(7)},
                     {{"count", [](S& p) { p.count = -1; }},
                      {"count", [](S& p) { p.count = std::int64_t(1) << 31; }},
                      {"order is null", [](S& p) { p.order = nullptr; }},
                      {"order does not lie", [](S& p) { p.order = shifted(p.order, 1); }}});
  using Z = FillZeroArgs;
  expect_refusals<Z>([&](const Z& p) { backend_->fill_zero(p.data, p.bytes); }, {memory(9), 9},
                     {{"data is null", [](Z& p) { p.data = nullptr; }}});
}

TEST_P(OpChecks, CopiesOfBits) {
  const Bits s = bits(kRows, H);
  std::vector<std::uint8_t> host(kRows * H), fewer(kRows * H - 1);
  const Bits misaligned{s.data + 4, s.rows, s.cols}, null{nullptr, s.rows, s.cols};
  EXPECT_NO_THROW(backend_->upload_bits(host, s));
  EXPECT_NO_THROW(backend_->download_bits(s, host));
  EXPECT_THROW(backend_->upload_bits(fewer, s), ShapeError);
  EXPECT_THROW(backend_->download_bits(s, fewer), ShapeError);
  for (const Bits& bad : {misaligned, null}) {
    EXPECT_THROW(backend_->upload_bits(host, bad), ShapeError);
    EXPECT_THROW(backend_->download_bits(bad, host), ShapeError);
  }
}

TEST_P(OpChecks, Products) {
  using F = MultiplyArgs;
  const auto forward = [&](const F& p) { backend_->multiply(p); };
  for (const ConstOperand& z : {ConstOperand(matrix(kRows, H)), ConstOperand(bits(kRows, H))}) {
    expect_refusals<F>(forward, {z, matrix(H, D), matrix(kRows, D)},
                       {{"z.rows", [](F& p) { --p.z.rows; }},
                        {"z.cols", [](F& p) { --p.z.cols; }},
                        {"W.cols", [](F& p) { --p.W.cols; }},
                        {"W is null", [](F& p) { p.W.data = nullptr; }},
                        {"out does not lie", [](F& p) { p.out.data = shifted(p.out.data, 2); }},
                        {"out overlaps W", [](F& p) { p.out.data = const_cast<float*>(p.W.data); }},
                        {"out overlaps z",
                         [](F& p) {
                           p.z = ConstMatrix{p.out.row(1), kRows, H};
                         }},
                        {"out overlaps z", [](F& p) {
                           p.z = Bits{reinterpret_cast<std::byte*>(p.out.data), kRows, H};
                         }}});
  }
  using T = MultiplyTransposedArgs;
  expect_refusals<T>([&](const T& p) { backend_->multiply_transposed(p); },
                     {matrix(kRows, D), matrix(H, D), matrix(kRows, H)},
                     {{"g.rows", [](T& p) { --p.g.rows; }},
                      {"g.cols", [](T& p) { --p.g.cols; }},
                      {"W.rows", [](T& p) { --p.W.rows; }},
                      {"g is null", [](T& p) { p.g.data = nullptr; }},
                      {"out overlaps g", [](T& p) { p.g.data = p.out.data; }},
                      {"out overlaps W", [](T& p) { p.W.data = p.out.data + 1; }}});
  using O = AccumulateOuterArgs;
  const std::int32_t* some = index(2);
  for (const ConstOperand& z : {ConstOperand(matrix(kRows, H)), ConstOperand(bits(kRows, H))}) {
    expect_refusals<O>([&](const O& p) { backend_->accumulate_outer(p); },
                       {z, kAll, matrix(kRows, D), matrix(H, D)},
                       {{"g.rows", [](O& p) { --p.g.rows; }},
                        {"z.cols", [](O& p) { --p.z.cols; }},
                        {"g.cols", [](O& p) { --p.g.cols; }},
                        {"rows.count of all", [](O& p) { p.rows.count = p.g.rows = kRows - 1; }},
                        {"more than there are",
                         [&](O& p) {
                           p.rows = {some, kRows + 1};
                           p.g.rows = kRows + 1;
                         }},
                        {"row count", [&](O& p) { p.rows.device_count = some; }},
                        {"gW overlaps g", [](O& p) { p.g.data = p.gW.data; }},
                        {"gW overlaps rows.index", [](O& p) {
                           p.rows.index = reinterpret_cast<const std::int32_t*>(p.gW.data);
                         }}});
  }
}

TEST_P(OpChecks, Forward) {
  backend_->set_clock({});
  using S = SampleHiddenArgs;
  const auto sample = [&](const S& p) { backend_->sample_hidden(p); };
  expect_refusals<S>(
      sample, {{1, 2}, kTile, matrix(N, H), floats(H), bits(kRows, H)},
      {{"s.rows", [](S& p) { --p.s.rows; }},
       {"a.rows", [](S& p) { ++p.a.rows; }},
       {"a.cols", [](S& p) { --p.a.cols; }},
       {"tile", [](S& p) { p.tile.M = 0; }},
       {"b is null", [](S& p) { p.b = nullptr; }},
       {"a does not lie", [](S& p) { p.a.data += 1; }},  // read four at a time
       {"s does not lie", [](S& p) { p.s.data += 8; }},
       {"s overlaps a", [](S& p) { p.a.data = reinterpret_cast<const float*>(p.s.data); }}});
  // One by one, any float's border will do.
  Matrix odd = matrix(N, 7);
  EXPECT_NO_THROW(sample({{1, 2}, kTile, {odd.data + 1, N, 7}, floats(7), bits(kRows, 7)}));
  using A = ActivateArgs;
  expect_refusals<A>([&](const A& p) { backend_->activate(p); },
                     {kTile, matrix(N, H), floats(H), matrix(kRows, H)},
                     {{"d.rows", [](A& p) { --p.d.rows; }},
                      {"d.rows", [](A& p) { p.d.rows = N; }},  // shared adds to particles
                      {"shared.rows", [](A& p) { --p.shared.rows; }},
                      {"shared.cols", [](A& p) { --p.shared.cols; }},
                      {"b is null", [](A& p) { p.b = nullptr; }},
                      {"d overlaps shared", [](A& p) { p.shared.data = p.d.data; }},
                      {"d overlaps b", [](A& p) { p.b = p.d.data; }}});
}

TEST_P(OpChecks, Outputs) {
  using L = OutputLogProbArgs;
  expect_refusals<L>([&](const L& p) { backend_->output_log_prob(p); }, {output(), floats(kRows)},
                     {{"o.rows", [](L& p) { --p.of.o.rows; }},
                      {"y.rows", [](L& p) { --p.of.y.rows; }},
                      {"o.cols", [](L& p) { --p.of.y.cols; }},
                      {"y.cols", [](L& p) { p.of.output = Output::softmax; }},
                      {"o.cols", [](L& p) { p.of.output = Output::gaussian_predicted; }},
                      {"rho is null", [](L& p) { p.of.output = Output::gaussian_learnt; }},
                      {"c is null", [](L& p) { p.of.c = nullptr; }},
                      {"log_w is null", [](L& p) { p.log_w = nullptr; }},
                      {"log_w overlaps o", [](L& p) { p.of.o.data = p.log_w; }},
                      {"log_w overlaps y", [](L& p) { p.of.y.data = p.log_w; }}});
  using A = AccumulateMeanOutputArgs;
  expect_refusals<A>([&](const A& p) { backend_->accumulate_mean_output(p); },
                     {output(), matrix(N, D)},
                     {{"o.rows", [](A& p) { --p.of.o.rows; }},
                      {"mean.rows", [](A& p) { --p.mean.rows; }},
                      {"mean.cols", [](A& p) { --p.mean.cols; }},
                      {"mean overlaps o", [](A& p) { p.of.o.data = p.mean.data; }}});
  using G = OutputGradArgs;
  const std::int32_t* some = index(2);
  expect_refusals<G>([&](const G& p) { backend_->output_grad(p); },
                     {output(), floats(kRows), kAll, matrix(kRows, D)},
                     {{"o.rows", [](G& p) { --p.of.o.rows; }},
                      {"g_o.rows", [](G& p) { --p.g_o.rows; }},
                      {"g_o.cols", [](G& p) { --p.g_o.cols; }},
                      {"g_scale.cols", [](G& p) { p.g_scale = p.g_o; }},
                      {"weight is null", [](G& p) { p.weight = nullptr; }},
                      {"row count", [&](G& p) { p.rows.device_count = some; }},
                      {"g_o overlaps o", [](G& p) { p.of.o.data = p.g_o.data; }},
                      {"g_o overlaps weight", [](G& p) { p.weight = p.g_o.data; }}});
}

TEST_P(OpChecks, Weigh) {
  using W = ParticleWeightsArgs;
  expect_refusals<W>([&](const W& p) { backend_->particle_weights(p); },
                     {kTile, floats(kRows), floats(kRows), floats(N), floats(N)},
                     {{"tile", [](W& p) { p.tile.N = -1; }},
                      {"w_bar is null", [](W& p) { p.w_bar = nullptr; }},
                      {"C_hat is null", [](W& p) { p.C_hat = nullptr; }},
                      {"w_bar overlaps log_w", [](W& p) { p.log_w = p.w_bar; }},
                      {"w_bar overlaps C_hat", [](W& p) { p.C_hat = p.w_bar; }},
                      {"C_hat overlaps ess", [](W& p) { p.ess = p.C_hat; }},
                      {"omega is null", [](W& p) { p.omega_rule = OmegaRule::w_bar; }},
                      {"w_bar overlaps omega", [](W& p) {
                         p.omega_rule = OmegaRule::C_hat;
                         p.omega = p.w_bar;
                       }}});
  using S = SelectRowsArgs;
  expect_refusals<S>(
      [&](const S& p) { backend_->select_rows(p); }, {kTile, floats(kRows), 0.5f, index(kRows)},
      {{"index is null", [](S& p) { p.index = nullptr; }},
       {"more rows", [](S& p) { p.tile.N = std::int64_t(1) << 31; }},
       {"index overlaps w_bar", [](S& p) { p.w_bar = reinterpret_cast<const float*>(p.index); }}});
  using A = AccumulateMetricsArgs;
  auto* sums = reinterpret_cast<double*>(memory(2 * sizeof(double)));
  expect_refusals<A>(
      [&](const A& p) { backend_->accumulate_metrics(p); }, {N, floats(N), floats(N), sums},
      {{"negative", [](A& p) { p.N = -1; }},
       {"sums is null", [](A& p) { p.sums = nullptr; }},
       {"sums does not lie", [](A& p) { p.sums = shifted(p.sums, 4); }},
       {"sums overlaps ess", [](A& p) { p.ess = reinterpret_cast<const float*>(p.sums); }}});
}

TEST_P(OpChecks, HiddenGradients) {
  const std::int32_t* some = index(2);
  using P = PathGradArgs;
  const auto path = [&](const P& p) { backend_->path_grad(p); };
  expect_refusals<P>(
      path, {PathRule::sigmoid_slope, kTile, matrix(kRows, H), floats(H), kAll, matrix(kRows, H)},
      {{"a.rows", [](P& p) { --p.a.rows; }},
       {"a.cols", [](P& p) { --p.a.cols; }},
       {"g.rows", [](P& p) { --p.g.rows; }},
       {"b is null", [](P& p) { p.b = nullptr; }},
       {"row count", [&](P& p) { p.rows.device_count = some; }},
       {"rows.count of all", [](P& p) { p.rows.count = p.g.rows = kRows - 1; }},
       {"a.rows", [](P& p) { p.rows.count = p.g.rows = N; }},  // a sum has one row of a
       {"g overlaps a", [](P& p) { p.a.data = p.g.data; }}});
  // A rule that reads the draw needs it, row by row.
  const P relaxed{.rule = PathRule::gumbel_slope,
                  .tile = kTile,
                  .a = matrix(N, H),
                  .b = floats(H),
                  .rows = kAll,
                  .g = matrix(kRows, H),
                  .s = bits(kRows, H)};
  expect_refusals<P>(path, relaxed,
                     {{"s.rows", [](P& p) { --p.s.rows; }},
                      {"s.cols", [](P& p) { --p.s.cols; }},
                      {"s is null", [](P& p) { p.s.data = nullptr; }},
                      {"T is not positive", [](P& p) { p.T = 0; }},
                      {"rows.count of all", [](P& p) { p.rows.count = p.g.rows = N; }}});
  // Particles that share a, summed and apart.
  for (const std::int64_t rows : {N, kRows})
    EXPECT_NO_THROW(path({PathRule::sigmoid_slope,
                          kTile,
                          matrix(N, H),
                          floats(H),
                          {nullptr, rows},
                          matrix(rows, H)}));
  using S = ScoreGradArgs;
  expect_refusals<S>([&](const S& p) { backend_->score_grad(p); },
                     {.tile = kTile,
                      .a = matrix(kRows, H),
                      .b = floats(H),
                      .s = bits(kRows, H),
                      .omega = floats(kRows),
                      .beta = floats(H),
                      .rows = kAll,
                      .g = matrix(kRows, H)},
                     {{"a.rows", [](S& p) { --p.a.rows; }},
                      {"a.cols", [](S& p) { --p.a.cols; }},
                      {"s.rows", [](S& p) { --p.s.rows; }},
                      {"s.cols", [](S& p) { --p.s.cols; }},
                      {"g.rows", [](S& p) { --p.g.rows; }},
                      {"b is null", [](S& p) { p.b = nullptr; }},
                      {"omega is null", [](S& p) { p.omega = nullptr; }},
                      {"row count", [&](S& p) { p.rows.device_count = some; }},
                      {"rows.count of all", [](S& p) { p.a.rows = N; }},
                      {"g overlaps beta", [](S& p) { p.beta = p.g.data; }},
                      {"g overlaps a", [](S& p) { p.a.data = p.g.data; }}});
  using B = MakeBetaArgs;
  expect_refusals<B>([&](const B& p) { backend_->make_beta(p); }, {floats(2 * H), H, floats(H)},
                     {{"negative", [](B& p) { p.n_s = -1; }},
                      {"beta is null", [](B& p) { p.beta = nullptr; }},
                      {"beta overlaps averages", [](B& p) { p.averages = p.beta; }}});
}

TEST_P(OpChecks, ALearnedProposal) {
  using J = JoinTargetArgs;
  expect_refusals<J>([&](const J& p) { backend_->join_target(p); },
                     {Output::softmax, matrix(N, D), matrix(N, 1), matrix(N, D + 4)},
                     {{"x.rows", [](J& p) { --p.x.rows; }},
                      {"y.rows", [](J& p) { --p.y.rows; }},
                      {"y.cols", [](J& p) { p.output = Output::bernoulli; }},
                      {"no columns for y", [](J& p) { p.out.cols = D; }},
                      {"out overlaps x", [](J& p) { p.x.data = p.out.data; }}});
  const ProposalLogits R{matrix(N, 2 * H), floats(2 * H), /*first=*/H, /*from_P=*/1};
  using L = LogRatioArgs;
  expect_refusals<L>([&](const L& p) { backend_->log_ratio(p); },
                     {.tile = kTile,
                      .a = matrix(N, H),
                      .b = floats(H),
                      .s = bits(kRows, H),
                      .R = R,
                      .write = Write::add,
                      .log_ratio = floats(kRows),
                      .log_w = floats(kRows)},
                     {{"a.rows", [](L& p) { --p.a.rows; }},
                      {"a.cols", [](L& p) { --p.a.cols; }},
                      {"s.rows", [](L& p) { --p.s.rows; }},
                      {"b is null", [](L& p) { p.b = nullptr; }},
                      {"e is null", [](L& p) { p.R.e.data = nullptr; }},
                      {"e.rows", [](L& p) { --p.R.e.rows; }},
                      {"no columns", [](L& p) { ++p.R.first; }},
                      {"bias of e is null", [](L& p) { p.R.bias = nullptr; }},
                      {"from_P", [](L& p) { p.R.from_P = M + 1; }},
                      {"from_P", [](L& p) { p.tile.first_particle = 1; }},
                      {"log_ratio is null", [](L& p) { p.log_ratio = nullptr; }},
                      {"log_ratio overlaps log_w", [](L& p) { p.log_w = p.log_ratio; }}});
  using W = ProposalWeightsArgs;
  expect_refusals<W>([&](const W& p) { backend_->proposal_weights(p); },
                     {.tile = kTile,
                      .rule = ProposalRule::bound,
                      .from_P = 1,
                      .w_bar = floats(kRows),
                      .log_ratio = floats(kRows),
                      .omega = floats(kRows),
                      .omega_R = floats(kRows)},
                     {{"from_P", [](W& p) { p.from_P = M + 1; }},
                      {"omega is null", [](W& p) { p.omega = nullptr; }},
                      {"omega_R is null", [](W& p) { p.omega_R = nullptr; }},
                      {"omega overlaps w_bar", [](W& p) { p.w_bar = p.omega; }}});
  using G = ProposalGradArgs;
  expect_refusals<G>(
      [&](const G& p) { backend_->proposal_grad(p); },
      {.tile = kTile,
       .a = matrix(kRows, H),
       .b = floats(H),
       .s = bits(kRows, H),
       .R = R,
       .omega_R = floats(kRows),
       .g_e = matrix(N, 2 * H)},
      {{"e is null", [](G& p) { p.R.e.data = nullptr; }},
       {"g_e.rows", [](G& p) { --p.g_e.rows; }},
       {"g_e.cols", [](G& p) { --p.g_e.cols; }},
       {"omega_R is null", [](G& p) { p.omega_R = nullptr; }},
       {"g_e overlaps e", [](G& p) { p.g_e.data = const_cast<float*>(p.R.e.data); }}});
  using S = SampleHiddenArgs;
  expect_refusals<S>([&](const S& p) { backend_->sample_hidden(p); },
                     {.tile = kTile, .s = bits(kRows, H), .R = R},
                     {{"e.rows", [](S& p) { --p.R.e.rows; }},
                      {"no columns", [](S& p) { p.R.first = -1; }},
                      {"bias of e is null", [](S& p) { p.R.bias = nullptr; }}});
}

TEST_P(OpChecks, SumsAndDeterministicUnits) {
  const std::int32_t* some = index(2);
  using G = DeterministicGradArgs;
  expect_refusals<G>([&](const G& p) { backend_->deterministic_grad(p); },
                     {matrix(kRows, H), kAll, matrix(kRows, H)},
                     {{"g.rows", [](G& p) { --p.g.rows; }},
                      {"d.cols", [](G& p) { --p.d.cols; }},
                      {"rows.count of all", [](G& p) { ++p.d.rows; }},
                      {"row count", [&](G& p) { p.rows.device_count = some; }},
                      {"g overlaps d", [](G& p) { p.d.data = p.g.data; }}});
  using S = SumParticlesArgs;
  expect_refusals<S>([&](const S& p) { backend_->sum_particles(p); },
                     {kTile, kAll, matrix(kRows, H), matrix(N, H)},
                     {{"g.rows", [](S& p) { --p.g.rows; }},
                      {"out.rows", [](S& p) { --p.out.rows; }},
                      {"out.cols", [](S& p) { --p.out.cols; }},
                      {"row count", [&](S& p) { p.rows.device_count = some; }},
                      {"out overlaps g", [](S& p) { p.g.data = p.out.data; }}});
  using C = AccumulateColumnSumsArgs;
  expect_refusals<C>([&](const C& p) { backend_->accumulate_column_sums(p); },
                     {matrix(kRows, H), floats(H)},
                     {{"gb is null", [](C& p) { p.gb = nullptr; }},
                      {"gb does not lie", [](C& p) { p.gb = shifted(p.gb, 1); }},
                      {"negative", [](C& p) { p.g.rows = -1; }},
                      {"gb overlaps g", [](C& p) { p.g.data = p.gb; }}});
  using B = AccumulateBaselineArgs;
  expect_refusals<B>([&](const B& p) { backend_->accumulate_baseline(p); },
                     {kTile, matrix(N, H), floats(H), bits(kRows, H), floats(N), floats(2 * H)},
                     {{"a.rows", [](B& p) { --p.a.rows; }},
                      {"a.cols", [](B& p) { --p.a.cols; }},
                      {"s.rows", [](B& p) { --p.s.rows; }},
                      {"C_hat is null", [](B& p) { p.C_hat = nullptr; }},
                      {"sums overlaps a", [](B& p) { p.a.data = p.sums; }}});
}

TEST_P(OpChecks, Updates) {
  backend_->set_clock({});
  using U = UpdateArgs;
  expect_refusals<U>(
      [&](const U& p) { backend_->update(p); },
      {OptimizerKind::sgd, floats(H), {floats(H)}, {floats(3 * D + H), 2, H + 1, 8}, H},
      {{"negative", [](U& p) { p.size = -1; }},
       {"parts.stride", [](U& p) { p.parts.stride = H - 1; }},
       {"parts.places", [](U& p) { p.parts.places = 6; }},
       {"parts.count", [](U& p) { p.parts.count = 9; }},
       {"velocity is null", [](U& p) { p.arrays[0] = nullptr; }},
       {"params overlaps velocity", [](U& p) { p.arrays[0] = p.params + 1; }},
       {"params overlaps parts", [](U& p) { p.parts.data = p.params; }}});
  U adam{
      OptimizerKind::adam, floats(H), {floats(H), floats(H)}, {floats(3 * D + H), 2, H + 1, 8}, H};
  adam.average = floats(H);
  adam.clip = floats(1);
  adam.square_sums = floats(1);
  expect_refusals<U>([&](const U& p) { backend_->update(p); }, adam,
                     {{"v is null", [](U& p) { p.arrays[1] = nullptr; }},
                      {"m overlaps v", [](U& p) { p.arrays[1] = p.arrays[0]; }},
                      {"params overlaps average", [](U& p) { p.average = p.params; }},
                      {"average overlaps square_sums", [](U& p) { p.square_sums = p.average; }},
                      {"square_sums overlaps clip", [](U& p) { p.clip = p.square_sums; }}});
  using S = SquareSumsArgs;
  expect_refusals<S>([&](const S& p) { backend_->square_sums(p); },
                     {{floats(3 * D + H), 2, H + 1, 2}, H, 1, floats(1)},
                     {{"parts.count", [](S& p) { p.parts.count = 0; }},
                      {"square_sums is null", [](S& p) { p.square_sums = nullptr; }},
                      {"square_sums overlaps parts", [](S& p) { p.parts.data = p.square_sums; }}});
  using G = GradientNormArgs;
  expect_refusals<G>([&](const G& p) { backend_->gradient_norm(p); },
                     {floats(3), 3, 1, floats(1), reinterpret_cast<double*>(floats(4))},
                     {{"negative", [](G& p) { p.count = -1; }},
                      {"clip is null", [](G& p) { p.clip = nullptr; }},
                      {"sums is null", [](G& p) { p.sums = nullptr; }},
                      {"clip overlaps square_sums", [](G& p) { p.square_sums = p.clip; }}});
  using B = BaselineUpdateArgs;
  expect_refusals<B>([&](const B& p) { backend_->update_baseline(p); },
                     {floats(H), {floats(3 * D + H), 2, H + 1, 2}, H},
                     {{"parts.count", [](B& p) { p.parts.count = 0; }},
                      {"parts.stride", [](B& p) { p.parts.stride = H - 1; }},
                      {"averages is null", [](B& p) { p.averages = nullptr; }},
                      {"averages overlaps parts", [](B& p) { p.parts.data = p.averages; }}});
}

// One that is refused has never begun.
TEST_P(OpChecks, AnObserverIsToldOfEveryOp) {
  struct Log : OpObserver {
    std::vector<std::string> lines;
    void begin(const OpCall& call) override {
      lines.emplace_back(call.name);
      if (const auto* product = call.as<MultiplyArgs>())
        lines.back() += product->z.is_bits ? " bits" : " reals";
    }
    void end() override { lines.emplace_back("end"); }
  } log;
  const MultiplyArgs product{bits(kRows, H), matrix(H, D), matrix(kRows, D)};
  const AccumulateColumnSumsArgs sums{product.out, floats(D)};
  backend_->set_observer(&log);
  backend_->multiply(product);
  backend_->accumulate_column_sums(sums);
  EXPECT_THROW(backend_->accumulate_column_sums({product.out, nullptr}), ShapeError);
  backend_->set_observer(nullptr);
  backend_->multiply(product);
  EXPECT_THAT(log.lines,
              testing::ElementsAre("multiply bits", "end", "accumulate_column_sums", "end"));
}

INSTANTIATE_TEST_SUITE_P(Backends, OpChecks, backends_under_test(),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace sfnn

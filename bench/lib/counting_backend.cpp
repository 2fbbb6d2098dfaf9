#include "bench/lib/counting_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

#include "kernels/column_splits.hpp"
#include "kernels/grid.hpp"

namespace sfnn::bench {
namespace {

// What a kernel does for one element, in fp32 operations.
constexpr double kSpecial = 4;             // exp, log, reciprocal: a quarter of the FMA units' rate
constexpr double kSigmoid = 2 * kSpecial;  // an exp and a reciprocal
constexpr double kSoftplus = 2 * kSpecial + 3;
constexpr double kDraw = 25;  // ten rounds of ten integer operations make four numbers

double floats(double count) { return 4 * count; }

// --- how kernels deal out their work, as their PTX shows it

constexpr double kUnrolled = 4;  // loads under way together in a loop that nothing hinders
constexpr double kSerial = 1;  // one: the loop holds a branch, or a store that may alias the loads
constexpr double kReduction = 2;   // trips' worth of shuffles and barriers
constexpr double kBeforeLoop = 1;  // addresses and weights of the row

double rounds(double items, double at_once) { return std::ceil(items / at_once); }

// One warp per row, lanes over its columns.
Spread by_row(std::int64_t rows, std::int64_t cols, double in_flight,
              double besides = kBeforeLoop) {
  return {.warps = double(rows), .trips = rounds(rounds(double(cols), kWarp), in_flight) + besides};
}
// One warp per example and 32 columns, over the particles.
Spread by_example(const Tile& tile, std::int64_t cols, double in_flight) {
  return {.warps = double(tile.N) * rounds(double(cols), kWarp),
          .trips = rounds(double(tile.M), in_flight) + kBeforeLoop};
}
// One thread per element, `each` of them one after another.
Spread by_element(std::int64_t size, double each = 1) {
  return {.warps = rounds(double(size), kWarp * each), .trips = each};
}
// One block.
Spread by_block(std::int64_t items) {
  return {.warps = kWarpsPerBlock, .trips = rounds(double(items), kThreads) + kReduction};
}
// One block per run of squares.
Spread by_run(std::int64_t size) {
  return {.warps = double(kWarpsPerBlock * square_runs(size)),
          .trips = rounds(double(kSquareRun), kThreads * kSerial) + kBeforeLoop + kReduction};
}
// Blocks of 16 warps that take turns at a run of rows.
Spread by_columns(std::int64_t rows, std::int64_t cols, double in_flight) {
  constexpr int kColumnWarps = 16;
  const double splits = double(column_splits(rows));
  return {.warps = kColumnWarps * splits * rounds(double(cols), kWarp),
          .trips = rounds(double(rows), splits * kColumnWarps * in_flight) + kReduction,
          .warps_per_block = kColumnWarps};
}

// log P of one output, and what its gradient and its mean share. Softmax looks at each row twice.
double output_operations(Output output) {
  switch (output) {
    case Output::softmax:
      return 2 * kSpecial + 4;
    case Output::bernoulli:
      return kSoftplus + 4;
    case Output::gaussian:
      return 6;
    case Output::gaussian_learnt:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
      return 3 * kSpecial + kSoftplus + 6;
    case Output::poisson:
      return 4 * kSpecial + 20;
  }
  return 0;
}

double unit_operations(Activation activation) {
  switch (activation) {
    case Activation::sigmoid:
      return kSigmoid;
    case Activation::tanh:
      return kSigmoid + 4;
    case Activation::relu:
      return 1;
  }
  return 0;
}

// e of a layer and its bias.
double proposal_floats(const ProposalLogits& R, std::int64_t n_s) {
  return R.e.data ? double((R.e.rows + 1) * n_s) : 0;
}

double index_bytes(RowSet rows) { return rows.all() ? 0 : 4 * double(rows.count); }

std::int64_t kept_rows(double keep, std::int64_t rows) {
  return std::clamp<std::int64_t>(std::llround(keep * double(rows)), 1, rows);
}

// Writes down the launches of an op: one `count` for each.
struct Counter {
  Math math;
  double keep;
  std::vector<Launch>& launches;

  double unit_bytes() const { return math == Math::bf16x3 ? 2 : 4; }
  void kernel(const char* name, double bytes, double operations, const Spread& spread) {
    launches.push_back({.name = name, .bytes = bytes, .operations = operations, .spread = spread});
  }

  void count(const FillZeroArgs& p) {
    kernel("memset", double(p.bytes), 0, by_element(std::int64_t(p.bytes / 4), 4));
  }

  // --- data

  void count(const GatherArgs& p) {
    const double size = double(p.out.size());
    const double stored = p.data.type == DataColumns::Type::u8 ? 1 : 4;
    const double normal = kDraw + 2 * kSpecial;  // Box-Muller
    kernel("gather",
           size * stored + floats(size) + (p.order ? 4.0 * double(p.tile.N) : 0) +
               (p.mean ? floats(double(p.out.cols)) : 0),
           size * (2 + (p.binarize ? kDraw : 0) + (p.noise > 0 ? normal : 0)),
           by_row(p.tile.N, p.out.cols, kSerial, 2 * kBeforeLoop));
  }

  // Once per epoch: keys and positions are made, then sorted by eight bits at a time.
  void count(const ShuffleArgs& p) {
    const double count = double(p.count);
    kernel("shuffle keys", 8.0 * count, kDraw * count, by_element(p.count));
    kernel("shuffle positions", 4.0 * count, 0, by_element(p.count));
    kernel("shuffle sort", 8 * 2 * 12.0 * count, 0, by_element(p.count));
  }

  // --- products

  // bf16x3 splits the real operand once and multiplies by each of its three parts.
  void product(const Product& p, Write write) {
    if (p.m * p.n * p.k == 0) return;
    const bool split = math == Math::bf16x3 && p.bits;
    const double first = double(p.m * p.k), second = double(p.k * p.n), out = double(p.m * p.n);
    if (split)
      kernel("split_bf16", floats(second) + 3 * 2 * second, 6 * second, by_element(p.k * p.n));
    for (int part = split ? 2 : 0; part >= 0; --part) {
      const bool adds = write == Write::add || (split && part < 2);
      const double operand_bytes = p.bits ? unit_bytes() * first : floats(first);
      launches.push_back(
          {.name = fmt::format("gemm {}x{}x{}", p.m, p.n, p.k),
           .bytes = operand_bytes + (split ? 2 : 4) * second + floats(adds ? 2 * out : out),
           .operations = 2 * out * double(p.k),
           .unit = split                ? Unit::bf16
                   : math == Math::tf32 ? Unit::tf32
                                        : Unit::fp32,
           .product = p});
    }
  }

  void count(const MultiplyArgs& p) {
    product({MultiplyArgs::kRole, p.z.is_bits, p.out.rows, p.out.cols, p.z.cols}, p.write);
  }

  void count(const MultiplyTransposedArgs& p) {
    product({MultiplyTransposedArgs::kRole, false, p.out.rows, p.out.cols, p.g.cols}, p.write);
  }

  // The rows of a set are copied together before the product.
  void count(const AccumulateOuterArgs& p) {
    if (!p.rows.all()) {
      const double element_bytes = p.z.is_bits ? unit_bytes() : 4;
      kernel("gather_rows",
             2 * element_bytes * double(p.rows.count * p.z.cols) + index_bytes(p.rows), 0,
             by_row(p.rows.count, p.z.cols, kUnrolled, 2 * kBeforeLoop));
    }
    product({AccumulateOuterArgs::kRole, p.z.is_bits, p.gW.rows, p.gW.cols, p.g.rows}, Write::add);
  }

  // --- forward

  void count(const SampleHiddenArgs& p) {
    const double units = double(p.tile.rows() * p.s.cols);
    const double logits = p.a.data ? double(p.a.size() + p.a.cols) : 0;
    kernel("sample_hidden", floats(logits + proposal_floats(p.R, p.s.cols)) + unit_bytes() * units,
           units * (kDraw + kSigmoid + 2), by_row(p.tile.rows(), p.s.cols, 4 * kSerial));
  }

  void count(const ActivateArgs& p) {
    const double size = double(p.d.size());
    kernel("activate",
           floats(2 * size + (p.shared.data ? double(p.shared.size()) : 0) + double(p.d.cols)),
           size * (unit_operations(p.activation) + 2), by_row(p.d.rows, p.d.cols, kSerial));
  }

  void count(const OutputLogProbArgs& p) {
    const ConstMatrix o = p.of.o;
    kernel("output_log_prob", floats(double(o.size() + p.of.y.size() + o.cols + o.rows)),
           double(o.size()) * output_operations(p.of.output),
           by_row(o.rows, p.of.D_out(), kSerial, kBeforeLoop + kReduction));
  }

  void count(const AccumulateMeanOutputArgs& p) {
    const ConstMatrix o = p.of.o;
    kernel("accumulate_mean_output", floats(double(o.size() + 2 * p.mean.size() + o.cols)),
           double(o.size()) * output_operations(p.of.output),
           by_example(p.of.tile, p.of.D_out(), kSerial));
  }

  // --- weigh

  void count(const ParticleWeightsArgs& p) {
    const double rows = double(p.tile.rows());
    const bool copies = p.omega_rule != OmegaRule::none && p.omega != p.w_bar;
    const double compared = compares_particles(p.omega_rule) ? 4 * kSpecial + 10 : 0;
    kernel("particle_weights", floats((copies ? 3 : 2) * rows + 2 * double(p.tile.N)),
           rows * (2 * kSpecial + 6 + compared),
           by_row(p.tile.N, p.tile.M, kSerial, (copies ? 3 : 2) * kReduction));
  }

  // thrust::copy_if is two kernels: tile states, then one sweep over the flags.
  void count(const SelectRowsArgs& p) {
    const std::int64_t rows = p.tile.rows();
    if (keep >= 1) return;
    kernel("select_rows tile states", 0, 0, {});
    kernel("select_rows", floats(double(rows + kept_rows(keep, rows))), double(rows),
           by_element(rows, kReduction + 2));
  }

  void count(const AccumulateMetricsArgs& p) {
    kernel("accumulate_metrics", floats(2 * double(p.N)) + 2 * 2 * 8, 2 * double(p.N),
           by_block(p.N));
  }

  // --- backward

  void count(const OutputGradArgs& p) {
    const double size = double(p.g_o.size());
    kernel(
        "output_grad",
        floats(2 * size + double(p.g_scale.size() + p.of.y.size() + p.of.o.cols + p.rows.count)) +
            index_bytes(p.rows),
        size * (output_operations(p.of.output) + 2),
        by_row(p.rows.count, p.of.D_out(), kSerial, 2 * kBeforeLoop));
  }

  void count(const PathGradArgs& p) {
    const double size = double(p.g.size());
    const double bytes = floats(2 * size + double(p.a.size() + p.g.cols)) + index_bytes(p.rows);
    const Spread spread = by_row(p.g.rows, p.g.cols, kSerial);
    switch (p.rule) {
      case PathRule::one:
        return;  // g stays as it is
      case PathRule::sigmoid_slope:
        return kernel("path_grad", bytes, size * (kSigmoid + 4), spread);
      case PathRule::half_score:
        return kernel("path_grad", bytes + unit_bytes() * size, size * (kSigmoid + 5), spread);
      case PathRule::gumbel_slope:  // a draw, two logarithms
        return kernel("path_grad", bytes + unit_bytes() * size,
                      size * (kDraw + 2 * kSpecial + kSigmoid + 8), spread);
    }
  }

  // If the particles share a, every h is read and the sum written.
  void count(const ScoreGradArgs& p) {
    const double size = double(p.g.size()), bias = double(p.g.cols);
    const bool summed = p.a.rows == p.tile.N;
    const double rows = double(summed ? p.tile.rows() : p.g.rows), read = rows * double(p.g.cols);
    const double weights = rows + (p.beta ? bias : 0);
    kernel(summed ? "summed_score_grad" : "score_grad",
           unit_bytes() * read + floats(2 * size + bias + weights) + index_bytes(p.rows),
           4 * read + size * (kSigmoid + 3),
           summed ? by_example(p.tile, p.g.cols, kUnrolled) : by_row(p.g.rows, p.g.cols, kSerial));
    if (!p.omega_R) return;
    kernel("add_proposal_scores",
           unit_bytes() * read + floats(3 * size + bias + rows + proposal_floats(p.R, p.g.cols)) +
               index_bytes(p.rows),
           3 * read + size * (kSigmoid + 3),
           summed ? by_example(p.tile, p.g.cols, kUnrolled) : by_row(p.g.rows, p.g.cols, kSerial));
  }

  void count(const MakeBetaArgs& p) {
    kernel("make_beta", floats(3 * double(p.n_s)), (kSpecial + 1) * double(p.n_s),
           by_element(p.n_s));
  }

  void count(const DeterministicGradArgs& p) {
    kernel("deterministic_grad", floats(3 * double(p.g.size())) + index_bytes(p.rows),
           3 * double(p.g.size()), by_row(p.g.rows, p.g.cols, kSerial));
  }

  void count(const SumParticlesArgs& p) {
    kernel("sum_particles", floats(double(p.g.size() + p.out.size())) + index_bytes(p.rows),
           double(p.g.size()), by_example(p.tile, p.g.cols, kUnrolled));
  }

  // Many rows are summed in splits, and the splits by a launch of their own.
  void add_splits(std::int64_t rows, std::int64_t cols) {
    const std::int64_t splits = column_splits(rows);
    if (splits == 1) return;
    kernel("column_sums of splits", floats(double((splits + 2) * cols)), double(splits * cols),
           by_columns(splits, cols, kUnrolled));
  }

  void count(const AccumulateColumnSumsArgs& p) {
    const ConstMatrix g = p.g;
    const double out = double(column_splits(g.rows) == 1 ? 2 : column_splits(g.rows));
    kernel("column_sums", floats(double(g.size()) + out * double(g.cols)), double(g.size()),
           by_columns(g.rows, g.cols, kUnrolled));
    add_splits(g.rows, g.cols);
  }

  void count(const AccumulateBaselineArgs& p) {
    const std::int64_t rows = p.tile.rows(), cols = p.s.cols;
    const double units = double(rows * cols);
    const double out = double(column_splits(rows) == 1 ? 2 : column_splits(rows));
    kernel("baseline_sums",
           unit_bytes() * units +
               floats(double(p.a.size() + cols + p.tile.N) + out * 2 * double(cols)),
           units * (kSigmoid + 6), by_columns(rows, cols, kSerial));
    add_splits(rows, 2 * cols);
  }

  // --- a learned proposal

  void count(const JoinTargetArgs& p) {
    kernel("join_target", floats(double(p.x.size() + p.y.size() + p.out.size())), 0,
           by_row(p.out.rows, p.out.cols, kUnrolled));
  }

  void count(const LogRatioArgs& p) {
    const double rows = double(p.tile.rows()), units = rows * double(p.s.cols);
    const double logits = p.a.data ? double(p.a.size() + p.a.cols) : 0;
    const double written = (p.write == Write::add ? 2 : 1) + (p.log_w ? 2 : 0);
    kernel("log_ratio",
           floats(logits + proposal_floats(p.R, p.s.cols) + written * rows) + unit_bytes() * units,
           units * (2 * kSoftplus + 5) + (p.log_w ? rows * (2 * kSpecial + 2) : 0),
           by_row(p.tile.rows(), p.s.cols, kSerial, kBeforeLoop + kReduction));
  }

  void count(const ProposalWeightsArgs& p) {
    const double rows = double(p.tile.rows());
    kernel("proposal_weights", floats((p.omega ? 5 : 3) * rows), rows * (2 * kSpecial + 4),
           by_row(p.tile.N, p.tile.M, kSerial, kReduction));
  }

  void count(const ProposalGradArgs& p) {
    const double rows = double(p.tile.rows()), units = rows * double(p.s.cols);
    const double logits = p.a.data ? double(p.a.size() + p.a.cols) : 0;
    const double written = double(p.tile.N * p.s.cols);
    kernel("proposal_grad",
           floats(logits + proposal_floats(p.R, p.s.cols) + rows + written) + unit_bytes() * units,
           units * (kSigmoid + 4), by_example(p.tile, p.s.cols, kSerial));
  }

  // --- update

  // Parameters, the optimiser's arrays and the average are read and written.
  void count(const UpdateArgs& p) {
    const OptimizerRow& row = row_of(p.optimizer);
    const std::int64_t arrays = 1 + row.arrays() + (p.average ? 1 : 0);
    const double step = row.is_adam() ? 10 + 2 * kSpecial : 5, average = p.average ? 3 : 0;
    kernel("update", floats(double((2 * arrays + p.parts.count) * p.size)),
           (step + average + double(p.parts.count)) * double(p.size), by_run(p.size));
  }

  void count(const SquareSumsArgs& p) {
    kernel("square_sums", floats(double(p.parts.count * p.size + square_runs(p.size))),
           double((2 + p.parts.count) * p.size), by_run(p.size));
  }

  void count(const GradientNormArgs& p) {
    kernel("gradient_norm", floats(double(p.count)) + 2 * 2 * 8, double(p.count),
           by_block(p.count));
  }

  void count(const BaselineUpdateArgs& p) {
    kernel("update_baseline", floats(double((2 + p.parts.count) * p.size)),
           double((4 + p.parts.count) * p.size), by_element(p.size));
  }
};

}  // namespace

// --- memory: addresses that nobody follows, so that no page of them is ever touched

std::byte* CountingBackend::allocate(std::size_t bytes) {
  void* data = std::calloc(std::max<std::size_t>(bytes, 1), 1);
  if (!data) throw std::bad_alloc();
  return static_cast<std::byte*>(data);
}

void CountingBackend::release(std::byte* data) noexcept { std::free(data); }

void CountingBackend::download(const std::byte*, std::span<std::byte> to) {
  std::fill(to.begin(), to.end(), std::byte{0});
}

std::size_t CountingBackend::bits_bytes(std::int64_t rows, std::int64_t cols) const {
  return std::size_t(unit_bytes()) * rows * cols;
}

void CountingBackend::do_download_bits(ConstBits, std::span<std::uint8_t> to) {
  std::fill(to.begin(), to.end(), std::uint8_t{0});
}

// --- control

// The CUDA backend's choice on a device whose memory is no limit.
Tiling CountingBackend::choose_tiling(const StepShape& shape) const {
  return {.tile = std::clamp<std::int64_t>(kRowsEnough / shape.M, 1,
                                           std::max<std::int64_t>(1, shape.batch)),
          .parts = 1};
}

void CountingBackend::for_each(std::int64_t items, FunctionRef<void(std::int64_t, int)> fn) {
  for (std::int64_t item = 0; item < items; ++item) fn(item, 0);
}

void CountingBackend::set_clock(const Clock&) {
  launches_.push_back({.name = "set_clock", .bytes = sizeof(Clock)});
}

void CountingBackend::begin(const OpCall& call) {
  Counter counter{math_, keep_, launches_};
  visit(call, AllOps(), [&](const auto& args) { counter.count(args); });
}

RowSet CountingBackend::run(const SelectRowsArgs& p) {
  const std::int64_t rows = p.tile.rows();
  if (keep_ >= 1) return {nullptr, rows};
  return {p.index, kept_rows(keep_, rows)};
}

}  // namespace sfnn::bench

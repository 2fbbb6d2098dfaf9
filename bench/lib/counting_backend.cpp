#include "bench/lib/counting_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

#include "host/base/error.hpp"
#include "kernels/column_splits.hpp"

namespace sfnn::bench {
namespace {

// What a kernel does for one element, in fp32 operations.
constexpr double kSpecial = 4;             // exp, log, reciprocal: a quarter of the FMA units' rate
constexpr double kSigmoid = 2 * kSpecial;  // an exp and a reciprocal
constexpr double kSoftplus = 2 * kSpecial + 3;
constexpr double kDraw = 25;  // ten rounds of ten integer operations make four numbers

double floats(double count) { return 4 * count; }

// log P of one output, and what its gradient and its mean share. Softmax looks at each row twice.
double output_operations(Output output) {
  switch (output) {
    case Output::softmax:
      return 2 * kSpecial + 4;
    case Output::bernoulli:
      return kSoftplus + 4;
    case Output::gaussian:
      return 5;
  }
  return 0;
}

double index_bytes(RowSet rows) { return rows.all() ? 0 : 4 * double(rows.count); }

}  // namespace

Math parse_math(const std::string& text) {
  if (text == "fp32") return Math::fp32;
  if (text == "tf32") return Math::tf32;
  if (text == "bf16x3") return Math::bf16x3;
  throw ConfigError(fmt::format("math '{}' is not known: use fp32, tf32 or bf16x3", text));
}

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

void CountingBackend::download_bits(ConstBits, std::span<std::uint8_t> to) {
  std::fill(to.begin(), to.end(), std::uint8_t{0});
}

void CountingBackend::fill_zero(std::byte*, std::size_t bytes) {
  kernel("memset", double(bytes), 0);
}

// --- control

// The CUDA backend's choice on a device whose memory is no limit.
Tiling CountingBackend::choose_tiling(const StepShape& shape) const {
  constexpr std::int64_t kRowsEnough = 1 << 17;
  return {.tile = std::clamp<std::int64_t>(kRowsEnough / shape.M, 1,
                                           std::max<std::int64_t>(1, shape.batch)),
          .parts = 1};
}

void CountingBackend::for_each(std::int64_t items, FunctionRef<void(std::int64_t, int)> fn) {
  for (std::int64_t item = 0; item < items; ++item) fn(item, 0);
}

void CountingBackend::set_clock(const Clock&) { kernel("set_clock", sizeof(Clock), 0); }

void CountingBackend::kernel(const char* name, double bytes, double operations) {
  launches_.push_back({.name = name, .bytes = bytes, .operations = operations});
}

// --- data

void CountingBackend::gather(const GatherArgs& p) {
  const double size = double(p.out.size());
  const double stored = p.data.type == DataColumns::Type::u8 ? 1 : 4;
  const double normal = kDraw + 2 * kSpecial;  // Box-Muller
  kernel("gather",
         size * stored + floats(size) + (p.order ? 4.0 * double(p.tile.N) : 0) +
             (p.mean ? floats(double(p.out.cols)) : 0),
         size * (2 + (p.binarize ? kDraw : 0) + (p.noise > 0 ? normal : 0)));
}

// Once an epoch: keys and positions are made, then sorted by eight bits a time.
void CountingBackend::shuffle(const DrawKey&, std::int64_t count, std::int32_t*) {
  kernel("shuffle keys", 8.0 * double(count), kDraw * double(count));
  kernel("shuffle positions", 4.0 * double(count), 0);
  kernel("shuffle sort", 8 * 2 * 12.0 * double(count), 0);
}

// --- products

// bf16x3 splits the real operand once and multiplies by each of its three parts.
void CountingBackend::product(const Product& p, Write write) {
  if (p.m * p.n * p.k == 0) return;
  const bool split = math_ == Math::bf16x3 && p.bits;
  const double first = double(p.m * p.k), second = double(p.k * p.n), out = double(p.m * p.n);
  if (split) kernel("split_bf16", floats(second) + 3 * 2 * second, 6 * second);
  for (int part = split ? 2 : 0; part >= 0; --part) {
    const bool adds = write == Write::add || (split && part < 2);
    const double operand_bytes = p.bits ? unit_bytes() * first : floats(first);
    launches_.push_back(
        {.name = fmt::format("gemm {}x{}x{}", p.m, p.n, p.k),
         .bytes = operand_bytes + (split ? 2 : 4) * second + floats(adds ? 2 * out : out),
         .operations = 2 * out * double(p.k),
         .unit = split                 ? Unit::bf16
                 : math_ == Math::tf32 ? Unit::tf32
                                       : Unit::fp32,
         .product = p});
  }
}

void CountingBackend::multiply(ConstMatrix z, ConstMatrix, Matrix out, Write write) {
  product({Product::Kind::multiply, false, out.rows, out.cols, z.cols}, write);
}

void CountingBackend::multiply(ConstBits z, ConstMatrix, Matrix out, Write write) {
  product({Product::Kind::multiply, true, out.rows, out.cols, z.cols}, write);
}

void CountingBackend::multiply_transposed(ConstMatrix g, ConstMatrix, Matrix out, Write write) {
  product({Product::Kind::multiply_transposed, false, out.rows, out.cols, g.cols}, write);
}

// The rows of a set are copied together before the product.
void CountingBackend::gather_rows(RowSet rows, std::int64_t cols, double element_bytes) {
  if (rows.all()) return;
  kernel("gather_rows", 2 * element_bytes * double(rows.count * cols) + index_bytes(rows), 0);
}

void CountingBackend::accumulate_outer(ConstMatrix z, RowSet rows, ConstMatrix g, Matrix gW) {
  gather_rows(rows, z.cols, 4);
  product({Product::Kind::outer, false, gW.rows, gW.cols, g.rows}, Write::add);
}

void CountingBackend::accumulate_outer(ConstBits z, RowSet rows, ConstMatrix g, Matrix gW) {
  gather_rows(rows, z.cols, unit_bytes());
  product({Product::Kind::outer, true, gW.rows, gW.cols, g.rows}, Write::add);
}

// --- forward

void CountingBackend::sample_hidden(const Draw&, const Tile& tile, ConstMatrix a, const float*,
                                    Bits s) {
  const double units = double(tile.rows() * s.cols);
  const double logits = a.data ? double(a.size() + a.cols) : 0;
  kernel("sample_hidden", floats(logits) + unit_bytes() * units, units * (kDraw + kSigmoid + 2));
}

void CountingBackend::activate(const Tile&, ConstMatrix shared, const float*, Matrix d) {
  const double size = double(d.size());
  kernel("activate", floats(2 * size + (shared.data ? double(shared.size()) : 0) + double(d.cols)),
         size * (kSigmoid + 2));
}

void CountingBackend::output_log_prob(const OutputArgs& p, float*) {
  const double size = double(p.o.size());
  kernel("output_log_prob", floats(size + double(p.y.size() + p.o.cols + p.o.rows)),
         size * output_operations(p.output));
}

void CountingBackend::accumulate_mean_output(const OutputArgs& p, Matrix mean) {
  const double size = double(p.o.size());
  kernel("accumulate_mean_output", floats(size + double(2 * mean.size() + p.o.cols)),
         size * output_operations(p.output));
}

// --- weigh

void CountingBackend::particle_weights(const Tile& tile, const float*, float*, float*, float*) {
  const double rows = double(tile.rows());
  kernel("particle_weights", floats(2 * rows + 2 * double(tile.N)), rows * (2 * kSpecial + 6));
}

// thrust::copy_if is two kernels: tile states, then one sweep over the flags.
RowSet CountingBackend::select_rows(const Tile& tile, const float*, float, std::int32_t* index) {
  const std::int64_t rows = tile.rows();
  if (keep_ >= 1) return {nullptr, rows};
  const auto kept = std::clamp<std::int64_t>(std::llround(keep_ * double(rows)), 1, rows);
  kernel("select_rows tile states", 0, 0);
  kernel("select_rows", floats(double(rows + kept)), double(rows));
  return {index, kept};
}

void CountingBackend::accumulate_metrics(std::int64_t N, const float*, const float*, double*) {
  kernel("accumulate_metrics", floats(2 * double(N)) + 2 * 2 * 8, 2 * double(N));
}

// --- backward

void CountingBackend::output_grad(const OutputArgs& p, const float*, RowSet rows, Matrix g_o) {
  const double size = double(g_o.size());
  kernel("output_grad",
         floats(2 * size + double(p.y.size() + p.o.cols + rows.count)) + index_bytes(rows),
         size * (output_operations(p.output) + 2));
}

// G3 changes g in place, G2 leaves it as it is. Where the particles share a, score estimators read
// every h and write their sum.
void CountingBackend::hidden_grad(const HiddenGradArgs& p) {
  if (p.estimator == Estimator::G2) return;
  const double size = double(p.g.size()), bias = double(p.g.cols);
  if (p.estimator == Estimator::G3) {
    kernel("path_grad", floats(3 * size + bias) + index_bytes(p.rows), size * (kSigmoid + 4));
    return;
  }
  const bool summed = p.a.rows == p.tile.N;
  const double rows = double(summed ? p.tile.rows() : p.g.rows), read = rows * double(p.g.cols);
  const double weights = p.estimator == Estimator::G1 ? double(p.tile.N) + 2 * bias : rows;
  kernel(summed ? "summed_score_grad" : "score_grad",
         unit_bytes() * read + floats(2 * size + bias + weights) + index_bytes(p.rows),
         4 * read + size * (kSigmoid + 3));
}

void CountingBackend::deterministic_grad(ConstMatrix, RowSet rows, Matrix g) {
  kernel("deterministic_grad", floats(3 * double(g.size())) + index_bytes(rows),
         3 * double(g.size()));
}

void CountingBackend::sum_particles(const Tile&, RowSet rows, ConstMatrix g, Matrix out) {
  kernel("sum_particles", floats(double(g.size() + out.size())) + index_bytes(rows),
         double(g.size()));
}

// Many rows are summed in splits, and the splits by a launch of their own.
void CountingBackend::add_splits(std::int64_t rows, std::int64_t cols) {
  const std::int64_t splits = column_splits(rows);
  if (splits == 1) return;
  kernel("column_sums of splits", floats(double((splits + 2) * cols)), double(splits * cols));
}

void CountingBackend::accumulate_column_sums(ConstMatrix g, float*) {
  const double out = double(column_splits(g.rows) == 1 ? 2 : column_splits(g.rows));
  kernel("column_sums", floats(double(g.size()) + out * double(g.cols)), double(g.size()));
  add_splits(g.rows, g.cols);
}

void CountingBackend::accumulate_baseline(const Tile& tile, ConstMatrix a, const float*,
                                          ConstBits s, const float*, float*) {
  const double units = double(tile.rows() * s.cols);
  const double out = double(column_splits(tile.rows()) == 1 ? 2 : column_splits(tile.rows()));
  kernel(
      "baseline_sums",
      unit_bytes() * units + floats(double(a.size() + s.cols + tile.N) + out * 2 * double(s.cols)),
      units * (kSigmoid + 6));
  add_splits(tile.rows(), 2 * s.cols);
}

// --- update

void CountingBackend::update(const UpdateArgs& p) {
  kernel("update", floats(double((4 + p.part_count) * p.size)),
         double((5 + p.part_count) * p.size));
}

void CountingBackend::update_baseline(const BaselineUpdateArgs& p) {
  kernel("update_baseline", floats(double((2 + p.part_count) * p.size)),
         double((4 + p.part_count) * p.size));
}

}  // namespace sfnn::bench

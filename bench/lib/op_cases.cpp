#include "bench/lib/op_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "host/model/network.hpp"

namespace sfnn::bench {
namespace {

using Kind = Array::Kind;

template <class T>
void upload_as(Backend& backend, const std::vector<float>& values, const Buffer& to) {
  const std::vector<T> stored(values.begin(), values.end());
  backend.upload(std::as_bytes(std::span(stored)), to.data());
}

template <class T>
std::vector<float> download_as(Backend& backend, const Buffer& from, std::int64_t size) {
  std::vector<T> stored(size);
  backend.download(from.data(), std::as_writable_bytes(std::span(stored)));
  return {stored.begin(), stored.end()};
}

std::size_t bytes_in(const Backend& backend, const Array& array) {
  switch (array.kind) {
    case Kind::bits:
      return backend.bits_bytes(array.rows, array.cols);
    case Kind::bytes:
      return std::size_t(array.size());
    case Kind::sums:
      return std::size_t(array.size()) * sizeof(double);
    default:
      return std::size_t(array.size()) * sizeof(float);
  }
}

// --- inputs

std::vector<float> generate(std::int64_t size,
                            const std::function<double(std::mt19937_64&)>& draw) {
  std::mt19937_64 random(std::uint64_t(size) + 1);
  std::vector<float> values(size);
  for (float& value : values) value = float(draw(random));
  return values;
}

double uniform01(std::mt19937_64& random) { return double(random() >> 11) * 0x1p-53; }

Array real(std::int64_t rows, std::int64_t cols, double scale = 1) {
  return {Kind::real, rows, cols,
          generate(rows * cols, [&](auto& random) { return scale * (4 * uniform01(random) - 2); })};
}

// Pixels, responsibilities, probabilities: in [0, 1).
Array share(std::int64_t rows, std::int64_t cols) {
  return {Kind::real, rows, cols, generate(rows * cols, uniform01)};
}

Array bits(std::int64_t rows, std::int64_t cols) {
  return {Kind::bits, rows, cols,
          generate(rows * cols, [](auto& random) { return double(random() % 2); })};
}

Array zeros(Kind kind, std::int64_t rows, std::int64_t cols) { return {kind, rows, cols, {}}; }

Array every_other(std::int64_t rows) {
  Array array{Kind::index, (rows + 1) / 2, 1, {}};
  for (std::int64_t r = 0; r < rows; r += 2) array.values.push_back(float(r));
  return array;
}

// --- the ops, in the order of backend.hpp

class Cases {
 public:
  explicit Cases(const OpShape& s) : s_(s), rows_(s.N * s.M), tile_{.N = s.N, .M = s.M} {}

  std::vector<OpCase> all() && {
    data();
    products();
    forward();
    for (const OutputRow& row : kOutputs) outputs(row.id);
    weigh();
    proposal();
    path_grads();
    score_grads();
    backward();
    update();
    return std::move(cases_);
  }

 private:
  using Run = std::function<void(Backend&, const Operands&)>;
  void add(std::string name, std::vector<Array> arrays, Run run, bool reads_back = false) {
    cases_.push_back({std::move(name), std::move(arrays), std::move(run), reads_back});
  }

  void data() {
    const auto [N, M, H, D] = s_;
    Array pixels{Kind::bytes, N, D, generate(N * D, [](auto& random) { return random() % 256; })};
    Array order{Kind::index, N, 1, {}};
    for (std::int64_t n = 0; n < N; ++n) order.values.push_back(float(N - 1 - n));
    add("gather", {pixels, order, zeros(Kind::real, N, D)},
        [N = N, D = D, tile = tile_](Backend& backend, const Operands& in) {
          backend.gather({.data = {in.bytes(0), DataColumns::Type::u8, N, D, 1 / 255.0f},
                          .order = in.index(1),
                          .tile = tile,
                          .out = in.matrix(2)});
        });
    add(
        "shuffle", {zeros(Kind::index, rows_, 1)},
        [rows = rows_](Backend& backend, const Operands& in) {
          backend.shuffle({{99, 3, kSitePermutation}, rows, in.index(0)});
        },
        /*reads_back=*/true);
  }

  void products() {
    const auto [N, M, H, D] = s_;
    add("multiply reals", {real(N, D), real(D, H), zeros(Kind::real, N, H)},
        [](Backend& backend, const Operands& in) {
          backend.multiply({in.matrix(0), in.matrix(1), in.matrix(2)});
        });
    add("multiply bits", {bits(rows_, H), real(H, D), zeros(Kind::real, rows_, D)},
        [](Backend& backend, const Operands& in) {
          backend.multiply({in.bits(0), in.matrix(1), in.matrix(2)});
        });
    add("multiply_transposed", {real(rows_, D), real(H, D), zeros(Kind::real, rows_, H)},
        [](Backend& backend, const Operands& in) {
          backend.multiply_transposed({in.matrix(0), in.matrix(1), in.matrix(2)});
        });
    add("accumulate_outer bits", {bits(rows_, H), real(rows_, D), zeros(Kind::real, H, D)},
        [rows = rows_](Backend& backend, const Operands& in) {
          backend.accumulate_outer({in.bits(0), {nullptr, rows}, in.matrix(1), in.matrix(2)});
        });
    const Array half = every_other(rows_);
    add("accumulate_outer bits, half the rows",
        {bits(rows_, H), half, real(half.rows, D), zeros(Kind::real, H, D)},
        [](Backend& backend, const Operands& in) {
          const RowSet rows{in.index(1), in.matrix(1).rows};
          backend.accumulate_outer({in.bits(0), rows, in.matrix(2), in.matrix(3)});
        });
  }

  void forward() {
    const auto [N, M, H, D] = s_;
    for (const bool shared : {true, false}) {
      add(shared ? "sample_hidden, shared a" : "sample_hidden",
          {real(shared ? N : rows_, H), real(1, H), zeros(Kind::bits, rows_, H)},
          [tile = tile_](Backend& backend, const Operands& in) {
            backend.sample_hidden(
                {{.seed = 7, .site = 1}, tile, in.matrix(0), in.floats(1), in.bits(2)});
          });
    }
    add("activate", {real(N, H), real(1, H), real(rows_, H)},
        [tile = tile_](Backend& backend, const Operands& in) {
          backend.activate({tile, in.matrix(0), in.floats(1), in.matrix(2)});
        });
  }

  void outputs(Output output) {
    const auto [N, M, H, D] = s_;
    Array y = share(N, D);
    if (row_of(output).class_target) {
      y = {Kind::real, N, 1, generate(N, [width = D](auto& random) { return random() % width; })};
    }
    const auto args = [output, tile = tile_](const Operands& in) {
      return OutputOperands{output,       tile,         in.matrix(0),
                            in.floats(1), in.matrix(2), {.rho = in.floats(3)}};
    };
    const std::string suffix = fmt::format(", {}", to_string(output));
    const std::int64_t L = D * row_of(output).logits_per_output;
    const std::int64_t S = scale_param_count(output, D);
    const Array o = real(rows_, L), c = real(1, L), rho = real(1, D);
    add("output_log_prob" + suffix, {o, c, y, rho, zeros(Kind::real, rows_, 1)},
        [args](Backend& backend, const Operands& in) {
          backend.output_log_prob({args(in), in.floats(4)});
        });
    add("output_grad" + suffix,
        {o, c, y, rho, share(rows_, 1), zeros(Kind::real, rows_, L),
         zeros(Kind::real, rows_, std::max<std::int64_t>(S, 1))},
        [args, S, rows = rows_](Backend& backend, const Operands& in) {
          backend.output_grad({args(in),
                               in.floats(4),
                               {nullptr, rows},
                               in.matrix(5),
                               S > 0 ? in.matrix(6) : Matrix{}});
        });
    add("accumulate_mean_output" + suffix, {o, c, y, rho, zeros(Kind::real, N, D)},
        [args](Backend& backend, const Operands& in) {
          backend.accumulate_mean_output({args(in), in.matrix(4)});
        });
  }

  void weigh() {
    const std::int64_t N = s_.N;
    add("particle_weights", {real(rows_, 1, 10), zeros(Kind::real, rows_ + 2 * N, 1)},
        [N, rows = rows_, tile = tile_](Backend& backend, const Operands& in) {
          float* w_bar = in.floats(1);  // then C_hat, then ess
          backend.particle_weights({tile, in.floats(0), w_bar, w_bar + rows, w_bar + rows + N});
        });
    add("particle_weights, omega = C_hat",
        {real(rows_, 1, 10), zeros(Kind::real, rows_ + 2 * N, 1), zeros(Kind::real, rows_, 1)},
        [N, rows = rows_, tile = tile_](Backend& backend, const Operands& in) {
          float* w_bar = in.floats(1);
          backend.particle_weights({tile, in.floats(0), w_bar, w_bar + rows, w_bar + rows + N,
                                    OmegaRule::C_hat, in.floats(2)});
        });
    add("particle_weights, omega compared",
        {real(rows_, 1, 10), zeros(Kind::real, rows_ + 2 * N, 1), zeros(Kind::real, rows_, 1)},
        [N, rows = rows_, tile = tile_](Backend& backend, const Operands& in) {
          float* w_bar = in.floats(1);
          backend.particle_weights({tile, in.floats(0), w_bar, w_bar + rows, w_bar + rows + N,
                                    OmegaRule::gain_over_geometric_mean, in.floats(2)});
        });
    // The last row stays: only the rows that stay are compared, and a backend may leave others
    // behind them.
    Array w_bar = share(rows_, 1);
    w_bar.values.back() = 1;
    add(
        "select_rows", {w_bar, zeros(Kind::index, rows_, 1)},
        [tile = tile_](Backend& backend, const Operands& in) {
          backend.select_rows({tile, in.floats(0), 0.5f, in.index(1)});
        },
        /*reads_back=*/true);
    add("accumulate_metrics", {real(N, 1), share(N, 1), zeros(Kind::sums, 2, 1)},
        [N](Backend& backend, const Operands& in) {
          backend.accumulate_metrics({N, in.floats(0), in.floats(1), in.sums(2)});
        });
  }

  // R with the units of this layer and of one before it.
  void proposal() {
    const auto [N, M, H, D] = s_;
    const std::int64_t half = M / 2, rows = rows_;
    add("join_target", {real(N, D), share(N, D), zeros(Kind::real, N, 2 * D)},
        [](Backend& backend, const Operands& in) {
          backend.join_target({Output::bernoulli, in.matrix(0), in.matrix(1), in.matrix(2)});
        });
    const auto R = [width = H, half](const Operands& in) {
      return ProposalLogits{in.matrix(0), in.floats(1), /*first=*/width, /*from_P=*/half};
    };
    const Array e = real(N, 2 * H), bias = real(1, 2 * H);
    for (const bool shared : {true, false}) {
      const std::string suffix = shared ? ", shared a" : "";
      const Array a = real(shared ? N : rows, H), b = real(1, H), s = bits(rows, H);
      add("sample_hidden, R" + suffix, {e, bias, a, b, zeros(Kind::bits, rows, H)},
          [R, tile = tile_](Backend& backend, const Operands& in) {
            backend.sample_hidden(
                {{.seed = 7, .site = 1}, tile, in.matrix(2), in.floats(3), in.bits(4), R(in)});
          });
      add("log_ratio" + suffix, {e, bias, a, b, s, real(rows, 1), real(rows, 1)},
          [R, tile = tile_](Backend& backend, const Operands& in) {
            backend.log_ratio({tile, in.matrix(2), in.floats(3), in.bits(4), R(in), Write::add,
                               in.floats(5), in.floats(6)});
          });
      add("proposal_grad" + suffix, {e, bias, a, b, s, share(rows, 1), zeros(Kind::real, N, 2 * H)},
          [R, tile = tile_](Backend& backend, const Operands& in) {
            backend.proposal_grad(
                {tile, in.matrix(2), in.floats(3), in.bits(4), R(in), in.floats(5), in.matrix(6)});
          });
      const std::int64_t height = shared ? N : rows;
      add("score_grad, R" + suffix,
          {e, bias, a, b, s, share(rows, 1), share(rows, 1), zeros(Kind::real, height, H)},
          [R, height, tile = tile_](Backend& backend, const Operands& in) {
            backend.score_grad({tile,
                                in.matrix(2),
                                in.floats(3),
                                in.bits(4),
                                in.floats(5),
                                /*beta=*/nullptr,
                                {nullptr, height},
                                in.matrix(7),
                                R(in),
                                in.floats(6)});
          });
    }
    add("proposal_weights",
        {share(rows, 1), real(rows, 1), real(rows, 1), zeros(Kind::real, rows, 1)},
        [half, tile = tile_](Backend& backend, const Operands& in) {
          backend.proposal_weights({tile, ProposalRule::bound, half, 0, in.floats(0), in.floats(1),
                                    in.floats(2), in.floats(3)});
        });
  }

  // A weight of one leaves what arrives as it is: there is nothing to launch.
  void path_grads() {
    const auto [N, M, H, D] = s_;
    const auto grad = [&](const char* name, std::int64_t a_rows, std::int64_t g_rows) {
      add(name, {real(a_rows, H), real(1, H), real(g_rows, H)},
          [g_rows, tile = tile_](Backend& backend, const Operands& in) {
            backend.path_grad({PathRule::sigmoid_slope,
                               tile,
                               in.matrix(0),
                               in.floats(1),
                               {nullptr, g_rows},
                               in.matrix(2)});
          });
    };
    grad("path_grad", rows_, rows_);
    grad("path_grad, shared a", N, N);
    grad("path_grad, shared a, per particle", N, rows_);
    const auto drawn = [&](const char* name, PathRule rule) {
      add(name, {real(N, H), real(1, H), bits(rows_, H), real(rows_, H)},
          [rule, rows = rows_, tile = tile_](Backend& backend, const Operands& in) {
            backend.path_grad({.rule = rule,
                               .tile = tile,
                               .a = in.matrix(0),
                               .b = in.floats(1),
                               .rows = {nullptr, rows},
                               .g = in.matrix(3),
                               .s = in.bits(2)});
          });
    };
    drawn("path_grad, half score", PathRule::half_score);
    drawn("path_grad, Gumbel slope", PathRule::gumbel_slope);
  }

  void score_grads() {
    const auto [N, M, H, D] = s_;
    for (const bool shared : {true, false}) {
      for (const bool beta : {true, false}) {
        const std::int64_t height = shared ? N : rows_;
        add(fmt::format("score_grad{}{}", shared ? ", shared a" : "", beta ? ", beta" : ""),
            {real(height, H), real(1, H), bits(rows_, H), share(rows_, 1), share(1, H),
             real(height, H)},
            [beta, height, tile = tile_](Backend& backend, const Operands& in) {
              backend.score_grad({tile,
                                  in.matrix(0),
                                  in.floats(1),
                                  in.bits(2),
                                  in.floats(3),
                                  beta ? in.floats(4) : nullptr,
                                  {nullptr, height},
                                  in.matrix(5)});
            });
      }
    }
    add("make_beta", {share(2, H), zeros(Kind::real, 1, H)},
        [width = H](Backend& backend, const Operands& in) {
          backend.make_beta({in.floats(0), width, in.floats(1)});
        });
  }

  void backward() {
    const auto [N, M, H, D] = s_;
    add("deterministic_grad", {share(rows_, H), real(rows_, H)},
        [rows = rows_](Backend& backend, const Operands& in) {
          backend.deterministic_grad({in.matrix(0), {nullptr, rows}, in.matrix(1)});
        });
    add("sum_particles", {real(rows_, H), zeros(Kind::real, N, H)},
        [rows = rows_, tile = tile_](Backend& backend, const Operands& in) {
          backend.sum_particles({tile, {nullptr, rows}, in.matrix(0), in.matrix(1)});
        });
    add("accumulate_column_sums", {real(rows_, D), zeros(Kind::real, 1, D)},
        [](Backend& backend, const Operands& in) {
          backend.accumulate_column_sums({in.matrix(0), in.floats(1)});
        });
    add("accumulate_baseline",
        {real(rows_, H), real(1, H), bits(rows_, H), real(N, 1), zeros(Kind::real, 2, H)},
        [tile = tile_](Backend& backend, const Operands& in) {
          backend.accumulate_baseline(
              {tile, in.matrix(0), in.floats(1), in.bits(2), in.floats(3), in.floats(4)});
        });
  }

  void update() {
    const std::int64_t size = s_.H * s_.D, width = 2 * s_.H;
    for (const OptimizerRow& row : kOptimizers) {
      const bool two = row.arrays() > 1;
      add(row.id == OptimizerKind::sgd ? "update" : fmt::format("update, {}", row.name),
          {real(size, 1), real(size, 1), share(two ? size : 0, 1), real(size, 1)},
          [size, id = row.id](Backend& backend, const Operands& in) {
            backend.set_clock({.step = 1, .learning_rate = 0.1f});
            backend.update({.optimizer = id,
                            .params = in.floats(3),
                            .arrays = {in.floats(1), in.floats(2)},
                            .parts = {in.floats(0), 1, size, 1},
                            .size = size,
                            .scale = 0.01f});
          });
    }
    add("square_sums", {real(size, 1), zeros(Kind::real, square_runs(size), 1)},
        [size](Backend& backend, const Operands& in) {
          backend.square_sums({{in.floats(0), 1, size, 1}, size, 0.01f, in.floats(1)});
        });
    add("gradient_norm", {share(square_runs(size), 1), zeros(Kind::sums, 2, 1)},
        [size](Backend& backend, const Operands& in) {
          backend.gradient_norm(
              {.square_sums = in.floats(0), .count = square_runs(size), .sums = in.sums(1)});
        });
    add("update_baseline", {share(width, 1), share(width, 1)},
        [width](Backend& backend, const Operands& in) {
          backend.set_clock({.step = 1});
          backend.update_baseline(
              {.averages = in.floats(1), .parts = {in.floats(0), 1, width, 1}, .size = width});
        });
  }

  OpShape s_;
  std::int64_t rows_;
  Tile tile_;
  std::vector<OpCase> cases_;
};

}  // namespace

Array random_reals(std::int64_t rows, std::int64_t cols) { return real(rows, cols); }
Array random_bits(std::int64_t rows, std::int64_t cols) { return bits(rows, cols); }

Operands::Operands(Backend& backend, const std::vector<Array>& arrays) : arrays_(arrays) {
  backend.set_clock({});
  for (const Array& array : arrays) {
    const Buffer& buffer = buffers_.emplace_back(backend, bytes_in(backend, array));
    if (array.values.empty()) continue;
    switch (array.kind) {
      case Kind::real:
        upload_as<float>(backend, array.values, buffer);
        break;
      case Kind::bits:
        backend.upload_bits(std::vector<std::uint8_t>(array.values.begin(), array.values.end()),
                            {buffer.data(), array.rows, array.cols});
        break;
      case Kind::bytes:
        upload_as<std::uint8_t>(backend, array.values, buffer);
        break;
      case Kind::index:
        upload_as<std::int32_t>(backend, array.values, buffer);
        break;
      case Kind::sums:
        upload_as<double>(backend, array.values, buffer);
        break;
    }
  }
}

std::vector<float> Operands::last(Backend& backend) const {
  const Array& array = arrays_.back();
  const Buffer& buffer = buffers_.back();
  switch (array.kind) {
    case Kind::bits: {
      std::vector<std::uint8_t> units(array.size());
      backend.download_bits({buffer.data(), array.rows, array.cols}, units);
      return {units.begin(), units.end()};
    }
    case Kind::bytes:
      return download_as<std::uint8_t>(backend, buffer, array.size());
    case Kind::index:
      return download_as<std::int32_t>(backend, buffer, array.size());
    case Kind::sums:
      return download_as<double>(backend, buffer, array.size());
    case Kind::real:
      return download_as<float>(backend, buffer, array.size());
  }
  return {};
}

std::vector<float> OpCase::result(Backend& backend) const {
  const Operands operands(backend, arrays);
  run(backend, operands);
  return operands.last(backend);
}

// Sums of some thousand terms in another order differ by rounding; a bit differs if u falls within
// rounding of sigma(a).
std::string OpCase::difference(Backend& actual, Backend& expected, double tolerance) const {
  const std::vector<float> a = result(actual), e = result(expected);
  const bool drawn = arrays.back().kind == Kind::bits;
  double largest = 1;
  for (float value : e) largest = std::max(largest, std::abs(double(value)));
  const double most = arrays.back().kind == Kind::index ? 0 : tolerance * largest;
  std::size_t misses = 0, first = 0;
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (std::abs(double(a[i]) - double(e[i])) <= most) continue;  // a NaN is a miss
    if (misses++ == 0) first = i;
  }
  if (misses <= (drawn ? e.size() / 100000 : 0)) return {};
  return fmt::format("{}: {} of {} values differ; the first, [{}], is {} and should be {}", name,
                     misses, e.size(), first, a[first], e[first]);
}

std::vector<OpCase> op_cases(const OpShape& shape) { return Cases(shape).all(); }

}  // namespace sfnn::bench

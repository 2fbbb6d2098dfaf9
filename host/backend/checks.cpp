#include "host/backend/checks.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <limits>

#include "host/backend/backend.hpp"
#include "host/base/error.hpp"

namespace sfnn {
namespace {

[[noreturn]] void refuse(const char* op, const std::string& why) {
  throw ShapeError(fmt::format("{}: {}", op, why));
}

// A named piece of the backend's memory.
struct Piece {
  const char* name;
  const void* data;
  std::size_t bytes;
};

bool overlap(const Piece& a, const Piece& b) {
  const auto begin = [](const Piece& p) { return reinterpret_cast<std::uintptr_t>(p.data); };
  return a.bytes > 0 && b.bytes > 0 && begin(a) < begin(b) + b.bytes &&
         begin(b) < begin(a) + a.bytes;
}

// The checks of one op, by the names that its struct gives the operands.
class Checker {
 public:
  Checker(const Backend& backend, const char* op) : backend_(backend), op_(op) {}

  void same(std::int64_t actual, std::int64_t expected, const char* what) const {
    if (actual != expected)
      refuse(op_, fmt::format("{} is {} and should be {}", what, actual, expected));
  }
  void holds(bool fits, const char* what) const {
    if (!fits) refuse(op_, what);
  }
  // One row per example, or one per particle.
  void examples_or_particles(std::int64_t rows, const Tile& tile, const char* what) const {
    if (rows != tile.N && rows != tile.rows())
      refuse(op_, fmt::format("{} is {} and should be {} or {}", what, rows, tile.N, tile.rows()));
  }
  void tile(const Tile& tile) const {
    holds(tile.N >= 0 && tile.M >= 1 && tile.first >= 0 && tile.first_particle >= 0,
          "the tile is none");
  }
  // Rows of a matrix of `height` rows, of which `held` are in the compacted one.
  void rows(const RowSet& rows, std::int64_t height, std::int64_t held, const char* what) const {
    holds(!rows.device_count || backend_.takes_device_counts(),
          "this backend cannot read a row count from its memory");
    same(held, rows.count, what);
    if (rows.all()) {
      same(rows.count, height, "rows.count of all rows");
    } else {
      holds(rows.count >= 0 && rows.count <= height, "rows.count is more than there are");
    }
  }

  Piece piece(const char* name, const void* data, std::size_t bytes, std::size_t border) const {
    if (bytes > 0 && !data) refuse(op_, fmt::format("{} is null", name));
    if (bytes > 0 && reinterpret_cast<std::uintptr_t>(data) % border != 0)
      refuse(op_, fmt::format("{} does not lie on a border of {} bytes", name, border));
    return {name, data, bytes};
  }
  template <class T>
  Piece array(const char* name, T* data, std::int64_t size) const {
    if (size < 0) refuse(op_, fmt::format("{} has a negative size", name));
    return piece(name, data, std::size_t(size) * sizeof(T), alignof(T));
  }
  Piece matrix(const char* name, ConstMatrix m, std::size_t border = alignof(float)) const {
    if (m.rows < 0 || m.cols < 0) refuse(op_, fmt::format("{} has a negative size", name));
    return piece(name, m.data, std::size_t(m.size()) * sizeof(float), border);
  }
  Piece bits(const char* name, ConstBits b, std::size_t border = 8) const {
    if (b.rows < 0 || b.cols < 0) refuse(op_, fmt::format("{} has a negative size", name));
    return piece(name, b.data, backend_.bits_bytes(b.rows, b.cols), border);
  }
  Piece operand(const char* name, const ConstOperand& z) const {
    return z.is_bits ? bits(name, z.bits()) : matrix(name, z.reals());
  }
  Piece index(const RowSet& rows) const {
    return rows.all() ? Piece{"rows.index", nullptr, 0}
                      : array("rows.index", rows.index, rows.count);
  }

  // What is written apart from all that is read, and from what else is written.
  void apart(std::initializer_list<Piece> written, std::initializer_list<Piece> read) const {
    for (const Piece* out = written.begin(); out != written.end(); ++out) {
      for (const Piece& in : read) apart(*out, in);
      for (const Piece* other = out + 1; other != written.end(); ++other) apart(*out, *other);
    }
  }

  // What an output op reads.
  struct OutputPieces {
    Piece o, c, y, rho;
  };
  OutputPieces output(const OutputOperands& p) const {
    tile(p.tile);
    same(p.o.rows, p.tile.rows(), "o.rows");
    same(p.y.rows, p.tile.N, "y.rows");
    same(p.y.cols, target_width(p.output, p.D_out()), "y.cols");
    same(p.o.cols, p.D_out() * row_of(p.output).logits_per_output, "o.cols");
    return {matrix("o", p.o), array("c", p.c, p.o.cols), matrix("y", p.y),
            array("rho", p.scale.rho, scale_param_count(p.output, p.D_out()))};
  }

 private:
  void apart(const Piece& a, const Piece& b) const {
    if (overlap(a, b)) refuse(op_, fmt::format("{} overlaps {}", a.name, b.name));
  }

  const Backend& backend_;
  const char* op_;
};

template <class Args>
Checker checker_of(const Backend& backend, const Args&) {
  return {backend, Args::kName};
}

// Four at a time, if rows begin on a border of four.
std::size_t border_of_four(std::int64_t cols, std::size_t else_border) {
  return cols % 4 == 0 ? 16 : else_border;
}

// e and its bias, of which a layer of n_s units has its columns; of no bytes if there is no R.
struct ProposalPieces {
  Piece e, bias;
};
ProposalPieces check_proposal(const Checker& c, const ProposalLogits& R, const Tile& tile,
                              std::int64_t n_s) {
  if (!R.e.data) return {};
  c.same(R.e.rows, tile.N, "e.rows");
  c.holds(R.first >= 0 && R.first + n_s <= R.e.cols, "e has no columns for the layer");
  c.holds(R.from_P >= 0, "from_P is negative");
  return {c.matrix("e", R.e), c.array("bias of e", R.bias, R.e.cols)};
}

// a, b and s of an op that knows both distributions of the layer; a and b may be missing together.
struct LayerPieces {
  Piece a, b, s;
};
LayerPieces check_layer(const Checker& c, const Tile& tile, ConstMatrix a, const float* b,
                        ConstBits s) {
  c.tile(tile);
  c.same(s.rows, tile.rows(), "s.rows");
  if (!a.data) return {{}, {}, c.bits("s", s)};
  c.examples_or_particles(a.rows, tile, "a.rows");
  c.same(a.cols, s.cols, "a.cols");
  return {c.matrix("a", a), c.array("b", b, a.cols), c.bits("s", s)};
}

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();

// Floats that the parts' runs of `size` lie in.
std::int64_t parts_size(const Parts& parts, std::int64_t size) {
  return size > 0 ? (parts.count - 1) * parts.stride + size : 0;
}

void check_parts(const Checker& c, const Parts& parts, std::int64_t size) {
  c.holds(size >= 0, "size is negative");
  c.holds(
      parts.places >= 1 && parts.places <= kMaxParts && (parts.places & (parts.places - 1)) == 0,
      "parts.places is not a power of two");
  c.holds(parts.count >= 1 && parts.count <= parts.places, "parts.count is not in 1 .. places");
  c.holds(parts.count == 1 || parts.stride >= size, "parts.stride is less than size");
}

}  // namespace

// --- data

void check(const Backend& backend, const FillZeroArgs& p) {
  checker_of(backend, p).piece("data", p.data, p.bytes, 1);
}

void check(const Backend& backend, const GatherArgs& p) {
  const Checker c = checker_of(backend, p);
  c.tile(p.tile);
  c.same(p.out.rows, p.tile.N, "out.rows");
  c.same(p.out.cols, p.data.cols, "out.cols");
  c.holds((p.place < 0 ? p.tile.first : p.place) + p.tile.N <= p.data.rows,
          "the tile ends behind the data");
  const bool bytes = p.data.type == DataColumns::Type::u8;
  const std::size_t width = bytes ? 1 : sizeof(float);
  const std::size_t least = p.tile.N > 0 ? std::size_t(p.data.cols) * width : 0;  // of one row
  c.apart({c.matrix("out", p.out)},
          {c.piece("data", p.data.data, least, width),
           c.array("mean", p.mean, p.mean ? p.data.cols : 0),
           c.array("inverse_scale", p.inverse_scale, p.inverse_scale ? p.data.cols : 0),
           c.array("order", p.order, p.order ? p.tile.first + p.tile.N : 0)});
}

void check(const Backend& backend, const ShuffleArgs& p) {
  const Checker c = checker_of(backend, p);
  c.holds(p.count >= 0 && p.count <= kMaxIndex, "count is out of range");
  c.array("order", p.order, p.count);
}

// --- products

void check(const Backend& backend, const MultiplyArgs& p) {
  const Checker c = checker_of(backend, p);
  c.same(p.z.rows, p.out.rows, "z.rows");
  c.same(p.z.cols, p.W.rows, "z.cols");
  c.same(p.W.cols, p.out.cols, "W.cols");
  c.apart({c.matrix("out", p.out)}, {c.operand("z", p.z), c.matrix("W", p.W)});
}

void check(const Backend& backend, const MultiplyTransposedArgs& p) {
  const Checker c = checker_of(backend, p);
  c.same(p.g.rows, p.out.rows, "g.rows");
  c.same(p.g.cols, p.W.cols, "g.cols");
  c.same(p.W.rows, p.out.cols, "W.rows");
  c.apart({c.matrix("out", p.out)}, {c.matrix("g", p.g), c.matrix("W", p.W)});
}

void check(const Backend& backend, const AccumulateOuterArgs& p) {
  const Checker c = checker_of(backend, p);
  c.rows(p.rows, p.z.rows, p.g.rows, "g.rows");
  c.same(p.z.cols, p.gW.rows, "z.cols");
  c.same(p.g.cols, p.gW.cols, "g.cols");
  c.apart({c.matrix("gW", p.gW)}, {c.operand("z", p.z), c.matrix("g", p.g), c.index(p.rows)});
}

// --- forward

void check(const Backend& backend, const SampleHiddenArgs& p) {
  const Checker c = checker_of(backend, p);
  c.tile(p.tile);
  c.same(p.s.rows, p.tile.rows(), "s.rows");
  c.holds(p.s.cols <= kMaxDrawnUnits, "s.cols is more than one site can draw");
  const Piece s = c.bits("s", p.s, border_of_four(p.s.cols, 8));
  const auto [e, bias] = check_proposal(c, p.R, p.tile, p.s.cols);
  c.apart({s}, {e, bias});
  if (!p.a.data) return;
  c.examples_or_particles(p.a.rows, p.tile, "a.rows");
  c.same(p.a.cols, p.s.cols, "a.cols");
  c.apart({s}, {c.matrix("a", p.a, border_of_four(p.a.cols, alignof(float))),
                c.array("b", p.b, p.a.cols)});
}

void check(const Backend& backend, const ActivateArgs& p) {
  const Checker c = checker_of(backend, p);
  c.tile(p.tile);
  c.examples_or_particles(p.d.rows, p.tile, "d.rows");
  const Piece d = c.matrix("d", p.d), b = c.array("b", p.b, p.d.cols);
  c.apart({d}, {b});
  if (!p.shared.data) return;
  c.same(p.shared.rows, p.tile.N, "shared.rows");
  c.same(p.shared.cols, p.d.cols, "shared.cols");
  c.same(p.d.rows, p.tile.rows(), "d.rows");
  c.apart({d}, {c.matrix("shared", p.shared)});
}

void check(const Backend& backend, const OutputLogProbArgs& p) {
  const Checker c = checker_of(backend, p);
  const auto [o, bias, y, rho] = c.output(p.of);
  c.apart({c.array("log_w", p.log_w, p.of.tile.rows())}, {o, bias, y, rho});
}

void check(const Backend& backend, const AccumulateMeanOutputArgs& p) {
  const Checker c = checker_of(backend, p);
  const auto [o, bias, y, rho] = c.output(p.of);
  c.same(p.mean.rows, p.of.tile.N, "mean.rows");
  c.same(p.mean.cols, p.of.D_out(), "mean.cols");
  c.apart({c.matrix("mean", p.mean)}, {o, bias, y, rho});
}

// --- weigh

void check(const Backend& backend, const ParticleWeightsArgs& p) {
  const Checker c = checker_of(backend, p);
  c.tile(p.tile);
  // omega is an output of its own, unless w_bar is what it is.
  const bool alias = p.omega_rule == OmegaRule::w_bar && p.omega == p.w_bar;
  const bool made = p.omega_rule != OmegaRule::none && !alias;
  c.apart({c.array("w_bar", p.w_bar, p.tile.rows()), c.array("C_hat", p.C_hat, p.tile.N),
           c.array("ess", p.ess, p.tile.N), c.array("omega", p.omega, made ? p.tile.rows() : 0)},
          {c.array("log_w", p.log_w, p.tile.rows())});
}

void check(const Backend& backend, const SelectRowsArgs& p) {
  const Checker c = checker_of(backend, p);
  c.tile(p.tile);
  c.holds(p.tile.rows() <= kMaxIndex, "the tile has more rows than an index can name");
  c.apart({c.array("index", p.index, p.tile.rows())}, {c.array("w_bar", p.w_bar, p.tile.rows())});
}

void check(const Backend& backend, const AccumulateMetricsArgs& p) {
  const Checker c = checker_of(backend, p);
  c.apart({c.array("sums", p.sums, 2)},
          {c.array("C_hat", p.C_hat, p.N), c.array("ess", p.ess, p.N)});
}

// --- a learned proposal

void check(const Backend& backend, const JoinTargetArgs& p) {
  const Checker c = checker_of(backend, p);
  c.same(p.x.rows, p.out.rows, "x.rows");
  c.same(p.y.rows, p.out.rows, "y.rows");
  c.holds(p.out.cols > p.x.cols, "out has no columns for y");
  c.same(p.y.cols, target_width(p.output, p.out.cols - p.x.cols), "y.cols");
  c.apart({c.matrix("out", p.out)}, {c.matrix("x", p.x), c.matrix("y", p.y)});
}

void check(const Backend& backend, const LogRatioArgs& p) {
  const Checker c = checker_of(backend, p);
  const auto [a, b, s] = check_layer(c, p.tile, p.a, p.b, p.s);
  c.holds(p.R.e.data || p.tile.N == 0, "e is null");
  // A part of the particles does not tell how many are drawn from P.
  c.holds(p.R.from_P == 0 || (p.tile.first_particle == 0 && p.R.from_P <= p.tile.M),
          "from_P is more than the particles of an example");
  const auto [e, bias] = check_proposal(c, p.R, p.tile, p.s.cols);
  c.apart({c.array("log_ratio", p.log_ratio, p.tile.rows()),
           c.array("log_w", p.log_w, p.log_w ? p.tile.rows() : 0)},
          {a, b, s, e, bias});
}

void check(const Backend& backend, const ProposalWeightsArgs& p) {
  const Checker c = checker_of(backend, p);
  c.tile(p.tile);
  c.holds(p.from_P >= 0 && p.from_P <= p.tile.M && p.tile.first_particle == 0,
          "from_P is more than the particles of an example");
  c.holds(p.rule != ProposalRule::bound || p.tile.M >= 2, "there is no particle to compare with");
  c.holds(p.omega || (p.rule == ProposalRule::rws && p.from_P == 0), "omega is null");
  c.apart(
      {c.array("omega", p.omega, p.omega ? p.tile.rows() : 0),
       c.array("omega_R", p.omega_R, p.tile.rows())},
      {c.array("w_bar", p.w_bar, p.tile.rows()), c.array("log_ratio", p.log_ratio, p.tile.rows())});
}

void check(const Backend& backend, const ProposalGradArgs& p) {
  const Checker c = checker_of(backend, p);
  const auto [a, b, s] = check_layer(c, p.tile, p.a, p.b, p.s);
  c.holds(p.R.e.data || p.tile.N == 0, "e is null");
  const auto [e, bias] = check_proposal(c, p.R, p.tile, p.s.cols);
  c.same(p.g_e.rows, p.R.e.rows, "g_e.rows");
  c.same(p.g_e.cols, p.R.e.cols, "g_e.cols");
  c.apart({c.matrix("g_e", p.g_e)},
          {a, b, s, e, bias, c.array("omega_R", p.omega_R, p.tile.rows())});
}

// --- backward

void check(const Backend& backend, const OutputGradArgs& p) {
  const Checker c = checker_of(backend, p);
  const auto [o, bias, y, rho] = c.output(p.of);
  c.rows(p.rows, p.of.tile.rows(), p.g_o.rows, "g_o.rows");
  c.same(p.g_o.cols, p.of.o.cols, "g_o.cols");
  const std::int64_t params = scale_param_count(p.of.output, p.of.D_out());
  c.same(p.g_scale.cols, params, "g_scale.cols");
  if (params > 0) c.same(p.g_scale.rows, p.g_o.rows, "g_scale.rows");
  c.apart({c.matrix("g_o", p.g_o), c.matrix("g_scale", p.g_scale)},
          {o, bias, y, rho, c.array("weight", p.weight, p.of.tile.rows()), c.index(p.rows)});
}

void check(const Backend& backend, const PathGradArgs& p) {
  const Checker c = checker_of(backend, p);
  c.tile(p.tile);
  c.examples_or_particles(p.a.rows, p.tile, "a.rows");
  c.same(p.a.cols, p.g.cols, "a.cols");
  if (p.by_example()) c.same(p.a.rows, p.tile.N, "a.rows");
  c.rows(p.rows, p.by_example() ? p.tile.N : p.tile.rows(), p.g.rows, "g.rows");
  const Piece g = c.matrix("g", p.g);
  c.apart({g}, {c.matrix("a", p.a), c.array("b", p.b, p.a.cols), c.index(p.rows)});
  if (!reads_draw(p.rule)) return;
  c.same(p.s.rows, p.tile.rows(), "s.rows");
  c.same(p.s.cols, p.g.cols, "s.cols");
  c.holds(p.T > 0, "T is not positive");
  c.apart({g}, {c.bits("s", p.s)});
}

void check(const Backend& backend, const ScoreGradArgs& p) {
  const Checker c = checker_of(backend, p);
  c.tile(p.tile);
  c.examples_or_particles(p.a.rows, p.tile, "a.rows");
  c.same(p.a.cols, p.g.cols, "a.cols");
  c.same(p.s.rows, p.tile.rows(), "s.rows");
  c.same(p.s.cols, p.g.cols, "s.cols");
  c.rows(p.rows, p.a.rows, p.g.rows, "g.rows");
  c.apart({c.matrix("g", p.g)}, {c.matrix("a", p.a), c.array("b", p.b, p.a.cols), c.bits("s", p.s),
                                 c.array("omega", p.omega, p.tile.rows()),
                                 c.array("beta", p.beta, p.beta ? p.a.cols : 0), c.index(p.rows)});
  if (!p.omega_R) return;
  c.holds(p.R.e.data || p.tile.N == 0, "e is null");
  const auto [e, bias] = check_proposal(c, p.R, p.tile, p.g.cols);
  c.apart({c.matrix("g", p.g)}, {e, bias, c.array("omega_R", p.omega_R, p.tile.rows())});
}

void check(const Backend& backend, const MakeBetaArgs& p) {
  const Checker c = checker_of(backend, p);
  c.apart({c.array("beta", p.beta, p.n_s)}, {c.array("averages", p.averages, 2 * p.n_s)});
}

void check(const Backend& backend, const DeterministicGradArgs& p) {
  const Checker c = checker_of(backend, p);
  c.same(p.d.cols, p.g.cols, "d.cols");
  c.rows(p.rows, p.d.rows, p.g.rows, "g.rows");
  c.apart({c.matrix("g", p.g)}, {c.matrix("d", p.d), c.index(p.rows)});
}

void check(const Backend& backend, const SumParticlesArgs& p) {
  const Checker c = checker_of(backend, p);
  c.tile(p.tile);
  c.rows(p.rows, p.tile.rows(), p.g.rows, "g.rows");
  c.same(p.out.rows, p.tile.N, "out.rows");
  c.same(p.out.cols, p.g.cols, "out.cols");
  c.apart({c.matrix("out", p.out)}, {c.matrix("g", p.g), c.index(p.rows)});
}

void check(const Backend& backend, const AccumulateColumnSumsArgs& p) {
  const Checker c = checker_of(backend, p);
  c.apart({c.array("gb", p.gb, p.g.cols)}, {c.matrix("g", p.g)});
}

void check(const Backend& backend, const AccumulateBaselineArgs& p) {
  const Checker c = checker_of(backend, p);
  c.tile(p.tile);
  c.examples_or_particles(p.a.rows, p.tile, "a.rows");
  c.same(p.a.cols, p.s.cols, "a.cols");
  c.same(p.s.rows, p.tile.rows(), "s.rows");
  c.apart({c.array("sums", p.sums, 2 * p.s.cols)},
          {c.matrix("a", p.a), c.array("b", p.b, p.a.cols), c.bits("s", p.s),
           c.array("C_hat", p.C_hat, p.tile.N)});
}

// --- update

void check(const Backend& backend, const UpdateArgs& p) {
  const Checker c = checker_of(backend, p);
  check_parts(c, p.parts, p.size);
  const OptimizerRow& row = row_of(p.optimizer);
  const auto piece = [&](int a) {
    return a < row.arrays() ? c.array(row.array_names[a].data(), p.arrays[a], p.size) : Piece{};
  };
  static_assert(kMaxOptimizerArrays == 2);
  c.apart({c.array("params", p.params, p.size), piece(0), piece(1),
           c.array("average", p.average, p.average ? p.size : 0),
           c.array("square_sums", p.square_sums, p.square_sums ? square_runs(p.size) : 0)},
          {c.array("parts", p.parts.data, parts_size(p.parts, p.size)),
           c.array("clip", p.clip, p.clip ? 1 : 0)});
}

void check(const Backend& backend, const SquareSumsArgs& p) {
  const Checker c = checker_of(backend, p);
  check_parts(c, p.parts, p.size);
  c.apart({c.array("square_sums", p.square_sums, square_runs(p.size))},
          {c.array("parts", p.parts.data, parts_size(p.parts, p.size))});
}

void check(const Backend& backend, const GradientNormArgs& p) {
  const Checker c = checker_of(backend, p);
  c.holds(p.count >= 0, "count is negative");
  c.holds(p.clip_norm == 0 || p.clip, "clip is null");
  c.apart({c.array("clip", p.clip, p.clip ? 1 : 0), c.array("sums", p.sums, 2)},
          {c.array("square_sums", p.square_sums, p.count)});
}

void check(const Backend& backend, const BaselineUpdateArgs& p) {
  const Checker c = checker_of(backend, p);
  check_parts(c, p.parts, p.size);
  c.apart({c.array("averages", p.averages, p.size)},
          {c.array("parts", p.parts.data, parts_size(p.parts, p.size))});
}

// --- copies of bits

void check_bits_copy(const char* op, ConstBits bits, std::size_t count) {
  if (bits.rows < 0 || bits.cols < 0 || std::size_t(bits.rows * bits.cols) != count)
    refuse(op, fmt::format("{} values for {} x {} bits", count, bits.rows, bits.cols));
  if (count == 0) return;
  if (!bits.data) refuse(op, "the bits are null");
  if (reinterpret_cast<std::uintptr_t>(bits.data) % 8 != 0)
    refuse(op, "the bits do not lie on a border of 8 bytes");
}

}  // namespace sfnn

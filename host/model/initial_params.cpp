#include "host/model/initial_params.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "host/backend/cpu/normals.hpp"

namespace sfnn {
namespace {

constexpr std::int64_t kPieceFloats = 1 << 20;

// A run of parameters: some rows of a matrix that are drawn, or (tensor 0) one value.
struct Piece {
  std::int64_t offset, rows, cols;
  std::uint32_t tensor = 0;
  std::int64_t first_row = 0;
  std::int64_t drawn_cols = 0;  // the rest of a row stays 0
  double value = 0;             // or the deviation of what is drawn

  std::int64_t size() const { return rows * cols; }
};

std::vector<Piece> pieces_of(const NetworkSpec& spec, double scale, double sigma) {
  const ParamLayout layout(spec);
  const double rho = std::log((sigma - kSigmaFloor) / (1 - kSigmaFloor));
  std::vector<Piece> pieces;
  const auto add_rhos = [&](std::int64_t offset, std::int64_t count) {
    if (count > 0) pieces.push_back({.offset = offset, .rows = 1, .cols = count, .value = rho});
  };
  add_rhos(layout.rho.offset, layout.rho.size());
  add_rhos(layout.c.offset + spec.D_out, layout.c.sigma_cols);
  std::uint32_t tensor = 0;
  for (const ParamSlot& slot : layout.slots()) {
    ++tensor;
    if (slot.fan_in == 0) continue;
    const double deviation = scale * slot.initial_gain / std::sqrt(double(slot.fan_in));
    const std::int64_t rows = std::max<std::int64_t>(1, kPieceFloats / slot.cols);
    for (std::int64_t first = 0; first < slot.rows; first += rows)
      pieces.push_back({slot.offset + first * slot.cols, std::min(rows, slot.rows - first),
                        slot.cols, tensor, first, slot.cols - slot.sigma_cols, deviation});
  }
  return pieces;
}

// One normal per pair of words; the row takes the particle's place in the index.
void fill(const Piece& piece, const DrawKey& key, float* out) {
  if (piece.tensor == 0) {
    std::fill_n(out, piece.size(), float(piece.value));
    return;
  }
  for (std::int64_t j = 0; j < piece.rows; ++j)
    cpu::fill_normals(key, piece.tensor, std::uint32_t(piece.first_row + j), piece.value,
                      {out + j * piece.cols, std::size_t(piece.drawn_cols)});
}

}  // namespace

std::vector<float> initial_params(const NetworkSpec& spec, std::uint64_t seed, double scale,
                                  double sigma, std::uint32_t site) {
  std::vector<float> params(ParamLayout(spec).size);
  const DrawKey key{seed, /*step=*/0, site};
  for (const Piece& piece : pieces_of(spec, scale, sigma))
    fill(piece, key, params.data() + piece.offset);
  return params;
}

void draw_initial_params(Backend& backend, const NetworkSpec& spec, const InitialWeights& weights,
                         float* params) {
  const std::vector<Piece> pieces = pieces_of(spec, weights.scale, weights.sigma);
  const DrawKey key{weights.seed, /*step=*/0, weights.site};
  if (backend.is_host_memory()) {
    backend.for_each(std::int64_t(pieces.size()),
                     [&](std::int64_t i, int) { fill(pieces[i], key, params + pieces[i].offset); });
    return;
  }
  std::vector<float> drawn;
  for (const Piece& piece : pieces) {
    drawn.assign(piece.size(), 0);
    fill(piece, key, drawn.data());
    backend.upload(std::as_bytes(std::span(drawn)),
                   reinterpret_cast<std::byte*>(params + piece.offset));
  }
}

}  // namespace sfnn

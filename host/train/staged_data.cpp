#include "host/train/staged_data.hpp"

#include "kernels/philox.hpp"

namespace sfnn {
namespace {

std::span<const std::byte> bytes_of(const Columns& columns) {
  return std::visit([](const auto& values) { return std::as_bytes(std::span(values)); },
                    columns.values);
}

HostRows rows_of(const Examples& examples) {
  return {bytes_of(examples.x), bytes_of(examples.y), examples.count};
}

DataColumns shape_of(const Columns& columns, std::int64_t rows) {
  const bool is_u8 = std::holds_alternative<std::vector<std::uint8_t>>(columns.values);
  return {nullptr, is_u8 ? DataColumns::Type::u8 : DataColumns::Type::f32, rows, columns.cols,
          columns.scale};
}

}  // namespace

StagedData::StagedData(Backend& backend, const Examples& examples, std::int64_t height)
    : backend_(backend),
      count_(examples.count),
      height_(height),
      x_(shape_of(examples.x, examples.count)),
      y_(shape_of(examples.y, examples.count)),
      feed_(backend.make_feed(rows_of(examples), height)) {
  if (feed_) return;
  x_.data = backend.stage(bytes_of(examples.x), x_copy_);
  y_.data = backend.stage(bytes_of(examples.y), y_copy_);
}

std::size_t StagedData::bytes(const Backend& backend, const Examples& examples,
                              std::int64_t height) {
  return backend.staged_bytes(rows_of(examples), height);
}

std::size_t StagedData::pass_bytes(const Examples& examples) {
  return sizeof(float) * std::size_t(examples.x.cols + examples.y.cols);
}

std::size_t StagedData::window_bytes(const Examples& examples) {
  const HostRows rows = rows_of(examples);
  return 2 * (rows.x_row() + rows.y_row());
}

void StagedData::reorder(const std::int32_t* order) {
  order_ = order;
  if (feed_) feed_->reorder(order);
}

int StagedData::begin_step(std::int64_t step_of_epoch) {
  if (!feed_) return 0;
  const RowFeed::Window window = feed_->open(step_of_epoch);
  x_.data = window.x;
  y_.data = window.y;
  in_step_ = true;
  return int(step_of_epoch % 2);
}

void StagedData::end_step() {
  if (feed_) feed_->close();
  in_step_ = false;
}

void StagedData::gather(const Tile& tile, const Randomness& random, const Model::GatherUnits& units,
                        Pass& pass) const {
  const Range range(backend_, "gather");
  GatherArgs x{.data = x_, .order = order_, .tile = tile};
  x.binarize = random.binarize;
  x.binarize_draw = {random.data_seed, kSiteBinarizeInput};
  x.mean = units.x_mean;
  x.inverse_scale = units.x_inverse_scale;
  x.noise = random.noise;
  x.noise_draw = {random.seed, kSiteInputNoise};
  x.out = pass.x(tile.N);
  GatherArgs y{.data = y_, .order = order_, .tile = tile};
  y.binarize = random.binarize;
  y.binarize_draw = {random.data_seed, kSiteBinarizeTarget};
  y.mean = units.y_mean;
  y.inverse_scale = units.y_inverse_scale;
  y.out = pass.y(tile.N);
  const bool opens = feed_ && !in_step_;
  if (opens) {
    const RowFeed::Window window = feed_->open(tile.first / height_);
    x.data.data = window.x;
    y.data.data = window.y;
  }
  if (feed_) x.place = y.place = tile.first % height_;
  backend_.gather(x);
  backend_.gather(y);
  if (opens) feed_->close();
}

}  // namespace sfnn

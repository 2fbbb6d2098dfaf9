#include "host/train/staged_data.hpp"

#include "kernels/philox.hpp"

namespace sfnn {
namespace {

// Examples of which a file has a part.
class ExampleReader final : public RowReader {
 public:
  explicit ExampleReader(const Examples& examples) : examples_(examples) {}

  std::size_t x_row() const override { return examples_.x.row_bytes(); }
  std::size_t y_row() const override { return examples_.y.row_bytes(); }
  void read(const std::int32_t* order, std::int64_t first, std::int64_t count, std::byte* x,
            std::byte* y) const override {
    for (const Columns* columns : {&examples_.x, &examples_.y})
      if (const FileRows* rows = columns->file_rows()) rows->file->require_unchanged();
    read_rows(examples_.x, order, first, count, x);
    read_rows(examples_.y, order, first, count, y);
  }
  void will_read(const std::int32_t* order, std::int64_t first, std::int64_t count) const override {
    will_need_rows(examples_.x, order, first, count);
    will_need_rows(examples_.y, order, first, count);
  }

 private:
  const Examples& examples_;
};

std::unique_ptr<RowReader> reader_of(const Examples& examples) {
  if (!examples.x.in_file() && !examples.y.in_file()) return nullptr;
  return std::make_unique<ExampleReader>(examples);
}

HostRows rows_of(const Examples& examples, const RowReader* reader) {
  return {examples.x.memory(), examples.y.memory(), examples.count, reader};
}

DataColumns shape_of(const Columns& columns, std::int64_t rows) {
  return {nullptr, columns.holds_bytes() ? DataColumns::Type::u8 : DataColumns::Type::f32, rows,
          columns.cols, columns.scale};
}

}  // namespace

StagedData::StagedData(Backend& backend, const Examples& examples, std::int64_t height)
    : backend_(backend),
      count_(examples.count),
      height_(height),
      x_(shape_of(examples.x, examples.count)),
      y_(shape_of(examples.y, examples.count)),
      reader_(reader_of(examples)),
      feed_(backend.make_feed(rows_of(examples, reader_.get()), height)) {
  if (feed_) return;
  x_.data = backend.stage(examples.x.memory(), x_copy_);
  y_.data = backend.stage(examples.y.memory(), y_copy_);
}

std::size_t StagedData::bytes(const Backend& backend, const Examples& examples,
                              std::int64_t height) {
  const auto reader = reader_of(examples);
  return backend.staged_bytes(rows_of(examples, reader.get()), height);
}

std::size_t StagedData::pass_bytes(const Examples& examples) {
  return sizeof(float) * std::size_t(examples.x.cols + examples.y.cols);
}

std::size_t StagedData::window_bytes(const Examples& examples) {
  return 2 * (examples.x.row_bytes() + examples.y.row_bytes());
}

void StagedData::reorder(const std::int32_t* order) {
  order_ = order;
  if (feed_) feed_->reorder(order);
}

int StagedData::begin_step(std::int64_t step_of_epoch) {
  if (!feed_) return 0;
  step_window_ = feed_->open(step_of_epoch);
  x_.data = step_window_.x;
  y_.data = step_window_.y;
  in_step_ = true;
  return int(step_of_epoch % 2);
}

void StagedData::end_step() {
  if (feed_) feed_->close(step_window_);
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
  RowFeed::Window window;
  if (opens) {
    window = feed_->open(tile.first / height_);
    x.data.data = window.x;
    y.data.data = window.y;
  }
  if (feed_) x.place = y.place = tile.first % height_;
  backend_.gather(x);
  backend_.gather(y);
  if (opens) feed_->close(window);
}

}  // namespace sfnn

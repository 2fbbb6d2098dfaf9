#include "host/train/staged_data.hpp"

#include "kernels/philox.hpp"

namespace sfnn {
namespace {

DataColumns stage(Backend& backend, const Columns& columns, std::int64_t rows, Buffer& copy) {
  const auto staged = [&](const auto& values, DataColumns::Type type) {
    return DataColumns{backend.stage(std::as_bytes(std::span(values)), copy), type, rows,
                       columns.cols, columns.scale};
  };
  if (const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&columns.values)) {
    return staged(*bytes, DataColumns::Type::u8);
  }
  return staged(std::get<std::vector<float>>(columns.values), DataColumns::Type::f32);
}

}  // namespace

StagedData::StagedData(Backend& backend, const Examples& examples, std::span<const float> mean)
    : count_(examples.count),
      mean_(backend, mean.size_bytes()),
      x_(stage(backend, examples.x, examples.count, x_copy_)),
      y_(stage(backend, examples.y, examples.count, y_copy_)) {
  backend.upload(std::as_bytes(mean), mean_.data());
}

void StagedData::gather(Backend& backend, const Tile& tile, const std::int32_t* order,
                        const Randomness& random, Pass& pass) const {
  GatherArgs x{.data = x_, .order = order, .tile = tile};
  x.binarize = random.binarize;
  x.binarize_draw = {random.data_seed, kSiteBinarizeInput};
  x.mean = mean_.floats();
  x.noise = random.noise;
  x.noise_draw = {random.seed, kSiteInputNoise};
  x.out = pass.x(tile.N);
  backend.gather(x);
  GatherArgs y{.data = y_, .order = order, .tile = tile};
  y.binarize = random.binarize;
  y.binarize_draw = {random.data_seed, kSiteBinarizeTarget};
  y.out = pass.y(tile.N);
  backend.gather(y);
}

}  // namespace sfnn

#include "host/model/model.hpp"

#include <fmt/format.h>

#include <utility>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

std::shared_ptr<Buffer> uploaded(Backend& backend, std::span<const float> values) {
  auto buffer = std::make_shared<Buffer>(backend, values.size_bytes());
  backend.upload(std::as_bytes(values), buffer->data());
  return buffer;
}

void require_params(const ParamLayout& layout, std::span<const float> params) {
  if (std::int64_t(params.size()) != layout.size)
    throw DataError("the weights do not fit the network");
}

bool has_one_sigma(Output output) {
  switch (output) {
    case Output::gaussian:
    case Output::gaussian_learnt:
      return true;
    case Output::softmax:
    case Output::bernoulli:
    case Output::gaussian_each:
    case Output::gaussian_predicted:
    case Output::poisson:
      return false;
  }
  return false;
}

Units units_for(const NetworkSpec& spec, const Units& units) {
  const bool has_y_units = row_of(spec.output).family == Output::gaussian;
  Units::visit(units, [&](const char* name, const std::vector<float>& array, bool of_x) {
    const std::int64_t wanted = of_x ? spec.D_in : has_y_units ? spec.D_out : 0;
    if (!array.empty() && std::int64_t(array.size()) != wanted)
      throw DataError(fmt::format("{} does not fit the network", name));
  });
  return has_one_sigma(spec.output) ? with_common_y_scale(units) : units;
}

// All arrays one after another, scales as what is multiplied by.
std::vector<float> gather_arrays(const Units& units) {
  std::vector<float> all(units.x_mean);
  for (const float scale : units.x_scale) all.push_back(1 / scale);
  all.insert(all.end(), units.y_mean.begin(), units.y_mean.end());
  for (const float scale : units.y_scale) all.push_back(1 / scale);
  return all;
}

}  // namespace

Model::Model(Backend& backend, const NetworkSpec& spec, const Units& units,
             std::uint32_t first_site)
    : backend_(&backend),
      spec_(spec),
      layout_(spec),
      units_(units_for(spec, units)),
      first_site_(first_site) {
  gathers_ = uploaded(backend, gather_arrays(units_));
}

Model::Model(Backend& backend, const NetworkSpec& spec, std::span<const float> params,
             const Units& units, std::uint32_t first_site)
    : Model(backend, spec, units, first_site) {
  require_params(layout_, params);
  params_ = uploaded(backend, params);
}

Model::Model(Backend& backend, const NetworkSpec& spec, const InitialWeights& weights,
             const Units& units, std::uint32_t first_site)
    : Model(backend, spec, units, first_site) {
  params_ = std::make_shared<Buffer>(backend, sizeof(float) * std::size_t(layout_.size));
  draw_initial_params(backend, spec, weights, params_->floats());
}

// In the order of gather_arrays.
Model::GatherUnits Model::gather_units() const {
  GatherUnits units;
  const float* next = gathers_ ? gathers_->floats() : nullptr;
  const auto take = [&](const std::vector<float>& array, const float*& place) {
    if (!array.empty() && next) place = std::exchange(next, next + array.size());
  };
  take(units_.x_mean, units.x_mean);
  take(units_.x_scale, units.x_inverse_scale);
  take(units_.y_mean, units.y_mean);
  take(units_.y_scale, units.y_inverse_scale);
  return units;
}

void Model::set_params(std::span<const float> params) {
  require_params(layout_, params);
  backend_->upload(std::as_bytes(params), params_->data());
}

std::vector<float> Model::download_params() const {
  std::vector<float> params(layout_.size);
  download(*backend_, this->params(), params);
  return params;
}

Model Model::as_stochastic() const {
  Model drawn = *this;
  drawn.spec_ = sfnn::as_stochastic(spec_);
  drawn.layout_ = ParamLayout(drawn.spec_);
  return drawn;
}

Model Model::with_own_params() const {
  Model copy = *this;
  copy.params_ = std::make_shared<Buffer>(*backend_, params_->bytes());
  copy.set_params(download_params());
  return copy;
}

Model Model::for_gathered_examples() const {
  Model gathered = *this;
  gathered.gathers_.reset();
  return gathered;
}

}  // namespace sfnn

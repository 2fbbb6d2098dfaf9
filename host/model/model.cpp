#include "host/model/model.hpp"

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

}  // namespace

Model::Model(Backend& backend, const NetworkSpec& spec, std::span<const float> params,
             std::span<const float> x_mean, std::uint32_t first_site)
    : backend_(&backend), spec_(spec), layout_(spec), first_site_(first_site) {
  require_params(layout_, params);
  if (!x_mean.empty() && std::int64_t(x_mean.size()) != spec.D_in)
    throw DataError("the mean of the inputs does not fit the network");
  params_ = uploaded(backend, params);
  x_mean_ = uploaded(backend, x_mean);
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

Model Model::for_centred_inputs() const {
  Model centred = *this;
  centred.x_mean_ = std::make_shared<Buffer>();
  return centred;
}

}  // namespace sfnn

// A network with its weights in a backend's memory: the noun that training, evaluation, sampling
// and prediction pass around.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/model/network.hpp"

namespace sfnn {

class Model {
 public:
  // params: [ParamLayout(spec).size]. x_mean: [D_in], subtracted from every input, or empty. Both
  // are copied. Throws DataError if they do not fit the network.
  // Hidden layer l draws its units at site first_site + l: see Site in kernels/philox.hpp.
  Model(Backend&, const NetworkSpec&, std::span<const float> params,
        std::span<const float> x_mean = {}, std::uint32_t first_site = 0);

  Backend& backend() const { return *backend_; }
  const NetworkSpec& spec() const { return spec_; }
  const ParamLayout& layout() const { return layout_; }
  // In the backend's memory.
  const float* params() const { return params_->floats(); }
  float* params() { return params_->floats(); }
  Buffer& params_buffer() { return *params_; }
  const float* x_mean() const { return x_mean_->floats(); }  // null: nothing is subtracted
  std::size_t bytes() const { return params_->bytes() + x_mean_->bytes(); }

  std::uint32_t first_site() const { return first_site_; }

  void set_params(std::span<const float>);  // throws DataError if they do not fit
  std::vector<float> download_params() const;

  // Network B: these weights, with deterministic units read as stochastic ones. Both models share
  // the memory of the weights. Throws ConfigError if layers are hybrid.
  Model as_stochastic() const;
  // The same network with a copy of the weights in memory of its own.
  Model with_own_params() const;
  // These weights, for inputs whose mean has already been subtracted. Shares their memory, too.
  Model for_centred_inputs() const;

 private:
  Backend* backend_;
  NetworkSpec spec_;
  ParamLayout layout_;
  std::shared_ptr<Buffer> params_, x_mean_;
  std::uint32_t first_site_;
};

}  // namespace sfnn

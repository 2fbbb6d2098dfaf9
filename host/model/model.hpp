// A network with its weights in a backend's memory: the noun that training, evaluation, sampling
// and prediction pass around.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/data/units.hpp"
#include "host/model/initial_params.hpp"
#include "host/model/network.hpp"

namespace sfnn {

// What the output distribution has to know of the units of y.
struct TargetUnits {
  double scale = 1;  // that a given sigma is in
  double log_jacobian = 0;
};

class Model {
 public:
  // params: [ParamLayout(spec).size]. units: in which it sees its numbers; with one scale for all
  // targets if one sigma serves them all. Both are copied. Throws DataError if they do not fit the
  // network.
  // Hidden layer l draws its units at site first_site + l: see Site in kernels/philox.hpp.
  Model(Backend&, const NetworkSpec&, std::span<const float> params, const Units& units = {},
        std::uint32_t first_site = 0);

  // Fresh weights, drawn where they stay: the host holds no second copy.
  Model(Backend&, const NetworkSpec&, const InitialWeights&, const Units& units = {},
        std::uint32_t first_site = 0);

  Backend& backend() const { return *backend_; }
  const NetworkSpec& spec() const { return spec_; }
  const ParamLayout& layout() const { return layout_; }
  // In the backend's memory.
  const float* params() const { return params_->floats(); }
  float* params() { return params_->floats(); }
  Buffer& params_buffer() { return *params_; }
  const Units& units() const { return units_; }
  // The same in the backend's memory, for examples that are gathered.
  struct GatherUnits {
    const float *x_mean = nullptr, *x_inverse_scale = nullptr;
    const float *y_mean = nullptr, *y_inverse_scale = nullptr;
  };
  GatherUnits gather_units() const;
  TargetUnits target_units() const { return {units_.y_scale_of(0), units_.log_jacobian()}; }
  std::size_t bytes() const { return params_->bytes() + (gathers_ ? gathers_->bytes() : 0); }

  std::uint32_t first_site() const { return first_site_; }

  void set_params(std::span<const float>);  // throws DataError if they do not fit
  std::vector<float> download_params() const;

  // Network B: these weights, with deterministic units read as stochastic ones. Both models share
  // the memory of the weights. Throws ConfigError if layers are hybrid.
  Model as_stochastic() const;
  // The same network with a copy of the weights in memory of its own.
  Model with_own_params() const;
  // These weights, for examples that were gathered before and are in its units already. Shares
  // their memory, too.
  Model for_gathered_examples() const;

 private:
  // Without weights as yet.
  Model(Backend&, const NetworkSpec&, const Units&, std::uint32_t first_site);

  Backend* backend_;
  NetworkSpec spec_;
  ParamLayout layout_;
  Units units_;
  std::shared_ptr<Buffer> params_;
  std::shared_ptr<Buffer> gathers_;  // the arrays of units_, scales inverted; null: none are used
  std::uint32_t first_site_;
};

}  // namespace sfnn

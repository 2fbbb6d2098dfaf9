#include "host/train/betas.hpp"

#include <vector>

namespace sfnn {

Betas::Betas(Backend& backend, const NetworkSpec& spec, const PassOptions& options)
    : backend_(backend),
      spec_(spec),
      layout_(spec, options.estimator),
      rule_(options.estimator.beta),
      values_(backend, layout_.beta_size * sizeof(float)) {
  switch (rule_) {
    case BetaRule::none:
    case BetaRule::moving_baseline:
      break;
    case BetaRule::constant: {
      const std::vector<float> values(layout_.beta_size, options.c);
      backend.upload(std::as_bytes(std::span(values)), values_.data());
      break;
    }
  }
}

void Betas::refresh(const float* averages) {
  switch (rule_) {
    case BetaRule::none:
    case BetaRule::constant:
      return;
    case BetaRule::moving_baseline:
      for (std::int64_t l = 0; l < spec_.depth(); ++l) {
        if (!spec_.hidden[l].trains_s()) continue;
        backend_.make_beta({.averages = averages + layout_.baseline_offset[l],
                            .n_s = spec_.hidden[l].n_s,
                            .beta = values_.floats() + layout_.beta_offset[l]});
      }
  }
}

}  // namespace sfnn

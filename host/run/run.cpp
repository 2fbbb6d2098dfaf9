#include "host/run/run.hpp"

#include "host/base/error.hpp"

namespace sfnn {

const std::optional<Config>& Run::config() {
  if (!config_ && directory_.holds_run()) config_ = directory_.config();
  return config_;
}

void Run::require_continues(const Config& other) {
  if (config()) directory_.require_continues(*config(), other);
}

void Run::open(const Warn& warn) {
  try {
    directory_.lock();
  } catch (const SaveError&) {
    not_locked_ = std::current_exception();
  }
  newest_ = directory_.newest(warn);
}

bool Run::is_finished(const Config& config) const {
  return newest_ &&
         (newest_->state.epoch >= config.train.epochs || newest_->state.ended_early != 0) &&
         differences(newest_->config, config).empty();
}

void Run::require_lock() const {
  if (not_locked_) std::rethrow_exception(not_locked_);
}

}  // namespace sfnn

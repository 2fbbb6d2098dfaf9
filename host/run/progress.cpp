#include "host/run/progress.hpp"

#include <algorithm>

namespace sfnn {

ProgressFigures progress_of(Trainer& trainer, const DataSet& data, std::int64_t first_step,
                            double seconds) {
  const std::int64_t step = trainer.step(), per_epoch = trainer.steps_per_epoch();
  const auto steps_done = double(std::max<std::int64_t>(1, step - first_step));
  const double per_step = std::max(seconds, 1e-9) / steps_done;
  return {.epoch = (step - 1) / per_epoch + 1,
          .epochs = trainer.total_steps() / per_epoch,
          .step = step,
          .total_steps = trainer.total_steps(),
          .C_hat = trainer.epoch_means().C_hat,
          .by_R = trainer.proposal() != nullptr,
          .examples_per_second = double(data.train.count) / double(per_epoch) / per_step,
          .seconds_left = per_step * double(trainer.total_steps() - step)};
}

}  // namespace sfnn

// Training in memory. A training that leaves its checkpoints and metrics on disk is in run.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <sfnn/config.hpp>
#include <sfnn/data.hpp>
#include <sfnn/device.hpp>
#include <sfnn/network.hpp>
#include <sfnn/progress.hpp>

namespace sfnn {

// The config's seed, net.* and train.* keys say how; with the same config, data and kind of device,
// the program and this class end with the same weights, bit for bit.
class Training {
 public:
  // From the first weights that the config asks for.
  Training(const Device&, const Data&, const RunConfig&);
  // From the weights of a network, with fresh averages of the optimiser, from step 0. Throws
  // ConfigError if the config has other layers.
  Training(const Network& start, const Data&, const RunConfig&);
  // From the step and the averages of the optimiser that a network was left with, for train.epochs
  // more, on examples that may be others; an epoch that was under way is not finished. Once for
  // each of k epochs at a constant rate is the same, bit for bit, as k epochs at once. Throws
  // ConfigError if the config has other layers, DataError if its optimiser keeps other averages.
  static Training extend(const Network& trained, const Data&, const RunConfig&);
  // From a checkpoint on, as if it had never stopped. Throws ConfigError or DataError if it does
  // not fit the data.
  static Training resume(const Device&, const Data&, const std::filesystem::path& checkpoint);

  // Trains to the last step, or until callbacks.stop says so; false: stopped. Throws Error if the
  // criterion is no longer finite. Does not validate: see evaluate.hpp.
  bool run(const Callbacks& = {});
  void step();  // one more; there must be one left

  std::int64_t steps() const;  // done so far
  std::int64_t total_steps() const;
  std::int64_t steps_per_epoch() const;
  bool finished() const { return steps() == total_steps(); }

  Network network() const;                        // a copy of what has been learnt so far
  void save(const std::filesystem::path&) const;  // a checkpoint to resume from; atomically

  Training(Training&&) noexcept;
  Training& operator=(Training&&) noexcept;
  ~Training();

 private:
  struct Impl;
  explicit Training(std::unique_ptr<Impl>);

  std::unique_ptr<Impl> impl_;
};

}  // namespace sfnn

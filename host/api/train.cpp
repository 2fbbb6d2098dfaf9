#include <fmt/format.h>

#include <chrono>
#include <sfnn/train.hpp>

#include "host/api/impl.hpp"
#include "host/base/error.hpp"
#include "host/run/progress.hpp"

namespace sfnn {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Steps from one look at the metrics to the next on a device that has to be waited for.
constexpr std::int64_t kLookEvery = 16;

// The plan comes first: it counts the memory that is free.
Trainer make_trainer(const Device& device, const DataSet& data, const Config& config,
                     const StartingWeights& weights, const Units& units,
                     const std::optional<Checkpoint>& saved = std::nullopt) {
  Backend& backend = backend_of(device);
  const NetworkSpec spec = network_of(config, data);
  const TrainOptions options = train_options_of(config, machine_of(device), backend, saved);
  const TrainPlan plan = plan_training(backend, spec, options, data);
  require_memory(plan, backend);
  return {plan, Model(backend, spec, weights.P, units), options, data, weights.R};
}

StartingWeights first_weights(const Config& config, const Data& data) {
  return starting_weights(config, network_of(config, data.impl()->set), [](const std::string&) {});
}

void require_same_layers(const Network& start, const Config& config, const Data& data) {
  const NetworkSpec& own = start.impl().model.spec();
  const NetworkSpec spec = network_of(config, data.impl()->set);
  require(own == spec, fmt::format("the network to start from is {}, and this one is {}",
                                   to_string(own), to_string(spec)));
}

}  // namespace

struct Training::Impl {
  // From these weights.
  Impl(const Device& on, const Data& examples, Config wanted, const StartingWeights& weights)
      : device(on),
        data(examples),
        config(std::move(wanted)),
        trainer(make_trainer(device, set(), config, weights, set().units)) {}
  // As if it had never stopped.
  Impl(const Device& on, const Data& examples, const Checkpoint& saved)
      : device(on),
        data(examples),
        config(saved.config),
        trainer(
            make_trainer(device, set(), config, weights_from(saved, config), set().units, saved)) {
    trainer.restore(saved.state);
  }
  // With the state and the units of another training, on these examples.
  Impl(const Device& on, const Data& examples, Config wanted, const TrainState& state,
       const Units& units)
      : device(on),
        data(examples),
        config(std::move(wanted)),
        trainer(make_trainer(device, set(), config, {state.P().params()}, units)) {
    trainer.restore(state);
  }

  const DataSet& set() const { return data.impl()->set; }

  Checkpoint checkpoint() { return checkpoint_of(trainer.state(), trainer, config, set()); }
  ProgressFigures figures(SteadyClock::time_point start, std::int64_t first_step);

  Device device;
  Data data;
  Config config;
  Trainer trainer;
};

ProgressFigures Training::Impl::figures(SteadyClock::time_point start, std::int64_t first_step) {
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
  return progress_of(trainer, set(), first_step, seconds);
}

Training::Training(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Training::Training(Training&&) noexcept = default;
Training& Training::operator=(Training&&) noexcept = default;
Training::~Training() = default;

Training::Training(const Device& device, const Data& data, const RunConfig& wanted) {
  const Config config = config_on(wanted, data);
  impl_ = std::make_unique<Impl>(device, data, config, first_weights(config, data));
}

Training::Training(const Network& start, const Data& data, const RunConfig& wanted) {
  const Config config = config_on(wanted, data);
  require_same_layers(start, config, data);
  impl_ = std::make_unique<Impl>(start.impl().device, data, config,
                                 weights_from(start.impl().saved, config));
}

Training Training::extend(const Network& trained, const Data& data, const RunConfig& wanted) {
  require_fit(trained, data);
  Config config = config_on(wanted, data);
  const Checkpoint& saved = trained.impl().saved;
  TrainState state = saved.state;
  // The first step of an epoch, as these examples count them, that is still to come: no draw is
  // made twice.
  const std::int64_t count = data.examples(DataPart::train),
                     batch = std::min(config.train.batch, count),
                     steps_per_epoch = (count + batch - 1) / batch,
                     epochs = (state.step + steps_per_epoch - 1) / steps_per_epoch;
  state.step = epochs * steps_per_epoch;
  config.train.epochs += epochs;
  require_same_layers(trained, config, data);
  return Training(std::make_unique<Impl>(trained.impl().device, data, config, state, saved.units));
}

Training Training::resume(const Device& device, const Data& data,
                          const std::filesystem::path& path) {
  const Checkpoint saved = load_checkpoint(path);
  const Network network(std::make_unique<Network::Impl>(device, saved));
  require_fit(network, data);
  return Training(std::make_unique<Impl>(device, data, saved));
}

void Training::step() {
  require(!finished(), "this training has made its last step");
  impl_->trainer.train_step();
}

bool Training::run(const Callbacks& callbacks) {
  Trainer& trainer = impl_->trainer;
  const auto start = SteadyClock::now();
  const std::int64_t first_step = trainer.step();
  while (!finished()) {
    trainer.train_step();
    const bool epoch_ends = trainer.step() % trainer.steps_per_epoch() == 0;
    const bool looks = epoch_ends || backend_of(impl_->device).is_host_memory() ||
                       trainer.step() % kLookEvery == 0;
    if (looks) {
      if (const auto found = trainer.not_finite())
        throw Error(fmt::format("{}: a lower train.learning_rate may help", *found));
      if (callbacks.step) callbacks.step(impl_->figures(start, first_step));
    }
    if (epoch_ends && callbacks.epoch) callbacks.epoch(impl_->figures(start, first_step));
    if (callbacks.stop && callbacks.stop()) return finished();
  }
  return true;
}

std::int64_t Training::steps() const { return impl_->trainer.step(); }
std::int64_t Training::total_steps() const { return impl_->trainer.total_steps(); }
std::int64_t Training::steps_per_epoch() const { return impl_->trainer.steps_per_epoch(); }

Network Training::network() const {
  return Network(std::make_unique<Network::Impl>(impl_->device, impl_->checkpoint()));
}

void Training::save(const std::filesystem::path& path) const {
  save_checkpoint(path, impl_->checkpoint());
}

}  // namespace sfnn

#include <fmt/format.h>

#include "host/app/commands.hpp"
#include "host/app/loaded_network.hpp"

namespace sfnn {

int run_sample(const SampleCommand& command) {
  const auto backend = make_backend(command.machine.backend);
  const LoadedNetwork loaded(*backend, command.machine, command.run, command.best,
                             command.settings);
  const GreyImage picture = sample_picture(*backend, loaded.test_network(), loaded.params(),
                                           loaded.data(), loaded.config().seed, command.picture);
  write_png(command.out, picture);
  fmt::print("{} ({} x {})\n", command.out, picture.width, picture.height);
  return kDone;
}

}  // namespace sfnn

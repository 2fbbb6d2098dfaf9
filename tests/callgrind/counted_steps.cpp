// Some steps of a small network, for callgrind to count the instructions of: the same work on every
// machine, with the instruction sets pinned. Prints what else the count depends on.
//
// counted_steps [--small-tiles]: in tiles that are too small for look-up tables, which costs more.
#include <fmt/format.h>

#include <cstring>

#include "host/backend/cpu/simd.hpp"
#include "host/data/dataset.hpp"
#include "host/devices/registry.hpp"
#include "host/train/trainer.hpp"
#include "hwy/highway.h"

int main(int argc, char** argv) {
  using namespace sfnn;
  const bool small_tiles = argc > 1 && std::strcmp(argv[1], "--small-tiles") == 0;
  hwy::DisableTargets(~std::int64_t(HWY_AVX2 | HWY_SCALAR));
  const DataSet data =
      load_data({.set = "glyphs", .task = Task::halves, .limit = 40, .test_limit = 10});
  const NetworkSpec spec{.D_in = data.D_in,
                         .hidden = {{.n_s = 200}, {.n_s = 200}},
                         .D_out = data.D_out,
                         .output = data.output};
  const auto backend = make_backend({.device = "cpu", .threads = 1});
  TrainOptions options{.batch = 40, .epochs = 3, .learning_rate = 0.1};
  if (small_tiles) options.tiling.tile = 1;
  Trainer trainer(*backend, spec, options, data);
  for (int step = 0; step < 3; ++step) trainer.train_step();
  fmt::print("g++ {}\n", __GNUC__);
}

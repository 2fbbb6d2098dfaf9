#include "bench/lib/workloads.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/backend/backend.hpp"
#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/safetensors.hpp"

namespace sfnn::bench {
namespace {

namespace fs = std::filesystem;

// Wherever the program itself finds it.
bool have(const char* set) {
  try {
    data_folder({.set = set});
    return true;
  } catch (const DataError&) {
    return false;
  }
}

// The real data set, or the built-in one if its files are missing.
DataOptions real_or(const char* set, Task task, Task stand_in_task, Workload& workload) {
  DataOptions options;
  const bool real = have(set);
  options.set = real ? set : "glyphs";
  options.task = real ? task : stand_in_task;
  options.limit = real && task == Task::faces ? 0 : 10000;
  workload.stand_in = !real;
  workload.data_note =
      real ? fmt::format("{} {}", set, to_string(task))
           : fmt::format("glyphs {} standing in for {}", to_string(stand_in_task), set);
  return options;
}

Workload describe(int number) {
  Workload w;
  w.name = fmt::format("w{}", number);
  w.options = {.estimator = number == 2 ? Estimator::G5 : Estimator::G3,
               .particles = number == 5 ? 50 : 20,
               .epochs = 2,
               .learning_rate = 0.1};
  const auto layers = [&](std::int64_t width, int depth) {
    return std::vector<LayerSpec>(depth, LayerSpec{.n_s = width});
  };
  DataOptions data;
  switch (number) {
    case 1:
    case 2:
    case 6:
      data = real_or("mnist", Task::halves, Task::halves, w);
      w.spec.hidden = layers(200, 2);
      break;
    case 3:
      data = real_or("mnist", Task::classes, Task::classes, w);
      data.center = true;
      w.spec.hidden = layers(200, 2);
      w.options.learning_rate = 0.3;
      break;
    case 4:
      data = real_or("faces/att", Task::faces, Task::denoise, w);
      w.spec.hidden = layers(200, 2);
      w.options.epochs = 100;  // 3 steps each
      w.options.learning_rate = 0.003;
      break;
    case 5:
      data.set = "glyphs";
      data.task = Task::denoise;
      data.limit = 2000;
      w.data_note = "glyphs denoise";
      w.spec.hidden = layers(1024, 3);
      w.options.learning_rate = 0.03;
      break;
    default:
      throw Error("there is no such workload");
  }
  w.data = load_data(data);
  if (number == 4 && w.data.output != Output::gaussian) {
    w.data.output = Output::gaussian;  // the stand-in's pixels read as real numbers
    w.options.epochs = 3;
  }
  w.spec.D_in = w.data.D_in;
  w.spec.D_out = w.data.D_out;
  w.spec.output = w.data.output;
  w.evaluation = number == 6;
  w.evaluated = std::min(w.evaluated, w.data.test.count);
  w.title = number == 6
                ? fmt::format("C_hat_100 of {}, {} examples", to_string(w.spec), w.evaluated)
                : fmt::format("{}, M {}, batch {}, {}", to_string(w.spec), w.options.particles,
                              w.options.batch, row_of(w.options.estimator).name);
  return w;
}

// What a trained network depends on, kept with it: a cache may be older than the recipe.
std::string recipe(const Workload& w) {
  return fmt::format("{}, M {}, batch {}, {}, {} examples of {}, {} epochs, rate {}",
                     to_string(w.spec), w.options.particles, w.options.batch,
                     row_of(w.options.estimator).name, w.data.train.count, w.data_note,
                     w.options.epochs, w.options.learning_rate);
}

}  // namespace

Workload make_workload(int number, const fs::path& cache, int threads) {
  Workload w = describe(number);
  // The built-in stand-in for absent data is another network.
  const fs::path file =
      cache / fmt::format("{}-{}.safetensors", w.name, w.stand_in ? "stand-in" : "real");
  const std::int64_t size = ParamLayout(w.spec).size;
  if (fs::exists(file)) {
    TensorFile saved = read_safetensors(file);
    if (saved.metadata["recipe"] == recipe(w) && saved.tensors.size() == 1 &&
        std::int64_t(saved.tensors[0].values.size()) == size) {
      w.params = std::move(saved.tensors[0].values);
      return w;
    }
  }
  const auto backend = make_backend({.device = "cpu", .threads = threads});
  Trainer trainer(*backend, w.spec, w.options, w.data);
  while (trainer.step() < trainer.total_steps()) trainer.train_step();
  w.params = trainer.state().P().array("params");
  fs::create_directories(cache);
  write_safetensors(file, TensorFile{.tensors = {{"params", {size}, w.params}},
                                     .metadata = {{"recipe", recipe(w)}}});
  return w;
}

TrainOptions timed_options(const Workload& w) {
  TrainOptions options = w.options;
  options.learning_rate = 0;
  options.epochs = 1000000;
  return options;
}

Examples evaluated_examples(const Workload& w) {
  Examples examples = w.data.test;
  examples.count = w.evaluated;
  return examples;
}

}  // namespace sfnn::bench

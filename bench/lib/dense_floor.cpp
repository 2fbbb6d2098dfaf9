#include "bench/lib/dense_floor.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <numeric>

namespace sfnn::bench {
namespace {

struct Library {
  std::string kind, name;
  std::vector<std::string> environment;
};

// OpenBLAS chooses by model number and may not know the processor: then its best kernel must be
// asked for by name.
std::vector<Library> libraries() {
  std::vector<Library> all{{"OpenBLAS", "openblas", {}}, {"oneDNN", "onednn", {}}};
#ifdef __x86_64__
  const auto add = [&](const std::string& core) {
    all.push_back({"OpenBLAS " + core, "openblas", {"OPENBLAS_CORETYPE=" + core}});
  };
  if (__builtin_cpu_supports("avx512vl")) add("SkylakeX");
  if (__builtin_cpu_supports("avx2")) add("Haswell");
#endif
  return all;
}

}  // namespace

std::vector<FloorLayer> floor_layers(const Workload& w) {
  const std::int64_t N = w.evaluation ? w.evaluated : w.options.batch;
  const std::int64_t M = w.evaluation ? 100 : w.options.particles;
  const bool train = !w.evaluation;
  std::vector<FloorLayer> layers;
  for (std::int64_t l = 0; l <= w.spec.depth(); ++l) {
    const std::int64_t units = l < w.spec.depth() ? w.spec.hidden[l].width() : w.spec.logits();
    layers.push_back({l == 0 ? N : N * M, w.spec.input_width(l), units, train, train && l > 0});
  }
  return layers;
}

double operations(const std::vector<FloorLayer>& layers) {
  return std::accumulate(
      layers.begin(), layers.end(), 0.0,
      [](double sum, const FloorLayer& layer) { return sum + layer.operations(); });
}

std::vector<std::unique_ptr<Peer>> floors(const Workload& w, int threads) {
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "dense_floor";
  std::vector<std::unique_ptr<Peer>> floors;
  for (Library& library : libraries()) {
    for (const char* variable : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"})
      library.environment.push_back(fmt::format("{}={}", variable, threads));
    floors.push_back(std::make_unique<Peer>(
        library.kind, std::vector<std::string>{program.string(), library.name},
        library.environment));
    for (const FloorLayer& layer : floor_layers(w)) {
      floors.back()->ask(fmt::format("layer {} {} {} {} {}", layer.rows, layer.inputs, layer.units,
                                     int(layer.train), int(layer.back)));
    }
  }
  return floors;
}

}  // namespace sfnn::bench

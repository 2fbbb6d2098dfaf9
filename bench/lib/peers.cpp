#include "bench/lib/peers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "host/base/error.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/npy.hpp"
#include "host/train/betas.hpp"
#include "host/train/pass.hpp"
#include "host/train/staged_data.hpp"

namespace sfnn::bench {
namespace {

namespace fs = std::filesystem;
using Shape = std::vector<std::int64_t>;

template <class T>
void save(const fs::path& folder, const std::string& name, const Shape& shape,
          std::vector<T> values) {
  write_npy(folder / (name + ".npy"), {.shape = shape, .values = std::move(values)});
}

std::vector<float> copy_of(ConstMatrix m) { return {m.data, m.data + m.size()}; }

// The parameters W_1, b_1, ..., V, c, or their gradient, as name0, name1, ...
void save_slots(const fs::path& folder, const std::string& name, const NetworkSpec& spec,
                const float* values, float scale) {
  int number = 0;
  for (const ParamSlot& slot : ParamLayout(spec).slots()) {
    std::vector<float> copy = copy_of(slot.in(values));
    for (float& value : copy) value *= scale;
    save(folder, fmt::format("{}{}", name, number++),
         slot.rows == 1 ? Shape{slot.cols} : Shape{slot.rows, slot.cols}, std::move(copy));
  }
}

}  // namespace

void write_case(const Workload& w, const fs::path& folder) {
  fs::create_directories(folder);
  const auto backend = make_backend({.device = "cpu", .threads = 1});
  const Examples examples = w.evaluation ? evaluated_examples(w) : w.data.train;
  const std::int64_t N = w.evaluation ? examples.count : std::min(w.options.batch, examples.count);
  const std::int64_t M = w.evaluation ? 100 : w.options.particles;
  const std::int64_t tile_size = w.evaluation ? 10 : N;
  const Model model(*backend, w.spec, w.params, w.data.units);
  const StagedData data(*backend, examples, tile_size);
  const PassOptions options{.estimator = row_of(w.options.estimator),
                            .c = float(w.options.c_or_default(M)),
                            .drop_below = float(w.options.drop_below_or_default(M)),
                            .backward = !w.evaluation};
  Pass pass(*backend, w.spec, options, tile_size, M);
  const Betas betas(*backend, w.spec, options);
  backend->set_clock({});
  std::vector<float> part(PartLayout(w.spec, w.options.estimator).size());
  std::vector<float> x, y, C_hat(N), ess(N);
  HiddenBits h(w.spec.depth());
  for (std::int64_t first = 0; first < N; first += tile_size) {
    const Tile tile{.first = first, .N = std::min(tile_size, N - first), .M = M};
    data.gather(tile, {}, model.gather_units(), pass);
    pass.forward(tile, model.params());
    pass.log_prob(model.params());
    pass.weigh(C_hat.data() + first, ess.data() + first);
    if (!w.evaluation)
      pass.backward(model.params(), betas.data(), C_hat.data() + first, part.data());
    std::ranges::copy(copy_of(pass.x(tile.N)), std::back_inserter(x));
    std::ranges::copy(copy_of(pass.y(tile.N)), std::back_inserter(y));
    for (std::int64_t l = 0; l < w.spec.depth(); ++l) {
      std::vector<std::uint8_t> bits(tile.rows() * w.spec.hidden[l].n_s);
      backend->download_bits(pass.s(l), bits);
      h[l].insert(h[l].end(), bits.begin(), bits.end());
    }
  }
  save(folder, "x", {N, w.spec.D_in}, std::move(x));
  save(folder, "y", {N, pass.y(1).cols}, std::move(y));
  save(folder, "C_hat", {N}, std::move(C_hat));
  for (std::int64_t l = 0; l < w.spec.depth(); ++l)
    save(folder, fmt::format("h{}", l), {N * M, w.spec.hidden[l].n_s}, std::move(h[l]));
  save_slots(folder, "param", w.spec, w.params.data(), 1);
  if (!w.evaluation) save_slots(folder, "gradient", w.spec, part.data(), 1 / float(N));
  std::ofstream(folder / "case.json")
      << nlohmann::json{{"output", to_string(w.spec.output)},
                        {"estimator", row_of(w.options.estimator).name},
                        {"particles", M},
                        {"evaluation", w.evaluation},
                        {"depth", w.spec.depth()}};
}

Peer::Peer(std::string kind, const std::vector<std::string>& command,
           const std::vector<std::string>& environment)
    : kind_(std::move(kind)) {
  std::signal(SIGPIPE, SIG_IGN);  // a peer that has ended shows in its missing answer
  std::vector<char*> arguments, variables;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  for (const std::string& variable : environment)
    variables.push_back(const_cast<char*>(variable.c_str()));
  arguments.push_back(nullptr);
  int to_peer[2], from_peer[2];
  // Closed in every other child: else a peer would hold open the input of another.
  if (pipe2(to_peer, O_CLOEXEC) != 0 || pipe2(from_peer, O_CLOEXEC) != 0)
    throw Error("no pipe to be had");
  process_ = fork();
  if (process_ < 0) throw Error("no process to be had");
  if (process_ == 0) {
    dup2(to_peer[0], STDIN_FILENO);
    dup2(from_peer[1], STDOUT_FILENO);
    for (char* variable : variables) putenv(variable);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(to_peer[0]);
  close(from_peer[1]);
  questions_ = fdopen(to_peer[1], "w");
  answers_ = fdopen(from_peer[0], "r");
}

Peer::~Peer() {
  std::fclose(questions_);  // the end of its input ends it
  std::fclose(answers_);
  waitpid(process_, nullptr, 0);
}

std::string Peer::ask(const std::string& question) {
  std::fprintf(questions_, "%s\n", question.c_str());
  std::fflush(questions_);
  char line[256];
  if (!std::fgets(line, sizeof(line), answers_))
    throw Error(fmt::format("the peer {} has ended when asked to {}", kind_, question));
  return line;
}

void Peer::load(const fs::path& folder) { ask("load " + folder.string()); }

double Peer::check() { return std::stod(ask("check")); }

double Peer::best_ms(int steps, bool cpu_time) {
  const double ms = std::stod(ask(fmt::format("time {} {}", steps, cpu_time ? "cpu" : "wall")));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // OpenBLAS spins some tens of them
  return ms;
}

}  // namespace sfnn::bench

// Trains small random networks in random ways until the time is up, with kills and resumes, and
// compares each with the double reference or with its uninterrupted twin.
//
//   soak PROGRAM [--minutes 60] [--seed N]
//
// prints how many cases it ran; exit code 1 if one fails.
//
//   soak PROGRAM --replay KIND:SEED
//
// is one case again, as the failure's line names it.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <random>

#include "tests/soak/cases.hpp"

namespace sfnn::soak {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMayGrow = 16 << 20;        // bytes, of this program
constexpr std::size_t kProgramMayGrow = 2 << 20;  // bytes, of a training program
constexpr double kLongRun = 30;                   // seconds; less in a short soak
constexpr double kHour = 60;                      // minutes: the long form, which counts only with
constexpr int kKillsAnHour = 200;                 // so many kills,
constexpr int kInsideSaveAnHour = 20;             // so many of them inside a save

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * std::size_t(::sysconf(_SC_PAGESIZE));
}

struct Kind {
  const char* name;
  std::function<void(Random&)> run;
  double seconds = 0;  // spent so far: the kind that has had least comes next
};

class Soak {
 public:
  Soak(std::string program, fs::path scratch)
      : program_(std::move(program)),
        scratch_(std::move(scratch)),
        kinds_{{{"reference", [this](Random& r) { compare_with_reference(r, tally_); }},
                {"twin", [this](Random& r) { compare_with_twin(r, tally_); }},
                {"killed",
                 [this](Random& r) { compare_with_killed(program_, scratch_, r, tally_); }}}} {}

  void replay(const std::string& kind, std::uint64_t seed) {
    const auto found = std::ranges::find(kinds_, kind, [](const Kind& k) { return k.name; });
    if (found == kinds_.end()) throw std::runtime_error("no kind of case is called " + kind);
    run(*found, seed);
  }

  void run_for(double minutes, std::uint64_t seed) {
    const auto begin = Clock::now();
    const double seconds = 60 * minutes;
    long_run_ = memory_of_a_long_run(program_, scratch_, std::min(kLongRun, seconds / 6));
    Random seeds(seed);
    while (seconds_since(begin) < seconds) {
      Kind& next = *std::ranges::min_element(kinds_, {}, &Kind::seconds);
      run(next, seeds.word());
      if (memory_.from == 0 && seconds_since(begin) > seconds / 4) memory_.from = resident_bytes();
      show(seconds - seconds_since(begin));
    }
    memory_.to = resident_bytes();
    print(seconds_since(begin) / 60, seed);
    if (minutes >= kHour &&
        (tally_.kills.count < kKillsAnHour || tally_.kills.inside_save < kInsideSaveAnHour))
      throw std::runtime_error(fmt::format("{} kills, {} of them inside a save, prove too little",
                                           tally_.kills.count, tally_.kills.inside_save));
    require_steady("this program", memory_, kMayGrow);
    require_steady("a training program", long_run_, kProgramMayGrow);
  }

 private:
  void run(Kind& kind, std::uint64_t seed) {
    const auto begin = Clock::now();
    Random random(seed);
    try {
      kind.run(random);
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}\nagain: soak {} --replay {}:{}", error.what(),
                                           program_, kind.name, seed));
    }
    kind.seconds += seconds_since(begin);
  }

  // How far it is, every other second on a terminal and every five minutes elsewhere.
  void show(double seconds_left) {
    const bool terminal = ::isatty(STDERR_FILENO);
    if (seconds_since(shown_) < (terminal ? 2 : 300)) return;
    shown_ = Clock::now();
    fmt::print(stderr, "soak: {} cases, {} kills, {:.0f} min left{}", cases(), tally_.kills.count,
               std::ceil(std::max(0.0, seconds_left) / 60), terminal ? "\033[K\r" : "\n");
  }

  std::int64_t cases() const { return tally_.reference_cases + tally_.twins + tally_.killed_runs; }

  void print(double minutes, std::uint64_t seed) const {
    const auto megabytes = [](std::size_t bytes) { return double(bytes) / (1 << 20); };
    const Tally& t = tally_;
    fmt::print("soak: {:.1f} minutes, seed {}: {} cases, all as they should be\n", minutes, seed,
               cases());
    fmt::print("  against the double reference: {} cases, {} steps, {} more too close to call\n",
               t.reference_cases, t.reference_steps, t.ties);
    fmt::print("  against an uninterrupted twin: {} cases in {} pieces\n", t.twins, t.restores);
    fmt::print(
        "  the program killed and resumed: {} runs, {} kills, {} of them inside a save, "
        "and {} stops\n",
        t.killed_runs, t.kills.count, t.kills.inside_save, t.kills.stops);
    fmt::print("  memory: {:.1f} to {:.1f} MB; of a training program {:.1f} to {:.1f} MB\n",
               megabytes(memory_.from), megabytes(memory_.to), megabytes(long_run_.from),
               megabytes(long_run_.to));
  }

  static void require_steady(const char* whose, const Growth& growth, std::size_t allowed) {
    if (growth.to > growth.from + allowed)
      throw std::runtime_error(fmt::format("the memory of {} has grown from {} to {} bytes", whose,
                                           growth.from, growth.to));
  }

  std::string program_;
  fs::path scratch_;
  std::array<Kind, 3> kinds_;
  Tally tally_;
  Growth memory_, long_run_;
  Clock::time_point shown_ = Clock::now();
};

int run_soak(int argc, char** argv) {
  std::string program, replay;
  double minutes = 60;
  std::uint64_t seed = std::random_device{}();
  CLI::App app("Random networks, trained, killed, resumed and compared", "soak");
  app.add_option("program", program, "The sfnn program")->required()->check(CLI::ExistingFile);
  app.add_option("--minutes", minutes, "How long")
      ->check(CLI::Range(0.05, 100000.0))
      ->capture_default_str();
  app.add_option("--seed", seed, "Of the cases; else a new one each time");
  app.add_option("--replay", replay, "One case")->type_name("KIND:SEED");
  CLI11_PARSE(app, argc, argv);

  // Memory that threads' arenas keep for later would look like growth.
  ::mallopt(M_ARENA_MAX, 1);
  const fs::path scratch = fs::temp_directory_path() / ("sfnn-soak-" + std::to_string(::getpid()));
  try {
    Soak soak(fs::absolute(program).string(), scratch);
    if (replay.empty()) {
      soak.run_for(minutes, seed);
    } else {
      const std::size_t colon = std::min(replay.find(':'), replay.size() - 1);
      soak.replay(replay.substr(0, colon), std::stoull(replay.substr(colon + 1)));
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "soak: {}\n", error.what());
    return 1;
  }
  fs::remove_all(scratch);
  return 0;
}

}  // namespace
}  // namespace sfnn::soak

int main(int argc, char** argv) { return sfnn::soak::run_soak(argc, argv); }

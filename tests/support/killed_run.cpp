#include "tests/support/killed_run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "host/formats/atomic_file.hpp"
#include "host/run/run_directory.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kMaxLog = 1 << 20;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

bool has_temporary(const fs::path& run) {
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    if (entry.path().extension() == ".tmp") return true;
  }
  return false;
}

void remove_temporaries(const fs::path& run) {
  for (const auto& entry : fs::directory_iterator(run / "checkpoints")) {
    if (entry.path().extension() == ".tmp") fs::remove(entry.path());
  }
}

// The file that `latest` names exists and is whole, at whatever moment the run ended.
void require_whole_latest(const fs::path& run) {
  const fs::path latest = run / "checkpoints" / "latest";
  if (!fs::exists(latest)) return;
  std::string name = read_file(latest, kMaxLog);
  if (!name.empty()) name.pop_back();  // its newline
  load_checkpoint(latest.parent_path() / name);
}

// Sees files appear in a directory.
class Watch {
 public:
  explicit Watch(const fs::path& directory) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    if (fd_ < 0 || ::inotify_add_watch(fd_, directory.c_str(), IN_CREATE) < 0)
      throw std::runtime_error("inotify: " + std::string(std::strerror(errno)));
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { ::close(fd_); }

  // Waits for a file to appear, or for the child's end.
  bool sees_a_file(Child& child) {
    while (!child.has_ended()) {
      pollfd entry{.fd = fd_, .events = POLLIN};
      if (::poll(&entry, 1, /*ms=*/5) <= 0) continue;
      std::array<char, 4096> events;
      if (::read(fd_, events.data(), events.size()) > 0) return true;
    }
    return false;
  }

 private:
  int fd_;
};

// A sleep may be late by more than a save takes.
void spin(Seconds time) {
  const auto until = Clock::now() + time;
  while (Clock::now() < until) continue;
}

// By SIGKILL most of the time, else as users do: once, or twice because once takes too long.
void end(const Child& child, Random& random) {
  const double way = random.uniform();
  if (way < 0.8) return child.signal(SIGKILL);
  child.signal(SIGINT);
  if (way < 0.9) child.signal(SIGINT);
}

}  // namespace

// --- the child ---------------------------------------------------------------------------------

Child::Child(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork: " + std::string(std::strerror(errno)));
  if (pid_ == 0) {
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ::dup2(fd, STDOUT_FILENO);
    ::dup2(fd, STDERR_FILENO);
    std::signal(SIGINT, SIG_DFL);  // ignored in the background of a script, and then by the child
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
}

Child::~Child() {
  if (has_ended()) return;
  signal(SIGKILL);
  wait();
}

// A child that has ended but was not waited for keeps its number: no other process is hit.
void Child::signal(int number) const {
  if (!code_) ::kill(pid_, number);
}

bool Child::has_ended() {
  int status = 0;
  if (!code_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_.has_value();
}

int Child::wait() {
  int status = 0;
  if (!code_ && ::waitpid(pid_, &status, 0) == pid_)
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_.value_or(-1);
}

std::size_t Child::resident_bytes() const {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/" + std::to_string(pid_) + "/statm") >> total >> resident;
  return resident * std::size_t(::sysconf(_SC_PAGESIZE));
}

// --- outcomes ----------------------------------------------------------------------------------

RunOutcome outcome_of(const fs::path& run) {
  const RunDirectory directory(run);
  RunOutcome outcome{.newest = open_checkpoint(run, /*best=*/false, [](const std::string&) {}),
                     .metrics = read_metrics(directory.metrics())};
  if (fs::exists(directory.best())) outcome.best = load_checkpoint(directory.best());
  outcome.newest.state.seconds = 0;
  if (outcome.best) outcome.best->state.seconds = 0;
  for (MetricsLine& line : outcome.metrics) line.erase("seconds");
  return outcome;
}

std::vector<std::string> differences(const RunOutcome& a, const RunOutcome& b) {
  std::vector<std::string> found;
  const auto compare = [&](bool same, const char* piece) {
    if (!same) found.emplace_back(piece);
  };
  compare(same_bits(a.newest.params(), b.newest.params()), "weights");
  for (const NamedArray& array : a.newest.state.P().arrays)
    compare(same_bits(array.values, b.newest.state.P().array(array.name)), array.name.c_str());
  compare(a.newest.state == b.newest.state, "state");
  compare(a.best.has_value() == b.best.has_value() &&
              (!a.best ||
               (same_bits(a.best->params(), b.best->params()) && a.best->state == b.best->state)),
          "best");
  compare(a.metrics == b.metrics, "metrics");
  return found;
}

// --- runs --------------------------------------------------------------------------------------

std::vector<std::string> ProgramRun::command(const fs::path& run) const {
  std::vector<std::string> words = {program, "train", "--resume", "--out", run.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

void ProgramRun::train(const fs::path& run) const {
  const fs::path log = run.string() + ".log";
  if (const int code = Child(command(run), log).wait(); code != 0) {
    throw std::runtime_error("exit code " + std::to_string(code) + " in " + run.string() + ": " +
                             read_file(log, kMaxLog));
  }
}

Kills ProgramRun::train_with_kills(const fs::path& run, double seconds, int at_most,
                                   Random& random) const {
  Kills kills;
  fs::create_directories(run / "checkpoints");
  while (kills.count + kills.stops < at_most) {
    remove_temporaries(run);
    Watch watch(run / "checkpoints");
    Child child(command(run), run.string() + ".log");
    if (random.uniform() < 0.3) {
      std::this_thread::sleep_for(Seconds(random.uniform(0, seconds)));
    } else {
      bool appeared = true;
      for (auto files = random.integer(1, 6); files > 0 && appeared; --files)
        appeared = watch.sees_a_file(child);
      spin(Seconds(random.uniform(0, 500e-6)));
    }
    end(child, random);
    const int code = child.wait();
    if (code == 0) return kills;          // it was faster
    if (code != 3 && code <= 128) break;  // train() will say why
    ++(code == 3 ? kills.stops : kills.count);
    require_whole_latest(run);
    kills.inside_save += has_temporary(run);
  }
  train(run);
  return kills;
}

}  // namespace sfnn

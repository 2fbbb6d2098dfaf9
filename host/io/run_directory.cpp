#include "host/io/run_directory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/backend/error.hpp"
#include "host/io/atomic_file.hpp"

namespace sfnn {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kKeep = 2;  // the newest, and the one before should the newest be damaged

std::string step_name(std::int64_t step) { return fmt::format("step-{:08}.safetensors", step); }

void make_directories(const fs::path& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec) throw Error(fmt::format("cannot make the directory {}: {}", path.string(), ec.message()));
}

}  // namespace

bool RunDirectory::holds_run() const { return fs::exists(path_ / "config.toml"); }

Config RunDirectory::config() const { return load_config(path_ / "config.toml"); }

void RunDirectory::create(const Config& config) {
  if (holds_run()) {
    require_same(config);
    throw ConfigError(fmt::format(
        "{} holds a run of this config already: continue it with --resume, or choose another --out",
        path_.string()));
  }
  make_directories(checkpoints());
  write_file_atomically(path_ / "config.toml", to_toml(config));
}

void RunDirectory::require_same(const Config& other) const {
  const auto changed = differences(this->config(), other);
  if (changed.empty()) return;
  throw ConfigError(fmt::format("{} holds a run of another config ({}): choose another --out",
                                path_.string(), fmt::join(changed, "; ")));
}

void RunDirectory::clear(const Config& config) {
  std::error_code ec;
  if (!fs::exists(path_) || (fs::is_directory(path_) && fs::is_empty(path_, ec))) return;
  if (!holds_run()) {
    throw ConfigError(
        fmt::format("{} exists and holds no run: choose another --out", path_.string()));
  }
  require_same(config);
  for (const fs::path& file : steps()) fs::remove(file);
  for (const fs::path& file : {best(), checkpoints() / "latest", metrics(), sessions(), report(),
                               search(), samples(), path_ / "config.toml"}) {
    fs::remove(file);
  }
}

void RunDirectory::save(const Checkpoint& checkpoint) {
  make_directories(checkpoints());
  const std::string name = step_name(checkpoint.state.step);
  save_checkpoint(checkpoints() / name, checkpoint);
  write_file_atomically(checkpoints() / "latest", name + "\n");
  const auto files = steps();
  for (std::size_t i = kKeep; i < files.size(); ++i) fs::remove(files[i]);
}

void RunDirectory::save_best(const Checkpoint& checkpoint) {
  make_directories(checkpoints());
  save_checkpoint(best(), checkpoint);
}

std::vector<fs::path> RunDirectory::steps() const {
  std::vector<fs::path> files;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(checkpoints(), ec)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-") && name.ends_with(".safetensors")) files.push_back(entry.path());
  }
  std::sort(files.rbegin(), files.rend());  // the names sort by step
  return files;
}

std::optional<Checkpoint> RunDirectory::newest(
    const std::function<void(const std::string&)>& warn) const {
  for (const fs::path& file : steps()) {
    try {
      return load_checkpoint(file);
    } catch (const DataError& error) {
      warn(fmt::format("{}: passed over for the checkpoint before it", error.what()));
    }
  }
  return std::nullopt;
}

Checkpoint open_checkpoint(const fs::path& run_or_file, bool best,
                           const std::function<void(const std::string&)>& warn) {
  if (!fs::is_directory(run_or_file)) return load_checkpoint(run_or_file);
  const RunDirectory run(run_or_file);
  if (best) return load_checkpoint(run.best());
  if (auto checkpoint = run.newest(warn)) return std::move(*checkpoint);
  throw DataError(fmt::format("{} has no checkpoint that can be read", run_or_file.string()));
}

}  // namespace sfnn

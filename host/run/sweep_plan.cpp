// What a sweep consists of, and how it is kept.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/run/metrics.hpp"
#include "host/run/sweep.hpp"
#include "host/run/sweep_files.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRuns = 100'000;

// The values of "a,b,[c,d]": commas within brackets or quotes do not separate.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool quoted = false;
  for (const char letter : text) {
    if (letter == '"') quoted = !quoted;
    if (!quoted) depth += (letter == '[') - (letter == ']');
    if (letter == ',' && !quoted && depth == 0) {
      values.emplace_back();
    } else {
      values.back() += letter;
    }
  }
  return values;
}

std::vector<std::string> values_of(const std::string& key, const std::string& text) {
  // As `sfnn train` reads it: one list. Several take brackets.
  if (key == "net.hidden" && !text.starts_with('[')) return {text};
  if (key != "train.learning_rate" || text.find(':') == std::string::npos)
    return split_values(text);
  std::vector<std::string> rates;
  for (const double rate : rate_grid(parse_rate_range(text)))
    rates.push_back(fmt::format("{}", rate));
  return rates;
}

std::string key_of(const std::string& setting) { return setting.substr(0, setting.find('=')); }

// The last part of a key, unless another varied key ends alike.
std::string short_key(const std::string& key, const std::set<std::string>& keys) {
  const auto last = [](const std::string& k) { return k.substr(k.rfind('.') + 1); };
  const auto alike = std::ranges::count_if(
      keys, [&](const std::string& other) { return last(other) == last(key); });
  return alike > 1 ? key : last(key);
}

std::string name_of(const std::vector<std::string>& settings, const std::set<std::string>& keys) {
  std::string name;
  for (const std::string& setting : settings) {
    const std::string key = key_of(setting);
    if (!name.empty()) name += '_';
    name += short_key(key, keys) + setting.substr(key.size());
  }
  std::erase_if(name, [](char letter) { return letter == '[' || letter == ']' || letter == '"'; });
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+=-";
  for (char& letter : name)
    if (kPlain.find(letter) == std::string_view::npos) letter = '-';
  return name;
}

// Names that are the same once odd letters are gone get numbers.
void make_unique(std::vector<SweepRun>& runs) {
  std::set<std::string> taken;
  for (SweepRun& run : runs) {
    const std::string name = run.name;
    for (int number = 2; !taken.insert(run.name).second; ++number)
      run.name = fmt::format("{}-{}", name, number);
  }
}

}  // namespace

bool operator==(const SweepPlan& a, const SweepPlan& b) { return to_text(a) == to_text(b); }

std::vector<std::vector<std::string>> grid_of(const std::vector<std::string>& axes) {
  std::vector<std::vector<std::string>> points(1);
  for (const std::string& axis : axes) {
    const std::string key = key_of(axis);
    std::vector<std::vector<std::string>> longer;
    for (const auto& point : points) {
      for (const std::string& value :
           values_of(key, axis.substr(std::min(key.size() + 1, axis.size())))) {
        longer.push_back(point);
        longer.back().push_back(fmt::format("{}={}", key, value));
      }
    }
    if (longer.size() > kMostRuns)
      throw ConfigError(fmt::format("a sweep of more than {} runs is not one", kMostRuns));
    points = std::move(longer);
  }
  return points;
}

std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  const auto refuse = [&] {
    throw ConfigError(fmt::format("--seeds {}: write them as 1..5 or as 1,2,7", text));
  };
  const auto number = [&](std::string_view digits) {
    std::uint64_t value = 0;
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (ec != std::errc() || end != digits.data() + digits.size()) refuse();
    return value;
  };
  std::vector<std::uint64_t> seeds;
  for (const std::string& item : split_values(text)) {
    const std::size_t dots = item.find("..");
    const std::uint64_t first = number(std::string_view(item).substr(0, dots));
    const std::uint64_t last =
        dots == std::string::npos ? first : number(std::string_view(item).substr(dots + 2));
    if (first > last || last - first >= kMostRuns) refuse();
    for (std::uint64_t seed = first; seed <= last; ++seed) seeds.push_back(seed);
  }
  return seeds;
}

std::vector<SweepRun> runs_of(const SweepPlan& plan) {
  std::set<std::string> keys = {"seed"};
  for (const auto& point : plan.points)
    for (const std::string& setting : point) keys.insert(key_of(setting));
  std::vector<SweepRun> runs;
  std::vector<std::uint64_t> hashes;
  const auto add = [&](std::size_t p, const std::vector<std::string>& settings) {
    runs.push_back({name_of(settings, keys), p, changed(plan.config, settings)});
    hashes.push_back(config_hash(runs.back().config));
    const auto same = std::ranges::find(hashes, hashes.back());
    if (same + 1 != hashes.end()) {
      throw ConfigError(fmt::format("two runs of the sweep are the same: {} and {}",
                                    runs[std::size_t(same - hashes.begin())].name,
                                    runs.back().name));
    }
  };
  for (std::size_t p = 0; p < plan.points.size(); ++p) {
    if (plan.seeds.empty()) add(p, plan.points[p]);
    for (const std::uint64_t seed : plan.seeds) {
      std::vector<std::string> settings = plan.points[p];
      settings.push_back(fmt::format("seed={}", seed));
      add(p, settings);
    }
  }
  if (runs.size() == 1 && runs[0].name.empty()) {
    throw ConfigError(
        "a sweep needs something to vary: --seeds 1..5, or --set with several values, as in "
        "--set train.estimator=G3,G5");
  }
  make_unique(runs);
  return runs;
}

// --- sweep.json --------------------------------------------------------------------------------

std::string to_text(const SweepPlan& plan) {
  MetricsLine line{
      {"config", to_toml(plan.config)}, {"points", plan.points}, {"seeds", plan.seeds}};
  if (plan.search) {
    line["search"] = {{"low", plan.search->low}, {"high", plan.search->high}};
    line["search"]["epochs"] = plan.search_epochs;
  }
  return line.dump() + '\n';
}

bool holds_sweep(const fs::path& directory) { return fs::exists(sweep_file(directory)); }

SweepPlan saved_sweep(const fs::path& directory) {
  const fs::path path = sweep_file(directory);
  const auto refuse = [&] { throw DataError(fmt::format("{}: not a sweep", path.string())); };
  const auto lines = read_metrics(path, [&](const std::string&) { refuse(); });
  if (lines.size() != 1) refuse();
  SweepPlan plan;
  try {
    const MetricsLine& line = lines[0];
    plan.config = from_toml(line.at("config").get<std::string>(), path.string());
    plan.points = line.at("points").get<std::vector<std::vector<std::string>>>();
    plan.seeds = line.at("seeds").get<std::vector<std::uint64_t>>();
    if (const auto search = line.find("search"); search != line.end()) {
      plan.search = {search->at("low").get<double>(), search->at("high").get<double>()};
      plan.search_epochs = search->at("epochs").get<std::int64_t>();
    }
  } catch (const nlohmann::json::exception&) {
    refuse();
  }
  return plan;
}

std::vector<fs::path> started_runs(const fs::path& directory) {
  std::vector<fs::path> paths;
  for (const SweepRun& run : runs_of(saved_sweep(directory))) {
    const RunDirectory started(directory / run.name);
    if (started.holds_run() && !started.steps().empty()) paths.push_back(started.path());
  }
  return paths;
}

}  // namespace sfnn

#include "host/data/search_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSystemFolder = "/usr/share/datasets";

fs::path variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

// A file, or a folder with more in it than the rest of a broken transfer: an empty one must not
// hide data further down the search path.
bool has_data(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return fs::exists(path, ignored);
  for (const auto& entry : fs::directory_iterator(path, ignored))
    if (entry.path().extension() != ".part") return true;
  return false;
}

}  // namespace

DataName split_member(const std::string& name) {
  constexpr std::string_view kArchive = ".npz:";
  const std::size_t at = name.rfind(kArchive);
  if (at == std::string::npos) return {name, ""};
  return {name.substr(0, at + kArchive.size() - 1), name.substr(at + kArchive.size())};
}

fs::path cache_folder() {
  if (const fs::path cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "sfnn";
  const fs::path home = variable("HOME");
  return home.empty() ? fs::path() : home / ".cache" / "sfnn";
}

std::vector<fs::path> data_roots(const std::string& root) {
  if (!root.empty()) return {root};
  std::vector<fs::path> roots;
  for (const fs::path& place :
       {variable("SFNN_DATA"), cache_folder(), fs::path(kSystemFolder), fs::path(".")}) {
    if (!place.empty()) roots.push_back(place);
  }
  return roots;
}

bool lies_in_data_roots(const std::string& root, const fs::path& name) {
  const auto inside = [&](const fs::path& place) {
    const fs::path folder = fs::absolute(place / "").lexically_normal().parent_path();
    const fs::path path = fs::absolute(place / name).lexically_normal();
    return std::ranges::mismatch(folder, path).in1 == folder.end();
  };
  // A relative name is looked for in every place in turn, so it must not lead out of any of them.
  const std::vector<fs::path> places = data_roots(root);
  return name.is_absolute() ? std::ranges::any_of(places, inside)
                            : std::ranges::all_of(places, inside);
}

bool can_be_fetched(const fs::path& name) { return name == "mnist" || name == "fashion-mnist"; }

fs::path name_beside(const fs::path& folder, const std::string& root, const fs::path& name) {
  if (name.empty() || name.is_absolute() || !has_data(folder / name)) return name;
  for (const fs::path& place : data_roots(root))
    if (has_data(place / name)) return name;
  const fs::path path = fs::absolute(folder / name).lexically_normal();
  const fs::path from_here = path.lexically_proximate(fs::current_path());
  const bool here = root.empty() && !from_here.is_absolute() && *from_here.begin() != "..";
  return here ? from_here : path;
}

fs::path find_data(const std::string& root, const fs::path& name) {
  std::vector<std::string> tried;
  for (const fs::path& place : data_roots(root)) {
    const fs::path path = place / name;
    if (has_data(path)) return path;
    tried.push_back(place.string());
  }
  throw MissingFileError(
      fmt::format("found no {} in {}: point --data or SFNN_DATA at the folder that has it{}",
                  name.string(), fmt::join(tried, ", "),
                  can_be_fetched(name) ? ", or fetch it with: sfnn data " + name.string() : ""));
}

}  // namespace sfnn

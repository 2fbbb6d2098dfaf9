// The house has floors: a file includes files of its own folder and of floors below it, never of a
// floor above or of a neighbour.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace sfnn {
namespace {

namespace fs = std::filesystem;

// From the ground up. Folders of one row are neighbours: they do not know each other.
const std::vector<std::vector<std::string>> kFloors = {
    {"kernels", "host/public/sfnn"},
    {"host/base"},
    {"host/formats"},
    {"host/backend"},
    {"host/backend/cpu", "host/backend/plain", "cuda"},
    {"host/devices"},
    {"host/ranks"},
    {"host/data"},
    {"host/model"},
    {"host/train"},
    {"host/run"},
    {"host/report"},
    {"host/api"},
    {"host/app"},
};

// -1: none of the floors.
int floor_of(const std::string& folder) {
  for (std::size_t f = 0; f < kFloors.size(); ++f)
    if (std::ranges::find(kFloors[f], folder) != kFloors[f].end()) return int(f);
  return -1;
}

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

std::vector<std::string> includes_of(const fs::path& file) {
  static const std::regex include("^#include [<\"]([^>\"]+)[>\"]");
  std::vector<std::string> found;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (std::smatch match; std::regex_search(line, match, include)) {
      const std::string name = match[1];
      found.push_back(name.starts_with("sfnn/") ? "host/public/" + name : name);
    }
  return found;
}

// Sources below `root`, as the includes name them.
std::vector<std::string> sources() {
  std::vector<std::string> paths;
  for (const char* top : {"kernels", "cuda", "host"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(SFNN_SOURCE_DIR) / top)) {
      const std::string ending = entry.path().extension().string();
      if (ending == ".hpp" || ending == ".cpp" || ending == ".cuh" || ending == ".cu")
        paths.push_back(fs::relative(entry.path(), SFNN_SOURCE_DIR).string());
    }
  }
  return paths;
}

TEST(Floors, NoIncludeLooksUpOrSideways) {
  std::size_t looked_at = 0;
  for (const std::string& source : sources()) {
    const int own = floor_of(folder_of(source));
    EXPECT_GE(own, 0) << source << " lies on no floor";
    for (const std::string& include : includes_of(fs::path(SFNN_SOURCE_DIR) / source)) {
      if (folder_of(include) == folder_of(source)) continue;
      const int other = floor_of(folder_of(include));
      if (other < 0 && !fs::exists(fs::path(SFNN_SOURCE_DIR) / include)) continue;  // a library's
      ++looked_at;
      EXPECT_LT(other, own) << source << " includes " << include;
      EXPECT_GE(other, 0) << source << " includes " << include << ", which lies on no floor";
    }
  }
  EXPECT_GT(looked_at, 200u) << "the test has lost sight of the sources";
}

// They are installed alone, for programs that have neither our other headers nor our libraries'.
TEST(Floors, PublicHeadersIncludeEachOtherAndTheStandardLibrary) {
  static const std::regex standard("[a-z_]+");
  std::size_t looked_at = 0;
  for (const std::string& source : sources()) {
    if (folder_of(source) != "host/public/sfnn") continue;
    for (const std::string& include : includes_of(fs::path(SFNN_SOURCE_DIR) / source)) {
      ++looked_at;
      EXPECT_TRUE(folder_of(include) == "host/public/sfnn" || std::regex_match(include, standard))
          << source << " includes " << include;
    }
  }
  EXPECT_GT(looked_at, 50u) << "the test has lost sight of the headers";
}

// A program of one's own runs, resumes, searches and reports without them.
TEST(Floors, OnlyTheCommandsKnowTheCommandLineAndTheNetwork) {
  static const std::regex library("(CLI|curl|openssl)/.*");
  std::size_t found = 0;
  for (const std::string& source : sources()) {
    for (const std::string& include : includes_of(fs::path(SFNN_SOURCE_DIR) / source)) {
      if (!std::regex_match(include, library)) continue;
      ++found;
      EXPECT_EQ(folder_of(source), "host/app") << source << " includes " << include;
    }
  }
  EXPECT_GE(found, 3u) << "the test has lost sight of the sources";
}

}  // namespace
}  // namespace sfnn

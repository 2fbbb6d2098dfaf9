// The files of a sweep. For the files of this folder alone.
#pragma once

#include <filesystem>
#include <string>

#include "host/run/sweep.hpp"

namespace sfnn {

inline std::filesystem::path sweep_file(const std::filesystem::path& directory) {
  return directory / "sweep.json";
}
std::string to_text(const SweepPlan&);  // as sweep.json has it

}  // namespace sfnn

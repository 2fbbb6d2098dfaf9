// What the soak does over and over: a random network, trained in a random way, and what that must
// come to. A case throws std::runtime_error, with an explanation, if it ends differently.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/support/killed_run.hpp"
#include "tests/support/random.hpp"

namespace sfnn::soak {

struct Tally {
  std::int64_t reference_cases = 0, reference_steps = 0;
  std::int64_t ties = 0;  // steps left out: a draw fell within rounding of its probability
  std::int64_t twins = 0, restores = 0;
  std::int64_t killed_runs = 0;
  Kills kills;
};

// Steps of the engine against the same steps in double, each from the engine's own state.
void compare_with_reference(Random&, Tally&);

// A run cut into pieces, each on another number of threads, its state handed on as the bytes of a
// checkpoint: the same bits as the run in one piece.
void compare_with_twin(Random&, Tally&);

// The program itself, killed and resumed: the same bits as the run that was left alone. `scratch`
// is emptied first and left as it is, for inspection if the case fails.
void compare_with_killed(const std::string& program, const std::filesystem::path& scratch, Random&,
                         Tally&);

// How far the memory of a program that trains grows from the first third of `seconds` to the end.
struct Growth {
  std::size_t from = 0, to = 0;  // bytes
};
Growth memory_of_a_long_run(const std::string& program, const std::filesystem::path& scratch,
                            double seconds);

}  // namespace sfnn::soak

#include "host/app/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "host/backend/backend.hpp"
#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/run/rate_search.hpp"
#include "host/run/run_directory.hpp"

namespace sfnn {

void add_machine_options(CLI::App& app, MachineOptions& machine) {
  app.add_option(
         "--data", machine.data_root,
         "Folder with the data sets (else SFNN_DATA, ~/.cache/sfnn, /usr/share/datasets, .)")
      ->check(existing_path());
  app.add_option("--device", machine.backend.device,
                 "Device to compute on: auto, or a name that sfnn devices lists")
      ->capture_default_str();
  app.add_option("--threads", machine.backend.threads, "Threads on the CPU; 0: one per core")
      ->envname("SFNN_THREADS")
      ->check(from_to(0, 1024))
      ->capture_default_str();
  app.add_option("--math", machine.backend.math,
                 "Arithmetic of matrix products on a GPU: fp32, tf32 or bf16x3")
      ->check(CLI::IsMember({"fp32", "tf32", "bf16x3"}))
      ->capture_default_str();
  app.add_flag_callback(
      "--eager", [&machine] { machine.backend.graph = false; },
      "On a GPU: launch kernels one by one instead of as a graph, for profilers");
  app.add_flag(
      "--plain", machine.backend.plain,
      "Use the simple reference implementation (CPU, slow), against which the fast one is tested");
}

void add_settings(CLI::App& app, std::vector<std::string>& settings) {
  app.add_option("--set", settings,
                 "Change a config value, as in --set train.epochs=5; may be repeated")
      ->type_name("KEY=VALUE")
      ->take_all();
}

void add_run(CLI::App& app, std::string& run, bool& best) {
  app.add_option("run", run, "A run directory or a checkpoint file")
      ->required()
      ->check(existing_path());
  app.add_flag(
      "--best", best,
      "Use the checkpoint with the lowest validation NLL, not the newest; needs data.valid");
}

void add_seeds(CLI::App& app, std::int64_t& draws) {
  app.add_option("--seeds", draws,
                 "Number of times to draw the particles, by the seeds s, s + 1, ... from the run's "
                 "own: figures become means over the draws, with their spread")
      ->type_name("K")
      ->check(from_to(1, 10'000));
}

void add_search_epochs(CLI::App& app, std::int64_t& epochs) {
  app.add_option("--search-epochs", epochs,
                 "Epochs per learning rate; 0: a fifth of train.epochs, at least 2")
      ->check(from_to(0, kMaxSearchEpochs))
      ->capture_default_str();
}

void add_json(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "Print the same for programs, as JSON; docs/json.md has every key");
}

CLI::Validator from_to(std::int64_t low, std::int64_t high) {
  return CLI::Range(low, high).description("");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); },
      /*validator_desc=*/"");
}

CLI::Validator existing_path() {
  return CLI::Validator(
      [](const std::string& path) {
        std::error_code other;  // other errors are reported when the file is opened
        return std::filesystem::status(path, other).type() == std::filesystem::file_type::not_found
                   ? fmt::format("{}: there is no such file or folder", path)
                   : std::string();
      },
      /*validator_desc=*/"");
}

void require_output(const std::string& option, const std::string& path,
                    std::initializer_list<const char*> endings) {
  namespace fs = std::filesystem;
  if (is_stream(path)) return;
  const fs::path file = path;
  if (std::ranges::find(endings, file.extension().string()) == endings.end()) {
    throw ConfigError(
        fmt::format("{} {}: must end in {}", option, path, fmt::join(endings, " or ")));
  }
  const fs::path folder = file.parent_path();
  if (!folder.empty() && !fs::exists(folder))
    throw ConfigError(fmt::format("{} {}: there is no folder {}", option, path, folder.string()));
  const RunDirectory run(folder);
  if (!run.holds_run()) return;
  for (const fs::path& own : {run.metrics(), run.sessions(), run.search()}) {
    if (file.filename() == own.filename())
      throw ConfigError(
          fmt::format("{} {} has the name of a run's own file: choose another", option, path));
  }
}

std::string exit_codes() {
  return "Exit codes: 0 done, 1 failed, 2 usage, config or a missing file, 3 stopped by a signal "
         "with "
         "the state saved.";
}

std::string examples(const std::string& lines) {
  return "Examples:\n" + lines + "\n\n" + exit_codes();
}

std::string called_as() {
  const char* front_door = std::getenv("SFNN_CALLED_AS");  // set by ./run
  return Error::without_controls(front_door ? front_door : shell_word(program_invocation_name));
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char letter) {
    return std::isalnum(letter) ||
           std::string_view("_-./:=+,@%").find(letter) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string word = "'";
  for (const char letter : text)
    word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

void print_network(const NetworkSpec& spec, const NetworkSpec* R) {
  const ParamLayout layout(spec);
  fmt::print("network      {}\n", to_string(spec));
  fmt::print("parameters   {}\n", layout.parameter_count());
  for (const ParamSlot& slot : layout.slots())
    fmt::print("  {:<12} {} x {}\n", slot.name, slot.rows, slot.cols);
  if (!R) return;
  fmt::print("proposal     R: x and y, {} numbers, to the logits of {} units; {} parameters\n",
             R->D_in, R->D_out, ParamLayout(*R).parameter_count());
}

void warn(const std::string& line) {
  std::fflush(stdout);
  std::fprintf(stderr, "sfnn: %s\n", line.c_str());
}

}  // namespace sfnn

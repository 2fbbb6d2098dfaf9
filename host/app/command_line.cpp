#include "host/app/command_line.hpp"

namespace sfnn {

void add_machine_options(CLI::App& app, MachineOptions& machine) {
  app.add_option("--data", machine.data_root,
                 "Folder with the data sets (else SFNN_DATA, ~/.cache/sfnn, /usr/share/datasets)");
  app.add_option("--device", machine.backend.device,
                 "Where to compute: auto, or a name that sfnn devices lists")
      ->capture_default_str();
  app.add_option("--threads", machine.backend.threads, "Threads on the CPU; 0: one a core")
      ->envname("SFNN_THREADS")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--math", machine.backend.math, "Products on a GPU: fp32, tf32 or bf16x3")
      ->check(CLI::IsMember({"fp32", "tf32", "bf16x3"}))
      ->capture_default_str();
  app.add_flag("!--eager", machine.backend.graph,
               "On a GPU: launch by launch instead of as a graph, for profilers");
  app.add_flag("--plain", machine.backend.plain,
               "The plain CPU path: slower, the oracle of the others");
}

void add_settings(CLI::App& app, std::vector<std::string>& settings) {
  app.add_option("--set", settings,
                 "Change a config value, as in --set train.epochs=5; may be repeated")
      ->type_name("KEY=VALUE")
      ->take_all();
}

void add_run(CLI::App& app, std::string& run, bool& best) {
  app.add_option("run", run, "A run directory or a checkpoint file")->required();
  app.add_flag("--best", best, "The checkpoint of lowest validation NLL, not the newest");
}

std::string examples(const std::string& lines) { return "Examples:\n" + lines; }

}  // namespace sfnn

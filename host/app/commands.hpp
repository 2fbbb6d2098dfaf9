// The commands of the program. Each takes its flags, does its work, and returns the exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/app/assemble.hpp"
#include "host/app/pictures.hpp"

namespace CLI {
class App;
}

namespace sfnn {

enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kStopped = 3 };

struct TrainCommand {
  MachineOptions machine;
  std::string config_file;
  std::vector<std::string> settings;  // key=value
  std::string out;                    // empty: a new directory below runs/
  std::string init_from;              // a run or a checkpoint: sets net.init_from
  std::string search_lr;              // "1e-4:1"; empty: the config's rate
  std::int64_t search_epochs = 0;     // of each rate tried; 0: chosen
  bool resume = false, dry_run = false, quiet = false, verbose = false;
};
int run_train(const TrainCommand&);

struct EvalCommand {
  MachineOptions machine;
  std::string run;  // a run directory or a checkpoint
  std::vector<std::string> settings;
  std::string curve_file;  // C_hat_1..M as CSV
  bool best = false;
};
int run_eval(const EvalCommand&);

struct SampleCommand {
  MachineOptions machine;
  std::string run;
  std::vector<std::string> settings;
  std::string out = "samples.png";
  bool best = false;
  PictureOptions picture;
};
int run_sample(const SampleCommand&);

struct DemoCommand {
  MachineOptions machine;
  std::string out = "runs/demo";
  bool quiet = false;
};
int run_demo(const DemoCommand&);

// Each adds its command with its flags; when it is called, `code` becomes its exit code.
void add_completion_command(CLI::App&, int& code);
void add_data_command(CLI::App&, int& code);
void add_devices_command(CLI::App&, int& code);
void add_info_command(CLI::App&, int& code);
void add_predict_command(CLI::App&, int& code);
void add_report_command(CLI::App&, int& code);

}  // namespace sfnn

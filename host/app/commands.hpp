// The commands of the program, each in a file of its own with its flags and its work.
#pragma once

namespace CLI {
class App;
}

namespace sfnn {

enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kStopped = 3 };

// Each adds one command with its flags; when the command runs, it sets `code` to its exit code.
void add_completion_command(CLI::App&, int& code);
void add_data_command(CLI::App&, int& code);
void add_demo_command(CLI::App&, int& code);
void add_devices_command(CLI::App&, int& code);
void add_estimators_command(CLI::App&, int& code);
void add_eval_command(CLI::App&, int& code);
void add_info_command(CLI::App&, int& code);
void add_man_command(CLI::App&, int& code);
void add_play_command(CLI::App&, int& code);
void add_predict_command(CLI::App&, int& code);
void add_report_command(CLI::App&, int& code);
void add_sample_command(CLI::App&, int& code);
void add_sweep_command(CLI::App&, int& code);
void add_tensorboard_command(CLI::App&, int& code);
void add_train_command(CLI::App&, int& code);

}  // namespace sfnn

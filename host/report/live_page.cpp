#include "host/report/live_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/png.hpp"
#include "host/report/page.hpp"
#include "host/run/pictures.hpp"
#include "host/run/rate_search.hpp"
#include "host/run/session.hpp"

namespace sfnn {
namespace {

constexpr double kLeastReload = 2, kMostReload = 30;  // seconds

// About once per epoch.
int reload_seconds_of(const TrainingRun& training) {
  const TrainState state = training.numbers();
  const double per_epoch = state.epoch > 0 ? state.seconds / double(state.epoch) : kLeastReload;
  return int(std::lround(std::clamp(per_epoch, kLeastReload, kMostReload)));
}

ReportRun as_it_is(const TrainingRun& training) {
  const RunDirectory& directory = training.directory();
  const auto pass_over = [](const std::string&) {};  // they are said by whoever reports the run
  ReportRun run{.name = name_of_run(directory.path()),
                .path = directory.path().string(),
                .network = training.network(),
                .config = training.config(),
                .x_bytes = training.data().x_bytes,
                .state = training.numbers(),
                .metrics = read_epochs(directory.metrics(), pass_over),
                .sessions = read_sessions(directory.sessions(), pass_over),
                .trials = saved_trials(directory)};
  if (can_show(training.data()))
    run.png = encode_png(
        sample_picture(training.test_model(), training.data(), run.config.train.seed, {.rows = 8}));
  return run;
}

}  // namespace

std::filesystem::path LivePage::path_of(const TrainingRun& training) {
  return training.directory().report();
}

void LivePage::write(const TrainingRun& training) { write(training, reload_seconds_of(training)); }
void LivePage::write_last(const TrainingRun& training) { write(training, /*reload_seconds=*/0); }

void LivePage::write(const TrainingRun& training, int reload_seconds) {
  try {
    write_file_atomically(path_of(training),
                          report_page({as_it_is(training)}, {.version = program_version(),
                                                             .date = utc_now(),
                                                             .device = training.device(),
                                                             .reload_seconds = reload_seconds}));
  } catch (const Error& error) {  // a full disk, a damaged record: not worth the run
    if (!failed_) warn_(fmt::format("{}: training continues without its page", error.what()));
    failed_ = true;
  }
}

}  // namespace sfnn

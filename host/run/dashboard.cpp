#include "host/run/dashboard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <system_error>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/event_file.hpp"
#include "host/formats/file_descriptor.hpp"
#include "host/formats/png_reader.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = std::size_t(1) << 30;
constexpr std::string_view kSamplesTag = "samples";

double now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

// Seconds since 1970 of a session's start, which utc_now wrote; 0: anything else.
double time_of(const SessionRecord& session) {
  std::tm t{};
  if (!session.started || std::sscanf(session.started->c_str(), "%d-%d-%d %d:%d", &t.tm_year,
                                      &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min) != 5)
    return 0;
  t.tm_year -= 1900;
  t.tm_mon -= 1;
  return double(::timegm(&t));
}

// When the epochs ended: a session's start, and the seconds that it had trained until then.
std::vector<double> wall_times(const std::vector<EpochRecord>& epochs,
                               const std::vector<SessionRecord>& sessions) {
  std::vector<double> times;
  double start = 0, seconds_before = 0, seconds = 0;
  auto session = sessions.begin();
  for (const EpochRecord& epoch : epochs) {
    for (; session != sessions.end() && session->step.value_or(0) < epoch.step.value_or(0);
         ++session) {
      start = time_of(*session);
      seconds_before = seconds;
    }
    seconds = epoch.seconds.value_or(seconds);
    const double time = start + seconds - seconds_before;
    times.push_back(times.empty() ? time : std::max(time, times.back()));
  }
  return times;
}

Event event_of(const EpochRecord& record, double wall_time) {
  Event event(wall_time, std::int64_t(record.step.value_or(0)));
  visit_record(record, [&](std::string_view key, const auto& value, IfEmpty) {
    if constexpr (requires { double(*value); }) {
      if (value && key != "step") event.add_scalar(tag_of(key), float(*value));
    }
  });
  return event;
}

void add_picture(Event& event, const Picture& picture) {
  event.add_picture(kSamplesTag, picture.height, picture.width, picture.channels,
                    encode_png(picture));
}

// The picture that a finished run left; damaged or of somebody else: none.
void add_saved_samples(Event& event, const fs::path& path, const Warn& warn) {
  try {
    require_no_link(path);
    if (!fs::exists(path)) return;
    const std::string png = read_file(path, kMaxBytes);
    add_picture(event, parse_png(std::as_bytes(std::span(png)), path.string()));
  } catch (const DataError& error) {
    warn(fmt::format("{}: left out", error.what()));
  }
}

// By step. A damaged file is replaced as far as metrics.jsonl goes.
std::map<std::int64_t, EventRecord> saved_events(const fs::path& path, std::int64_t last_step,
                                                 const Warn& warn) {
  std::map<std::int64_t, EventRecord> events;
  require_no_link(path);
  if (!fs::exists(path)) return events;
  auto records = parse_events(read_file(path, kMaxBytes));
  if (!records) warn(fmt::format("{} is no event file: written anew", path.string()));
  for (EventRecord& record : records.value_or(std::vector<EventRecord>()))
    if (record.step <= last_step) events.emplace(record.step, std::move(record));
  return events;
}

}  // namespace

std::string tag_of(std::string_view metric) {
  constexpr std::array<std::string_view, 5> kGroups{"train", "valid", "test", "average", "best"};
  const std::string_view group = metric.substr(0, metric.find('_'));
  if (group == metric || std::ranges::find(kGroups, group) == kGroups.end())
    return fmt::format("train/{}", metric);
  return fmt::format("{}/{}", group, metric.substr(group.size() + 1));
}

Dashboard::Dashboard(const RunDirectory& directory, std::int64_t step, const Warn& warn)
    : path_(directory.events()) {
  auto events = saved_events(path_, step, warn);
  const auto epochs = read_epochs(directory.metrics(), warn);
  const auto times = wall_times(epochs, read_sessions(directory.sessions(), warn));
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    const auto at = std::int64_t(epochs[i].step.value_or(0));
    if (at < 1 || at > step || events.contains(at)) continue;
    Event event = event_of(epochs[i], times[i]);
    if (epochs[i].test_nll) add_saved_samples(event, directory.samples(), warn);
    events[at] = {times[i], at, event.record()};
  }
  std::string bytes = first_record(events.empty() ? now() : events.begin()->second.wall_time);
  for (const auto& [at, event] : events) {
    bytes += event.bytes;
    last_time_ = std::max(last_time_, event.wall_time);
  }
  write_file_atomically(path_, bytes);
  size_ = std::int64_t(bytes.size());
  events_ = std::int64_t(events.size());
}

void Dashboard::add(const EpochRecord& record, std::span<const LayerActivity> activity,
                    const Picture* samples) {
  last_time_ = std::max(last_time_, now());
  Event event = event_of(record, last_time_);
  for (const LayerActivity& layer : activity) {
    EventHistogram p{.low = 0, .high = 1};
    for (const double share : layer.histogram) p.counts.push_back(share * double(layer.units));
    event.add_histogram(fmt::format("p/layer{}", layer.layer), p);
  }
  if (samples) add_picture(event, *samples);
  const std::string bytes = event.record();

  const auto fail = [&](const std::string& why) {
    throw SaveError(fmt::format("{}: cannot be written: {}", path_.string(), why));
  };
  const FileDescriptor file(path_, O_WRONLY | O_NOFOLLOW);
  if (!file.is_open() || ::ftruncate(file.get(), size_) != 0)
    fail(std::generic_category().message(errno));
  const ssize_t count = ::pwrite(file.get(), bytes.data(), bytes.size(), size_);
  if (count < 0) fail(std::generic_category().message(errno));
  if (std::size_t(count) < bytes.size()) fail("the disk is full");
  size_ += std::int64_t(bytes.size());
  ++events_;
}

std::int64_t write_dashboard(const fs::path& run, const Warn& warn) {
  RunDirectory directory(run);
  require(directory.holds_run(),
          fmt::format("{} is not a run directory: it has no config.toml", run.string()));
  directory.lock();
  std::uint64_t last = 0;
  for (const EpochRecord& epoch : read_epochs(directory.metrics(), warn))
    last = std::max(last, epoch.step.value_or(0));
  return Dashboard(directory, std::int64_t(last), [](const std::string&) {}).events();
}

}  // namespace sfnn

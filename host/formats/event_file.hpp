// TensorBoard's event files, written and read without protobuf. A file is a row of records: length,
// its masked CRC-32C, an Event message, its masked CRC-32C. The first names the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sfnn {

std::uint32_t crc32c(std::string_view bytes);

// A distribution of numbers that were counted in bins side by side.
struct EventHistogram {
  double low = 0, high = 0;    // where the first bin begins and the last one ends
  std::vector<double> counts;  // of bins of equal width
};

// What was measured at a step; each value has a name, its tag.
class Event {
 public:
  Event(double wall_time, std::int64_t step);  // seconds since 1970

  void add_scalar(std::string_view tag, float value);
  void add_histogram(std::string_view tag, const EventHistogram&);
  // png: the bytes of a picture's file.
  void add_picture(std::string_view tag, std::int64_t height, std::int64_t width,
                   std::int64_t channels, std::string_view png);
  bool is_empty() const { return values_.empty(); }
  std::string record() const;  // as the file has it

 private:
  void add_value(std::string_view tag, std::string_view field);

  double wall_time_;
  std::int64_t step_;
  std::string values_;  // of the Summary message
};

std::string first_record(double wall_time);  // "brain.Event:2"

struct EventRecord {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string bytes;  // of the whole record
};

// The records of events, without the first one of the file. Reading ends at the first record that
// is torn or damaged. Takes at most twice the memory of the bytes. None: not such a file.
std::optional<std::vector<EventRecord>> parse_events(std::string_view bytes);

}  // namespace sfnn

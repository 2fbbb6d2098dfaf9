#include "host/formats/event_file.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace sfnn {
namespace {

static_assert(std::endian::native == std::endian::little, "bytes are copied as they lie");

constexpr std::string_view kVersion = "brain.Event:2";

// The Castagnoli polynomial, bits reversed.
constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
    table[i] = c;
  }
  return table;
}

// A sum over bytes that hold their own sum would mean little: TFRecord turns and shifts it.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class T>
T read_raw(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// --- protobuf's wire format: a key (field number and type), then the value

enum Wire : std::uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += char(value | 128);
  return bytes + char(value);
}

std::string key(int field, Wire wire) { return varint(std::uint64_t(field) << 3 | wire); }
std::string number_field(int field, std::int64_t value) {
  return key(field, kVarint) + varint(std::uint64_t(value));
}
std::string double_field(int field, double value) { return key(field, kFixed64) + raw(value); }
std::string float_field(int field, float value) { return key(field, kFixed32) + raw(value); }
std::string bytes_field(int field, std::string_view bytes) {
  return key(field, kBytes) + varint(bytes.size()) + std::string(bytes);
}
std::string doubles_field(int field, const std::vector<double>& values) {  // packed
  std::string bytes;
  for (const double value : values) bytes += raw(value);
  return bytes_field(field, bytes);
}

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = std::uint8_t(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t(byte & 127) << shift;
    if (byte < 128) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> take(std::string_view& bytes, std::uint64_t count) {
  if (count > bytes.size()) return std::nullopt;
  const std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

// --- messages

constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;  // fields of Event

std::string record_of(std::string_view event) {
  const std::string length = raw(std::uint64_t(event.size()));
  return length + raw(masked_crc(length)) + std::string(event) + raw(masked_crc(event));
}

// None: the bytes are no record from their beginning on.
std::optional<std::string_view> take_event(std::string_view& bytes) {
  std::string_view rest = bytes;
  const auto length = take(rest, 8), length_crc = take(rest, 4);
  if (!length || !length_crc || read_raw<std::uint32_t>(*length_crc) != masked_crc(*length))
    return std::nullopt;
  const auto event = take(rest, read_raw<std::uint64_t>(*length)), crc = take(rest, 4);
  if (!event || !crc || read_raw<std::uint32_t>(*crc) != masked_crc(*event)) return std::nullopt;
  bytes = rest;
  return event;
}

struct EventFacts {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string_view file_version;
};

// None: no message.
std::optional<EventFacts> facts_of(std::string_view event) {
  EventFacts facts;
  while (!event.empty()) {
    const auto key = take_varint(event);
    if (!key) return std::nullopt;
    const std::uint64_t field = *key >> 3, wire = *key & 7;
    if (wire == kVarint) {
      const auto value = take_varint(event);
      if (!value) return std::nullopt;
      if (field == kStep) facts.step = std::int64_t(*value);
      continue;
    }
    std::optional<std::uint64_t> size;
    if (wire == kFixed64) size = 8;
    if (wire == kFixed32) size = 4;
    if (wire == kBytes) size = take_varint(event);
    const auto value = size ? take(event, *size) : std::nullopt;
    if (!value) return std::nullopt;
    if (field == kWallTime && wire == kFixed64) facts.wall_time = read_raw<double>(*value);
    if (field == kFileVersion && wire == kBytes) facts.file_version = *value;
  }
  return facts;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = crc_table();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = kTable[(crc ^ std::uint8_t(byte)) & 255] ^ crc >> 8;
  return ~crc;
}

Event::Event(double wall_time, std::int64_t step) : wall_time_(wall_time), step_(step) {}

// field: the value's own field of Summary.Value, whose tag is the first.
void Event::add_value(std::string_view tag, std::string_view field) {
  values_ += bytes_field(1, bytes_field(1, tag) + std::string(field));
}

void Event::add_scalar(std::string_view tag, float value) { add_value(tag, float_field(2, value)); }

// HistogramProto: min, max, num, sum, sum_squares, bucket_limit, bucket. Sums are of the bins'
// middles.
void Event::add_histogram(std::string_view tag, const EventHistogram& histogram) {
  const double width = (histogram.high - histogram.low) / double(histogram.counts.size());
  double count = 0, sum = 0, squares = 0;
  std::vector<double> limits;
  for (const double bin : histogram.counts) {
    const double middle = histogram.low + (double(limits.size()) + 0.5) * width;
    limits.push_back(histogram.low + double(limits.size() + 1) * width);
    count += bin;
    sum += bin * middle;
    squares += bin * middle * middle;
  }
  add_value(tag, bytes_field(5, double_field(1, histogram.low) + double_field(2, histogram.high) +
                                    double_field(3, count) + double_field(4, sum) +
                                    double_field(5, squares) + doubles_field(6, limits) +
                                    doubles_field(7, histogram.counts)));
}

// Summary.Image: height, width, colour space (the number of channels), the encoded picture.
void Event::add_picture(std::string_view tag, std::int64_t height, std::int64_t width,
                        std::int64_t channels, std::string_view png) {
  add_value(tag, bytes_field(4, number_field(1, height) + number_field(2, width) +
                                    number_field(3, channels) + bytes_field(4, png)));
}

std::string Event::record() const {
  return record_of(double_field(kWallTime, wall_time_) + number_field(kStep, step_) +
                   bytes_field(kSummary, values_));
}

std::string first_record(double wall_time) {
  return record_of(double_field(kWallTime, wall_time) + bytes_field(kFileVersion, kVersion));
}

std::optional<std::vector<EventRecord>> parse_events(std::string_view bytes) {
  const auto first = take_event(bytes);
  const auto version = first ? facts_of(*first) : std::nullopt;
  if (!version || version->file_version != kVersion) return std::nullopt;
  std::vector<EventRecord> records;
  for (std::string_view before = bytes; const auto event = take_event(bytes); before = bytes) {
    const auto facts = facts_of(*event);
    if (!facts) break;
    records.push_back({facts->wall_time, facts->step,
                       std::string(before.substr(0, before.size() - bytes.size()))});
  }
  return records;
}

}  // namespace sfnn

#include "host/formats/event_file.hpp"

#include <gtest/gtest.h>

namespace sfnn {
namespace {

std::string small_file() {
  std::string bytes = first_record(1000.5);
  for (const int step : {10, 20, 30}) {
    Event event(1000.5 + step, step);
    event.add_scalar("valid/nll", 0.5f * float(step));
    event.add_histogram("p/layer1", {.low = 0, .high = 1, .counts = {1, 2, 3, 4}});
    event.add_picture("samples", 2, 3, 1, std::string("png\0png", 7));
    bytes += event.record();
  }
  return bytes;
}

// RFC 3720, B.4.
TEST(EventFile, CrcHasTheKnownAnswers) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

// Two records byte by byte, as TensorBoard's own writer makes them (tensorboard 2.21).
TEST(EventFile, BytesAreThoseOfTensorBoard) {
  const auto hex = [](const std::string& bytes) {
    std::string text;
    for (const unsigned char byte : bytes) {
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    }
    return text;
  };
  EXPECT_EQ(hex(first_record(1.5)),
            "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c");
  Event event(2.5, 300);
  event.add_scalar("valid/nll", 0.25f);
  EXPECT_EQ(hex(event.record()),
            "200000000000000029eda95009000000000000044010ac022a120a100a0976616c69642f6e6c6c15"
            "0000803e44c62b6e");
}

TEST(EventFile, RecordsComeBackWithStepAndTime) {
  const std::string bytes = small_file();
  const auto records = parse_events(bytes);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 3u);
  std::string joined = first_record(1000.5);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*records)[i].step, std::int64_t(i + 1) * 10);
    EXPECT_EQ((*records)[i].wall_time, 1000.5 + double(i + 1) * 10);
    joined += (*records)[i].bytes;
  }
  EXPECT_EQ(joined, bytes);
}

TEST(EventFile, WhatIsTornAtTheEndIsLeftOut) {
  const std::string bytes = small_file();
  const std::size_t first = first_record(1000.5).size(), each = (bytes.size() - first) / 3;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto records = parse_events(std::string_view(bytes).substr(0, size));
    ASSERT_EQ(bool(records), size >= first) << size;
    ASSERT_EQ(records ? records->size() : 0, size < first ? 0 : (size - first) / each) << size;
  }
}

TEST(EventFile, EachDamagedByteEndsTheReading) {
  const std::string bytes = small_file();
  const std::size_t first = first_record(1000.5).size(), each = (bytes.size() - first) / 3;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = char(damaged[at] ^ 1 << at % 8);
    const auto records = parse_events(damaged);
    ASSERT_EQ(bool(records), at >= first) << at;
    ASSERT_EQ(records ? records->size() : 0, at < first ? 0 : (at - first) / each) << at;
  }
}

// A length of 2^64 - 1 with a right checksum, and a message that ends within a field.
TEST(EventFile, LyingLengthsAreNoRecords) {
  for (const std::string& lie : {std::string(8, '\xff'), std::string("\x40\0\0\0\0\0\0\0", 8)}) {
    const std::uint32_t crc = crc32c(lie), masked = (crc >> 15 | crc << 17) + 0xa282ead8u;
    std::string bytes = first_record(0) + lie;
    bytes.append(reinterpret_cast<const char*>(&masked), 4);
    bytes += "short";
    EXPECT_EQ(parse_events(bytes)->size(), 0u);
  }
}

}  // namespace
}  // namespace sfnn

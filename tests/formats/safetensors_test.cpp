#include "host/formats/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TensorFile example() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  return {{{"W", {2, 3}, {1, -2, 0.1f, -0.0f, 1e-45f, kInf}},
           {"empty", {0, 7}, {}},
           {"scalar", {}, {42}},
           {"b/\"\u00e9\"", {1, 1, 2}, {3, 4}}},
          {{"a", "text with \"quotes\" and \n"}, {"b", ""}}};
}

TensorFile parse(const std::string& bytes, Checksums checksums = Checksums::where_present) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), "some.safetensors", checksums);
}

// A file as another program might write it, sound or not.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_bytes, '\0');
}

std::string tensor(const std::string& name, const std::string& shape, const std::string& offsets,
                   const std::string& dtype = "F32") {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

std::string error_of(const std::string& bytes, Checksums checksums = Checksums::where_present) {
  try {
    parse(bytes, checksums);
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), StartsWith("some.safetensors: not a sound safetensors file: "));
    return e.what();
  }
  return "no error";
}

TEST(Safetensors, RoundTripKeepsEveryBit) {
  const TensorFile file = example();
  const TensorFile back = parse(serialize(file), Checksums::required);
  EXPECT_EQ(back, file);
  EXPECT_TRUE(std::signbit(back.tensors[0].values[3]));
  EXPECT_EQ(parse(serialize(TensorFile{}), Checksums::required), TensorFile{});
}

TEST(Safetensors, FileRoundTrip) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "x.safetensors";
  write_safetensors(path, example());
  EXPECT_EQ(read_safetensors(path, Checksums::required), example());
}

TEST(Safetensors, DataStartsOnABorderOfEightBytes) {
  for (std::size_t extra = 0; extra < 8; ++extra) {
    TensorFile file = example();
    file.metadata["pad"] = std::string(extra, 'x');
    std::uint64_t length = 0;
    std::memcpy(&length, serialize(file).data(), 8);
    EXPECT_EQ(length % 8, 0u);
  }
}

// The documented recipe, as a reader in another language would follow it.
TEST(Safetensors, ChecksumsAreCrc32) {
  const std::string bytes = serialize(TensorFile{{{"x", {2}, {1, 2}}}, {}});
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  std::string header = bytes.substr(8, length);
  const auto field = [&](const std::string& key) {
    return header.find("\"" + key + "\":\"") + key.size() + 4;
  };
  const auto crc = [](std::string_view text) {
    char hex[9];
    std::snprintf(hex, sizeof hex, "%08lx",
                  ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), uInt(text.size())));
    return std::string(hex);
  };
  EXPECT_EQ(header.substr(field("sfnn.crc32.x"), 8), crc(bytes.substr(8 + length)));
  const std::string stated = header.substr(field("sfnn.crc32"), 8);
  header.replace(field("sfnn.crc32"), 8, "00000000");
  EXPECT_EQ(stated, crc(header));
}

TEST(Safetensors, EveryDamagedByteIsRecognised) {
  const std::string good = serialize(example());
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {0x01, 0x20, 0x80}) {
      std::string bad = good;
      bad[i] = char(bad[i] ^ flip);
      EXPECT_NE(error_of(bad, Checksums::required), "no error")
          << "byte " << i << " flipped by " << flip;
    }
  }
}

TEST(Safetensors, EveryCutAndEveryExtraByteIsRecognised) {
  const std::string good = serialize(example());
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(error_of(good.substr(0, size)), "no error") << size;
  EXPECT_THAT(error_of(good + '\0'), HasSubstr("1 bytes follow its last tensor"));
}

TEST(Safetensors, ReadsFilesOfOtherProgramsUnlessChecksumsAreRequired) {
  const std::string bytes =
      file_of("{" + tensor("b", "[1]", "[8,12]") + "," + tensor("a", "[2]", "[0,8]") + "}  ", 12);
  const TensorFile file = parse(bytes);
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].name, "a");
  EXPECT_EQ(file.find("b")->shape, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_THAT(error_of(bytes, Checksums::required), HasSubstr("its header has no checksum"));
}

TEST(Safetensors, HeaderLengthIsBounded) {
  EXPECT_THAT(error_of(""), HasSubstr("too short"));
  EXPECT_THAT(error_of("step-00000600.safetensors\n"),
              HasSubstr("it does not begin with the length of a header"));
  EXPECT_THAT(error_of(file_of(std::string(5 << 20, ' '), 0)), HasSubstr("is too long"));
  EXPECT_THAT(error_of(file_of("{}", 0).substr(0, 9)),
              HasSubstr("should have 2 bytes, and 1 follow"));
}

TEST(Safetensors, HeaderMustBeAShallowJsonObject) {
  for (const std::string header :
       {"", " ", "{", "nonsense", "{\"a\":}", "\xff\xfe", "{\"\xff\":1}"})
    EXPECT_THAT(error_of(file_of(header, 0)), HasSubstr("not JSON")) << header;
  EXPECT_THAT(error_of(file_of("[]", 0)), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_of(file_of(std::string(1'000'000, '['), 0)), HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(file_of("{" + tensor("a", "[[1]]", "[0,4]") + "}", 4)),
              HasSubstr("nested too deeply"));
}

TEST(Safetensors, RepeatedNamesAreRefused) {
  const std::string a = tensor("a", "[1]", "[0,4]");
  EXPECT_THAT(error_of(file_of("{" + a + "," + a + "}", 4)), HasSubstr("'a' occurs twice"));
  EXPECT_THAT(error_of(file_of("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0)),
              HasSubstr("'k' occurs twice"));
  EXPECT_THAT(
      error_of(file_of(
          "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4)),
      HasSubstr("'dtype' occurs twice"));
}

TEST(Safetensors, MetadataIsTextToText) {
  EXPECT_THAT(error_of(file_of("{\"__metadata__\":[]}", 0)),
              HasSubstr("metadata is not an object"));
  EXPECT_THAT(error_of(file_of("{\"__metadata__\":{\"k\":1}}", 0)), HasSubstr("'k' is not a text"));
}

TEST(Safetensors, TensorsMustBeDescribedInFull) {
  const auto error = [](const std::string& description) {
    return error_of(file_of("{\"a\":" + description + "}", 4));
  };
  EXPECT_THAT(error("1"), HasSubstr("is not described by"));
  EXPECT_THAT(error("{}"), HasSubstr("is not described by"));
  EXPECT_THAT(error("{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,4]}"),
              HasSubstr("has no dtype"));
  EXPECT_THAT(error("{\"dtype\":\"F32\",\"form\":[1],\"data_offsets\":[0,4]}"),
              HasSubstr("no proper shape"));
  EXPECT_THAT(error("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":4}"),
              HasSubstr("no proper data_offsets"));
  EXPECT_THAT(error_of(file_of("{" + tensor("a", "[1]", "[0,8]", "F64") + "}", 8)),
              HasSubstr("is of type F64, and only F32 is read"));
}

TEST(Safetensors, ShapesCannotLie) {
  const auto error = [](const std::string& shape) {
    return error_of(file_of("{" + tensor("a", shape, "[0,4]") + "}", 4));
  };
  EXPECT_EQ(error("[1]"), "no error");
  EXPECT_THAT(error("[2]"), HasSubstr("has 4 bytes of data, and its shape needs 8"));
  EXPECT_THAT(error("[0]"), HasSubstr("its shape needs 0"));
  for (const auto* shape :
       {"[-1]", "[1.0]", "[1e0]", "[\"1\"]", "[true]", "[null]", "[18446744073709551616]"})
    EXPECT_THAT(error(shape), HasSubstr("whole numbers")) << shape;
  // The product wraps round to 1 in 64 bits, or to 4 bytes.
  for (const auto* shape : {"[4294967296,4294967296,1]", "[4611686018427387905]",
                            "[18446744073709551615]", "[9223372036854775807,9223372036854775807]"})
    EXPECT_THAT(error(shape), HasSubstr("beyond all bounds")) << shape;
  EXPECT_THAT(error("[1,1,1,1,1,1,1,1,1]"), HasSubstr("no proper shape"));
}

TEST(Safetensors, OffsetsMustTileTheData) {
  const auto error = [](const std::string& a, const std::string& b) {
    return error_of(file_of("{" + tensor("a", "[2]", a) + "," + tensor("b", "[1]", b) + "}", 12));
  };
  EXPECT_EQ(error("[0,8]", "[8,12]"), "no error");
  EXPECT_EQ(error("[4,12]", "[0,4]"), "no error");
  EXPECT_THAT(error("[0,8]", "[4,8]"), HasSubstr("'b' overlaps"));
  EXPECT_THAT(error("[0,8]", "[0,4]"), HasSubstr("overlaps"));
  EXPECT_THAT(error("[4,12]", "[8,12]"), HasSubstr("hole"));
  EXPECT_THAT(error("[0,8]", "[12,16]"), HasSubstr("ends at byte 16 of 12"));
  EXPECT_THAT(error("[8,0]", "[8,12]"), HasSubstr("not a begin and an end"));
  EXPECT_THAT(error("[0]", "[8,12]"), HasSubstr("not a begin and an end"));
  EXPECT_THAT(error("[-8,0]", "[8,12]"), HasSubstr("whole numbers"));
  EXPECT_THAT(error("[0,18446744073709551615]", "[8,12]"), HasSubstr("ends at byte"));
  EXPECT_THAT(
      error_of(file_of("{" + tensor("a", "[1]", "[0,4]") + "," + tensor("b", "[1]", "[8,12]") + "}",
                       12)),
      HasSubstr("hole"));
}

TEST(Safetensors, NamesInMessagesAreShortAndHarmless) {
  const std::string escape = "\\u001b[31m\\u009b\\n" + std::string(1000, 'x');
  const std::string message = error_of(file_of("{" + tensor(escape, "[2]", "[0,4]") + "}", 4));
  EXPECT_THAT(message, HasSubstr("tensor '?[31m???xxx"));
  EXPECT_LT(message.size(), 300u);
}

TEST(Safetensors, WriterRefusesWhatCannotBeRead) {
  EXPECT_THROW(serialize(TensorFile{{{"a", {2}, {1}}}, {}}), Error);
  EXPECT_THROW(serialize(TensorFile{{{"a", {1}, {1}}, {"a", {1}, {1}}}, {}}), Error);
  EXPECT_THROW(serialize(TensorFile{{{"__metadata__", {1}, {1}}}, {}}), Error);
}

}  // namespace
}  // namespace sfnn

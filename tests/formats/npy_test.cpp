#include "host/formats/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "host/base/error.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

NpyArray parse(const std::string& bytes) {
  return parse_npy(std::as_bytes(std::span(bytes)), "some.npy");
}

// A file as another program might write it, sound or not.
std::string file_of(const std::string& header, const std::string& values, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {char(version), '\0', char(header.size() & 0xff), char(header.size() >> 8)};
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + header + values;
}

std::string dictionary(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

std::string error_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), StartsWith("some.npy: "));
    return e.what();
  }
  return "no error";
}

TEST(Npy, RoundTripKeepsEveryBit) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const NpyArray& array : std::initializer_list<NpyArray>{
           {{2, 3}, std::vector<float>{1, -2, 0.1f, -0.0f, 1e-45f, kInf}},
           {{3}, std::vector<double>{0.1, 1e-320, -3}},
           {{2, 1, 2}, std::vector<std::uint8_t>{0, 1, 254, 255}},
           {{2}, std::vector<std::int32_t>{-2147483647 - 1, 7}},
           {{}, std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()}},
           {{0, 7}, std::vector<float>{}}}) {
    const std::string bytes = serialize_npy(array);
    EXPECT_EQ(parse(bytes), array);
    const std::size_t values =
        std::visit([](const auto& v) { return std::as_bytes(std::span(v)).size(); }, array.values);
    EXPECT_EQ((bytes.size() - values) % 64, 0u) << "NumPy maps files whose values are aligned";
  }
}

TEST(Npy, FilesGoThroughTheirPath) {
  const TemporaryDirectory directory;
  const NpyArray array{{2, 2}, std::vector<float>{1, 2, 3, 4}};
  write_npy(directory.path() / "a.npy", array);
  EXPECT_EQ(read_npy(directory.path() / "a.npy"), array);
  EXPECT_THROW(read_npy(directory.path() / "none.npy"), DataError);
}

TEST(Npy, ReadsWhatOthersMayWrite) {
  const NpyArray expected{{2}, std::vector<std::uint8_t>{5, 9}};
  EXPECT_EQ(parse(file_of(dictionary("|u1", "(2,)"), "\5\t", 2)), expected);
  // Other quotes, another order, no spaces, no last comma.
  EXPECT_EQ(parse(file_of(R"({"shape":(2),"descr":"|u1","fortran_order":False})", "\5\t")),
            expected);
  EXPECT_EQ(parse(file_of(dictionary("|b1", "(3,)"), std::string("\0\1\2", 3))),
            (NpyArray{{3}, std::vector<std::uint8_t>{0, 1, 1}}));
}

TEST(Npy, EachMalformedKindHasItsSentence) {
  const std::string four(4, '\0');
  EXPECT_THAT(error_of(""), HasSubstr("is not a .npy file"));
  EXPECT_THAT(error_of("PK\3\4 an npz"), HasSubstr("is not a .npy file"));
  EXPECT_THAT(error_of("\x93NUMPY"), HasSubstr("ends inside its .npy header"));
  EXPECT_THAT(error_of("\x93NUMPY\x01"), HasSubstr("ends inside its .npy header"));
  EXPECT_THAT(error_of(file_of("", "", 3)), HasSubstr("version 3.0 is not read"));
  EXPECT_THAT(error_of(std::string("\x93NUMPY\x01\x00\xff\x00{", 11)),
              HasSubstr("ends inside its .npy header"));
  EXPECT_THAT(error_of("\x93NUMPY\x02" + std::string(1, '\0') + "\xff\xff\xff\xff"),
              HasSubstr("4294967295 bytes is too long"));
  EXPECT_THAT(error_of(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}", four)),
              HasSubstr("np.ascontiguousarray"));
  EXPECT_THAT(error_of(file_of(dictionary(">f4", "(1,)"), four)),
              HasSubstr("is not a type that is written here"));
  EXPECT_THAT(error_of(file_of(dictionary("|O", "(1,)"), four)),
              HasSubstr("type |O is not a number"));
  EXPECT_THAT(error_of(file_of(dictionary("\x1b[31mred", "(1,)"), four)),
              HasSubstr("its type is not a number"));
  EXPECT_THAT(
      error_of(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", four)),
      HasSubstr("records"));
  EXPECT_THAT(error_of(file_of(dictionary("<f4", "(2,)"), four)), HasSubstr("truncated"));
  EXPECT_THAT(error_of(file_of(dictionary("<f4", "(1,)"), four + "x")),
              HasSubstr("continues after"));
  EXPECT_THAT(error_of(file_of(dictionary("<f4", "(0,)"), four)), HasSubstr("continues after"));
}

TEST(Npy, DimensionsCannotOverflow) {
  const std::string most = "9223372036854775807";
  EXPECT_THAT(error_of(file_of(dictionary("<f8", "(" + most + ", " + most + ")"), "")),
              HasSubstr("truncated"));
  // 2^32 * 2^32 wraps to 0, 2^61 * 8 bytes to 0.
  EXPECT_THAT(error_of(file_of(dictionary("|u1", "(4294967296, 4294967296)"), "")),
              HasSubstr("truncated"));
  EXPECT_THAT(error_of(file_of(dictionary("<f8", "(2305843009213693952,)"), "")),
              HasSubstr("truncated"));
  EXPECT_THAT(error_of(file_of(dictionary("|u1", "(9223372036854775808,)"), "")),
              HasSubstr("too large"));
  std::string many = "(";
  for (int i = 0; i < 33; ++i) many += "1,";
  EXPECT_THAT(error_of(file_of(dictionary("|u1", many + ")"), "x")),
              HasSubstr("more than 32 dimensions"));
  // An array without values has a size all the same, which callers compute.
  EXPECT_EQ(parse(file_of(dictionary("|u1", "(" + most + ", 0, 1)"), "")).shape.size(), 3u);
  EXPECT_THAT(error_of(file_of(dictionary("|u1", "(" + most + ", 2, 0)"), "")),
              HasSubstr("truncated"));
}

TEST(Npy, HeadersThatAreNotNumPysAreRefused) {
  for (const char* header :
       {"", "[]", "{}", "{'descr': '|u1'}", "{'descr': '|u1', 'fortran_order': False}",
        "{'descr': '|u1', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': 1}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1L,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} more",
        "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '|u1\", 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|u1' 'fortran_order': False, 'shape': (1,)}",
        "{'descr: '|u1', 'fortran_order': False, 'shape': (1,)}", "{'descr"}) {
    EXPECT_THAT(error_of(file_of(header, "x")), HasSubstr("not the dictionary")) << header;
  }
}

TEST(Npy, EveryTruncationIsRefused) {
  const std::string whole = serialize_npy({{2, 2}, std::vector<float>{1, 2, 3, 4}});
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(error_of(whole.substr(0, length)), "no error") << length;
}

TEST(Npy, AShapeThatDoesNotFitItsValuesIsNotWritten) {
  EXPECT_THROW(serialize_npy({{3}, std::vector<float>{1, 2}}), Error);
  EXPECT_THROW(serialize_npy({{-1, -2}, std::vector<float>{1, 2}}), Error);
}

}  // namespace
}  // namespace sfnn

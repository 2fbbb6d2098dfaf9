// Every way in which an IDX file can be wrong gives one DataError that says so.
#include "host/formats/idx.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <sstream>

#include "host/base/error.hpp"
#include "host/formats/byte_reader.hpp"
#include "tests/support/idx_files.hpp"

namespace sfnn::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

IdxArray parse(const Bytes& bytes, std::size_t rank) {
  std::istringstream in(bytes);
  return parse_idx(in, "some.idx", rank);
}

const Bytes kSixPixels = {1, 2, 3, 4, 5, '\xff'};

TEST(Idx, ReadsPlainAndGzipByContent) {
  const Bytes plain = idx_header({3, 1, 2}) + kSixPixels;
  for (const Bytes& bytes : {plain, gzip(plain)}) {
    const IdxArray array = parse(bytes, 3);
    EXPECT_THAT(array.dims, ElementsAre(3, 1, 2));
    EXPECT_THAT(array.values, ElementsAre(1, 2, 3, 4, 5, 255));
  }
}

TEST(Idx, TheNameDoesNotDecideWhetherAFileIsGzip) {
  const TempFolder folder;
  const Bytes plain = idx_header({3, 1, 2}) + kSixPixels;
  EXPECT_EQ(read_images(folder.write("plain.gz", plain)).count, 3);
  EXPECT_EQ(read_images(folder.write("packed", gzip(plain))).width, 2);
}

TEST(Idx, ReadsSeveralGzipMembers) {
  const IdxArray array = parse(gzip(idx_header({3, 1, 2})) + gzip(kSixPixels), 3);
  EXPECT_THAT(array.values, ElementsAre(1, 2, 3, 4, 5, 255));
}

TEST(Idx, ReadsIdsOfOneTwoAndFourBytes) {
  const TempFolder folder;
  EXPECT_THAT(read_ids(folder.write("1", idx_header({2}) + Bytes{7, '\xff'}), 2),
              ElementsAre(7, 255));
  EXPECT_THAT(read_ids(folder.write("2", idx_header({2}, 0x0B) + Bytes{1, 2, '\xff', '\xff'}), 2),
              ElementsAre(258, -1));
  EXPECT_THAT(read_ids(folder.write("4", idx_header({1}, 0x0C) + Bytes{1, 2, 3, 4}), 1),
              ElementsAre(0x01020304));
}

TEST(Idx, ReadsSignedBytesAndFloats) {
  EXPECT_THAT(integers(parse(idx_header({3}, 0x09) + Bytes{1, '\x80', '\xff'}, 1)),
              ElementsAre(1, -128, -1));
  const Bytes singles("\x3f\x80\0\0\xc0\x49\x0f\xdb\x7f\x80\0\0", 12);
  EXPECT_THAT(floats(parse(idx_header({1, 3}, 0x0D) + singles, 2)),
              ElementsAre(1.0f, -3.1415927f, std::numeric_limits<float>::infinity()));
  const Bytes wide("\x3f\xb9\x99\x99\x99\x99\x99\x9a\xff\xef\xff\xff\xff\xff\xff\xff", 16);
  EXPECT_THAT(doubles(parse(idx_header({2}, 0x0E) + wide, 1)),
              ElementsAre(0.1, std::numeric_limits<double>::lowest()));
}

TEST(Idx, LabelsAreNotFloats) {
  const TempFolder folder;
  const auto path = folder.write("labels", idx_header({1}, 0x0D) + Bytes(4, 0));
  EXPECT_THAT(message_of<DataError>([&] { read_ids(path, 1); }),
              AllOf(HasSubstr("labels: "), HasSubstr("must be integers")));
}

TEST(Idx, ReadsMoreThanOneChunk) {
  Bytes bytes = idx_header({300000});
  for (int n = 0; n < 300000; ++n) bytes.push_back(char(n * 7 + n / 256));
  for (const IdxArray& array : {parse(bytes, 1), parse(gzip(bytes), 1)})
    EXPECT_EQ(Bytes(array.values.begin(), array.values.end()), bytes.substr(8));
}

struct BadFile {
  const char* name;
  Bytes bytes;
  std::size_t rank;
  const char* reason;

  friend void PrintTo(const BadFile& file, std::ostream* out) { *out << file.name; }
};

class BadIdx : public testing::TestWithParam<BadFile> {};

TEST_P(BadIdx, IsRefusedWithItsNameAndTheReason) {
  const BadFile& file = GetParam();
  EXPECT_THAT(message_of<DataError>([&] { parse(file.bytes, file.rank); }),
              AllOf(HasSubstr("some.idx: "), HasSubstr(file.reason)));
}

const Bytes kGood = idx_header({3, 1, 2}) + kSixPixels;
const Bytes kGoodPacked = gzip(kGood);

Bytes with_byte(Bytes bytes, std::size_t place, char value) {
  bytes[place] = value;
  return bytes;
}

INSTANTIATE_TEST_SUITE_P(
    Case, BadIdx,
    testing::Values(
        BadFile{"Empty", "", 3, "too short"},  //
        BadFile{"OnlyHalfAMagic", kGood.substr(0, 3), 3, "too short"},
        BadFile{"TruncatedHeader", kGood.substr(0, 9), 3, "inside its IDX header"},
        BadFile{"TruncatedValues", kGood.substr(0, 18), 3, "ends after 2 of its 6 bytes"},
        BadFile{"TruncatedByOne", idx_header({9}) + Bytes(8, 1), 1, "ends after 8 of its 9 bytes"},
        BadFile{"TruncatedGzip", kGoodPacked.substr(0, kGoodPacked.size() - 12), 3, "truncated"},
        BadFile{"TruncatedGzipTrailer", kGoodPacked.substr(0, kGoodPacked.size() - 1), 3,
                "truncated"},
        BadFile{"OnlyGzipMagic", "\x1f\x8b", 3, "truncated"},
        BadFile{"GzipOfTooFewValues", gzip(kGood.substr(0, 18)), 3, "ends after 2 of its 6 bytes"},
        BadFile{"WrongGzipChecksum",
                with_byte(kGoodPacked, kGoodPacked.size() - 8, char(~kGoodPacked.end()[-8])), 3,
                "gzip data are damaged"},
        BadFile{"DamagedGzip", with_byte(kGoodPacked, 10, '\xff'), 3, "gzip data are damaged"},
        BadFile{"TrailingByte", kGood + "x", 3, "continues after the 3 x 1 x 2 values"},
        BadFile{"TrailingByteInGzip", gzip(kGood + "x"), 3, "continues after the 3 x 1 x 2 values"},
        BadFile{"TrailingBytesAfterGzip", kGoodPacked + "xyz", 3, "foreign bytes after the gzip"},
        BadFile{"NotIdx", "\x89PNG\r\n....", 3, "begins with 89 50"},
        BadFile{"TruncatedFloats", idx_header({3}, 0x0E) + Bytes(23, 0), 1,
                "ends after 23 of its 24 bytes"},
        BadFile{"TypeOfAHole", idx_header({3, 1, 2}, 0x0A) + kSixPixels, 3, "type 0x0a"},
        BadFile{"UnknownType", idx_header({3, 1, 2}, 0x00) + kSixPixels, 3, "type 0x00"},
        BadFile{"WrongRank", idx_header({6}) + kSixPixels, 3, "has 1 dimensions, and 3"},
        BadFile{"RankZero", idx_header({}) + "x", 3, "has 0 dimensions, and 3"},
        BadFile{"RankOfFourDozen", Bytes("\0\0\x08\x30", 4) + Bytes(200, 1), kAnyRank,
                "has 48 dimensions, and at most 8"},
        BadFile{"ZeroCount", idx_header({0, 28, 28}), 3, "dimension 1 of 3 is zero"},
        BadFile{"ZeroWidth", idx_header({5, 28, 0}), 3, "dimension 3 of 3 is zero"},
        BadFile{"ProductOverflows64Bits",  // 2^22 * 2^21 * 2^21 = 2^64, which wraps to 0
                idx_header({1u << 22, 1u << 21, 1u << 21}), 3, "more than the file can hold"},
        BadFile{"LargestDimensions", idx_header({0x7fffffff, 0x7fffffff, 0x7fffffff}) + kSixPixels,
                3, "more than the file can hold"},
        BadFile{"NegativeCount", idx_header({0xffffffff, 1, 2}) + kSixPixels, 3,
                "dimension 1 of 3 is 4294967295"},
        BadFile{"NegativeWidth", idx_header({3, 1, 0x80000000}) + kSixPixels, 3,
                "dimension 3 of 3 is 2147483648"},
        BadFile{"LargerThanTheFile", idx_header({3, 28, 28}) + kSixPixels, 3,
                "more than the file can hold"},
        BadFile{"LargerThanGzipCanExpandTo", gzip(idx_header({60000, 28, 28}) + kSixPixels), 3,
                "more than the file can hold"},
        BadFile{"GzipBomb", gzip(idx_header({3, 1, 2}) + Bytes(5'000'000, 0)), 3,
                "continues after the 3 x 1 x 2 values"}),
    [](const auto& bad) { return bad.param.name; });

// A stream buffer that counts what is read of it.
class CountingBuffer : public std::stringbuf {
 public:
  using std::stringbuf::stringbuf;
  std::streamsize taken = 0;

 protected:
  std::streamsize xsgetn(char* out, std::streamsize count) override {
    const std::streamsize got = std::stringbuf::xsgetn(out, count);
    taken += got;
    return got;
  }
};

TEST(Idx, AGzipBombIsLeftAtTheFirstByteTooMany) {
  const Bytes bomb = gzip(idx_header({6})) + [] {
    Bytes members;
    for (int n = 0; n < 1000; ++n) members += gzip(Bytes(100'000, 'x'));
    return members;
  }();
  CountingBuffer buffer(bomb);
  std::istream in(&buffer);
  EXPECT_THROW(parse_idx(in, "bomb", 1), DataError);
  EXPECT_LT(buffer.taken, 70'000) << "of " << bomb.size();
}

// If 1032 times the packed size is more, 1 GiB is the limit.
TEST(Idx, MoreThanAGibibyteIsNotUnpacked) {
  const Bytes start = idx_header({1 << 20, 1 << 11}, 0x08);
  Bytes noise;
  for (std::uint32_t n = 1; noise.size() < (3 << 20); n = n * 1664525 + 1013904223)
    noise.push_back(char(n >> 24));
  EXPECT_THAT(message_of<DataError>([&] { parse(gzip(start + noise), 2); }),
              AllOf(HasSubstr("1048576 x 2048 values"), HasSubstr("1 GiB"), HasSubstr("gunzip")));
}

TEST(Idx, TheNameInAGzipHeaderIsNotUsed) {
  const TempFolder folder;
  const Bytes named = Bytes("\x1f\x8b\x08\x08\0\0\0\0\0\3", 10) + "../outside" + Bytes(1, '\0') +
                      kGoodPacked.substr(10);
  EXPECT_EQ(read_images(folder.write("in/named.gz", named)).count, 3);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "outside"));
}

TEST(ByteReader, TakesMemoryAsBytesArrive) {
  std::istringstream in(gzip(Bytes(1000, 'x')));
  ByteReader reader(in, "small");
  const auto bytes = reader.read_up_to(std::uint64_t(1) << 40);
  EXPECT_EQ(bytes.size(), 1000u);
  EXPECT_LT(bytes.capacity(), 1'000'000u);
}

TEST(Idx, ADirectoryIsNotAFile) {
  const TempFolder folder;
  EXPECT_THAT(message_of<DataError>([&] { read_images(folder.path()); }),
              AllOf(HasSubstr(folder.path().string()), HasSubstr("is not a file")));
}

TEST(Idx, PixelsMustBeBytes) {
  const TempFolder folder;
  const auto path = folder.write("wide", idx_header({1, 1, 1}, 0x0C) + Bytes(4, 0));
  EXPECT_THAT(message_of<DataError>([&] { read_images(path); }), HasSubstr("unsigned bytes"));
}

TEST(Idx, AMissingFileIsNamedWithWhatToDo) {
  const TempFolder folder;
  const auto message = message_of<DataError>([&] {
    find_idx(folder.path() / "mnist", {"a", "b"});
  });
  for (const char* part : {"mnist/a,", "mnist/a.gz", "mnist/b,", "mnist/b.gz", "--data",
                           "SFNN_DATA", "has mnist in it"})
    EXPECT_THAT(message, HasSubstr(part));
}

TEST(Idx, ThePlainFileGoesBeforeThePackedOne) {
  const TempFolder folder;
  folder.write("a.gz", "");
  EXPECT_EQ(find_idx(folder.path(), {"a"}).filename(), "a.gz");
  folder.write("a", "");
  EXPECT_EQ(find_idx(folder.path(), {"a"}).filename(), "a");
}

}  // namespace
}  // namespace sfnn::test

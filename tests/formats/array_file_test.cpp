// Arrays in files: every type of number, rows where they are, and files that change under a reader.
#include "host/formats/array_file.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>

#include "host/base/error.hpp"
#include "host/formats/data_formats.hpp"
#include "host/formats/npy.hpp"
#include "tests/support/idx_files.hpp"

namespace sfnn::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
SharedSource source_of(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return std::make_shared<MemorySource>("some.file", std::move(bytes));
}

template <class T>
std::vector<float> floats_of(NumberType type, const std::vector<T>& values) {
  const ArrayFile file(source_of(values), {.type = type, .shape = {std::int64_t(values.size())}});
  std::vector<float> read(values.size());
  file.read(0, file.rows(), reinterpret_cast<std::byte*>(read.data()));
  return read;
}

TEST(ArrayFile, EveryTypeIsReadAsItsValue) {
  EXPECT_THAT(floats_of<std::int8_t>(NumberType::i8, {-128, 127}), ElementsAre(-128, 127));
  EXPECT_THAT(floats_of<std::uint16_t>(NumberType::u16, {0, 65535}), ElementsAre(0, 65535));
  EXPECT_THAT(floats_of<std::int16_t>(NumberType::i16, {-2, 300}), ElementsAre(-2, 300));
  EXPECT_THAT(floats_of<std::uint32_t>(NumberType::u32, {4000000000u}), ElementsAre(4000000000.0f));
  EXPECT_THAT(floats_of<std::int32_t>(NumberType::i32, {-7}), ElementsAre(-7));
  EXPECT_THAT(floats_of<std::uint64_t>(NumberType::u64, {1ull << 63}), ElementsAre(0x1p63f));
  EXPECT_THAT(floats_of<std::int64_t>(NumberType::i64, {-5}), ElementsAre(-5));
  EXPECT_THAT(floats_of<float>(NumberType::f32, {0.1f}), ElementsAre(0.1f));
  EXPECT_THAT(floats_of<double>(NumberType::f64, {0.1}), ElementsAre(0.1f));
}

TEST(ArrayFile, HalvesOfEveryKind) {
  // 1, -2, the largest, the smallest normal one, the smallest of all, infinity
  const auto read = floats_of<std::uint16_t>(
      NumberType::f16, {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x7c00, 0x8000});
  EXPECT_THAT(read, ElementsAre(1, -2, 65504, 0x1p-14f, 0x1p-24f, HUGE_VALF, 0));
  EXPECT_TRUE(std::signbit(read.back()));
  EXPECT_TRUE(std::isnan(floats_of<std::uint16_t>(NumberType::f16, {0x7e00})[0]));
}

TEST(ArrayFile, BytesStayBytesAndBoolsAreZeroOrOne) {
  const std::vector<std::uint8_t> stored{0, 1, 2, 255};
  for (const NumberType type : {NumberType::u8, NumberType::boolean}) {
    const ArrayFile file(source_of(stored), {.type = type, .shape = {2, 2}});
    ASSERT_TRUE(file.holds_bytes());
    std::vector<std::uint8_t> row(2);
    file.read(1, 1, reinterpret_cast<std::byte*>(row.data()));
    EXPECT_EQ(row, type == NumberType::u8 ? (std::vector<std::uint8_t>{2, 255})
                                          : (std::vector<std::uint8_t>{1, 1}));
  }
}

TEST(ArrayFile, OtherByteOrdersAreTurned) {
  const ArrayFile file(source_of<std::uint8_t>({0x3f, 0x80, 0, 0}),
                       {.type = NumberType::f32, .big_endian = true, .shape = {1}});
  float read = 0;
  file.read(0, 1, reinterpret_cast<std::byte*>(&read));
  EXPECT_EQ(read, 1);
}

class ChangingFile : public testing::Test {
 protected:
  ChangingFile() { write_npy(path_, {{1000, 100}, std::vector<float>(100000, 1.5f)}); }
  std::vector<float> read(const ArrayFile& file, std::int64_t row) {
    std::vector<float> values(100);
    file.read(row, 1, reinterpret_cast<std::byte*>(values.data()));
    return values;
  }
  const TempFolder folder_;
  const fs::path path_ = folder_.path() / "x.npy";
};

// A mapped file would end the process here.
TEST_F(ChangingFile, OneThatIsCutIsASentence) {
  const ArrayFile file = open_array(path_);
  EXPECT_EQ(read(file, 999), std::vector<float>(100, 1.5f));
  fs::resize_file(path_, 5000);
  EXPECT_THAT(message_of<DataError>([&] { read(file, 999); }),
              AllOf(HasSubstr("x.npy"), HasSubstr("cut while in use"), HasSubstr("5000")));
  EXPECT_THAT(message_of<DataError>([&] { file.require_unchanged(); }), HasSubstr("changed"));
}

TEST_F(ChangingFile, OneThatIsWrittenIsASentence) {
  const ArrayFile file = open_array(path_);
  file.require_unchanged();
  fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::seconds(2));
  EXPECT_THAT(message_of<DataError>([&] { file.require_unchanged(); }),
              HasSubstr("was changed while in use"));
}

TEST_F(ChangingFile, OneThatIsReplacedIsReadOn) {
  const ArrayFile file = open_array(path_);
  write_npy(path_, {{1}, std::vector<float>{0}});  // another file of this name
  file.require_unchanged();
  EXPECT_EQ(read(file, 999), std::vector<float>(100, 1.5f));
}

}  // namespace
}  // namespace sfnn::test

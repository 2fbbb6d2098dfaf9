// The table of data formats: how files are recognised, and what every row must have beside it.
#include "host/formats/data_formats.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "host/base/error.hpp"
#include "host/formats/npy.hpp"
#include "tests/support/idx_files.hpp"

namespace sfnn::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

const fs::path kSource = SFNN_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The memory bounds of all are tried in loader_memory_test.cpp, and formats_test.py has a writer of
// each; both go over the table and fail if a row is missing.
TEST(DataFormats, EachHasAFuzzTargetWithACorpus) {
  const std::string targets = text_of(kSource / "tests/fuzz/CMakeLists.txt");
  for (const DataFormat& format : data_formats()) {
    const std::string name(format.name);
    EXPECT_TRUE(fs::exists(kSource / "tests/fuzz" / (name + "_fuzz.cpp"))) << name;
    EXPECT_THAT(targets, testing::ContainsRegex("set\\(targets [^)]*\\b" + name + "\\b")) << name;
    const fs::path corpus = kSource / "tests/fuzz/corpus" / name;
    EXPECT_TRUE(fs::exists(corpus) && !fs::is_empty(corpus)) << name;
  }
}

TEST(DataFormats, AreRecognisedByTheirBytesAndNotByTheirNames) {
  const TempFolder folder;
  write_npy(folder.path() / "data.idx", {{2, 3}, std::vector<double>(6, 2)});
  EXPECT_EQ(open_array(folder.path() / "data.idx").type(), NumberType::f64);
  const fs::path idx = folder.write("plain.npy", idx_header({2, 2}) + Bytes(4, 'x'));
  EXPECT_EQ(open_array(idx).type(), NumberType::u8);
  EXPECT_FALSE(open_array(idx).in_memory());
  const fs::path packed = folder.write("packed", gzip(idx_header({2, 2}) + Bytes(4, 'x')));
  EXPECT_TRUE(open_array(packed).in_memory());
  EXPECT_EQ(open_array(packed).cols(), 2);
}

TEST(DataFormats, WhatIsNotReadSaysWhatToType) {
  const TempFolder folder;
  const auto refused = [&](const std::string& name) {
    return message_of<DataError>([&] { open_array(folder.write(name, "\x7f something else")); });
  };
  EXPECT_THAT(refused("a.h5"),
              AllOf(HasSubstr("a.h5: is none of npy, npz, png, idx, csv"),
                    HasSubstr("h5py.File('a.h5')"), HasSubstr("np.save('a.npy', a)")));
  EXPECT_THAT(refused("b.pt"), HasSubstr("torch.load('b.pt')"));
  EXPECT_THAT(refused("c.what"), HasSubstr("np.save('c.npy', a)"));
  EXPECT_THAT(refused("d.npy"), HasSubstr("is not a .npy file"));
}

}  // namespace
}  // namespace sfnn::test

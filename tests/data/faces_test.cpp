// Faces: inputs are subjects' means, and no subject is in two parts.
#include "host/data/faces.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "host/base/error.hpp"
#include "tests/support/idx_files.hpp"

namespace sfnn::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// 2x1 images: pixel 0 is ten times the subject, pixel 1 the image's number within its subject.
// Subjects take turns, so that rows of a subject are not neighbours; `faces[s]` images of subject
// s.
class TinyFaces {
 public:
  explicit TinyFaces(std::vector<int> faces, int id_type = 0x08) {
    Bytes pixels, ids;
    std::uint32_t count = 0;
    for (int i = 0; i < 20; ++i)
      for (int s = 0; s < int(faces.size()); ++s) {
        if (i >= faces[s]) continue;
        pixels += Bytes{char(10 * s), char(i)};
        if (id_type == 0x0C) ids += Bytes{0, 0, 1};  // subjects 256 ..
        ids.push_back(char(s));
        ++count;
      }
    folder.write("faces/tiny/images-idx3-ubyte", idx_header({count, 2, 1}) + pixels);
    folder.write(
        id_type == 0x08 ? "faces/tiny/subjects-idx1-ubyte" : "faces/tiny/subjects-idx1-int",
        idx_header({count}, id_type) + ids);
    options.set = "faces/tiny";
    options.root = folder.path();
    options.test_subjects = 2;
  }

  const TempFolder folder;
  DataOptions options;
};

std::multiset<int> subjects_of(const Examples& examples) {
  std::multiset<int> subjects;
  for (std::int64_t n = 0; n < examples.count; ++n)
    subjects.insert(int(std::lround(examples.y.at(n, 0) * 255)) / 10);
  return subjects;
}

TEST(Faces, InputIsTheSubjectsMeanAndOutputEachImage) {
  const TinyFaces tiny({10, 12, 10, 10});
  const DataSet data = load_data(tiny.options);
  EXPECT_EQ(data.output, Output::gaussian);
  EXPECT_EQ(data.D_in, 2);
  EXPECT_EQ(data.y_image.height, 2);
  for (const Examples* part : {&data.train, &data.test})
    for (std::int64_t n = 0; n < part->count; ++n) {
      const int subject = int(std::lround(part->y.at(n, 0) * 255)) / 10;
      EXPECT_FLOAT_EQ(part->x.at(n, 0), float(10 * subject) / 255);
      EXPECT_FLOAT_EQ(part->x.at(n, 1), (subject == 1 ? 5.5f : 4.5f) / 255);
      EXPECT_LE(part->y.at(n, 1), 11.0f / 255);
    }
}

TEST(Faces, WholeSubjectsAreHeldOutForTestAndValidation) {
  TinyFaces tiny({10, 12, 10, 10, 11, 10, 10});
  tiny.options.valid = 11;
  const DataSet data = load_data(tiny.options);
  EXPECT_EQ(data.train.count + data.valid.count + data.test.count, 73);
  std::set<int> together;
  std::size_t distinct = 0;
  for (const Examples* part : {&data.train, &data.valid, &data.test}) {
    const auto subjects = subjects_of(*part);
    const std::set<int> names(subjects.begin(), subjects.end());
    distinct += names.size();
    together.insert(names.begin(), names.end());
  }
  EXPECT_EQ(distinct, 7u);
  EXPECT_EQ(together.size(), 7u);
  EXPECT_GE(data.valid.count, 11);
  EXPECT_LT(data.valid.count, 11 + 12);
}

TEST(Faces, TheDataSeedDrawsTheSubjects) {
  TinyFaces tiny(std::vector<int>(20, 10));
  const auto first = subjects_of(load_data(tiny.options).test);
  EXPECT_EQ(subjects_of(load_data(tiny.options).test), first);
  tiny.options.seed = 1;
  EXPECT_NE(subjects_of(load_data(tiny.options).test), first);
}

TEST(Faces, SubjectsWithFewImagesAreLeftOut) {
  const TinyFaces tiny({10, 9, 10, 1, 10});
  const DataSet data = load_data(tiny.options);
  auto subjects = subjects_of(data.train);
  subjects.merge(subjects_of(data.test));
  EXPECT_EQ(subjects.size(), 30u);
  EXPECT_EQ(subjects.count(1) + subjects.count(3), 0u);
}

TEST(Faces, LimitsTakeTheFirstOfTheFile) {
  TinyFaces tiny({10, 10, 10, 10});
  tiny.options.limit = 5;
  tiny.options.test_limit = 3;
  const DataSet data = load_data(tiny.options);
  EXPECT_EQ(data.train.count, 5);
  EXPECT_EQ(data.test.count, 3);
  EXPECT_FLOAT_EQ(data.train.y.at(4, 1), 2.0f / 255);  // the third image of two subjects in turn
}

TEST(Faces, SubjectNumbersMayBeWide) {
  const TinyFaces tiny({10, 10, 10}, 0x0C);
  EXPECT_EQ(load_data(tiny.options).test.count, 20);
}

TEST(Faces, WhatCannotBeIsNamed) {
  TinyFaces tiny({10, 10, 10, 5});
  tiny.options.test_subjects = 3;
  EXPECT_THAT(message_of<ConfigError>([&] { load_data(tiny.options); }),
              AllOf(HasSubstr("data.test_subjects = 3"), HasSubstr("3 subjects")));
  tiny.options.test_subjects = 0;
  EXPECT_THROW(load_data(tiny.options), ConfigError);
  tiny.options.test_subjects = 2;
  tiny.options.valid = 1;
  EXPECT_THAT(message_of<ConfigError>([&] { load_data(tiny.options); }),
              HasSubstr("data.valid = 1 leaves none of the 10 faces"));
  tiny.folder.write("faces/tiny/subjects-idx1-ubyte", idx_header({2}) + "ab");
  EXPECT_THAT(message_of<DataError>([&] { load_data(tiny.options); }),
              HasSubstr("2 labels do not match 35 images"));
}

}  // namespace
}  // namespace sfnn::test

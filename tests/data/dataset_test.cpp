// load_data: splits, limits, binarisation, centring, and what it refuses.
#include "host/data/dataset.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "host/base/error.hpp"
#include "host/data/split.hpp"
#include "host/data/targets.hpp"
#include "tests/support/idx_files.hpp"

namespace sfnn::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const std::vector<std::uint8_t>& bytes(const Columns& columns) {
  return std::get<std::vector<std::uint8_t>>(columns.values);
}

// A family member of 4x3 images: pixel i of training image n is 100 + n + 20 i / 11, of test image
// n the same from 200 down; labels count up.
class TinyMnist {
 public:
  TinyMnist(int train_count = 8, int test_count = 5) {
    write("train", train_count, 100, 1);
    write("t10k", test_count, 200, -1);
  }

  DataOptions options(Task task = Task::halves) const {
    DataOptions options;
    options.set = "tiny";
    options.task = task;
    options.root = folder.path();
    return options;
  }

  const TempFolder folder;

 private:
  void write(const std::string& part, int count, int start, int sign) {
    Bytes images = idx_header({std::uint32_t(count), 4, 3}),
          labels = idx_header({std::uint32_t(count)});
    for (int n = 0; n < count; ++n) {
      for (int i = 0; i < 12; ++i) images.push_back(char(start + sign * (n + 20 * i / 11)));
      labels.push_back(char(n % 10));
    }
    folder.write("tiny/" + part + "-images-idx3-ubyte", images);
    folder.write("tiny/" + part + "-labels-idx1-ubyte.gz", gzip(labels));
  }
};

TEST(Halves, GreyImagesAreCutInTwo) {
  const TinyMnist tiny;
  DataOptions options = tiny.options();
  options.binarize = Binarize::none;
  const DataSet data = load_data(options);
  EXPECT_EQ(data.train.count, 8);
  EXPECT_EQ(data.test.count, 5);
  EXPECT_EQ(data.D_in, 6);
  EXPECT_EQ(data.D_out, 6);
  EXPECT_EQ(data.output, Output::bernoulli);
  EXPECT_EQ(data.x_image.height, 2);
  EXPECT_EQ(data.y_image.width, 3);
  EXPECT_EQ(data.name, "tiny halves, grey");
  EXPECT_FLOAT_EQ(data.train.x.at(0, 0), 100 / 255.0f);
  EXPECT_FLOAT_EQ(data.train.y.at(7, 5), 127 / 255.0f);
  EXPECT_FLOAT_EQ(data.test.x.at(4, 0), 196 / 255.0f);
  EXPECT_TRUE(data.units.x_mean.empty());
}

TEST(Generate, WholePicturesAndNoInput) {
  const TinyMnist tiny;
  DataOptions options = tiny.options(Task::generate);
  options.binarize = Binarize::none;
  const DataSet data = load_data(options);
  EXPECT_EQ(data.D_in, 0);
  EXPECT_EQ(data.D_out, 12);
  EXPECT_EQ(data.train.count, 8);
  EXPECT_FLOAT_EQ(data.train.y.at(7, 11), 127 / 255.0f);
  EXPECT_EQ(data.y_image, (ImageShape{4, 3}));
  EXPECT_EQ(data.name, "tiny generated, grey");
  options.binarize = Binarize::epoch;
  EXPECT_TRUE(load_data(options).binarize_train);
  const DataSet glyphs = load_data({.task = Task::generate, .limit = 20, .test_limit = 5});
  EXPECT_EQ(glyphs.D_in, 0);
  EXPECT_EQ(glyphs.train.y.cols, 784);
  EXPECT_EQ(glyphs.y_image, (ImageShape{28, 28}));
}

TEST(Halves, OfAnOddHeightTheLowerIsTheLarger) {
  const TempFolder folder;
  for (const char* part : {"train", "t10k"})
    folder.write(std::string("odd/") + part + "-images-idx3-ubyte", idx_header({1, 3, 1}) + "abc");
  DataOptions options;
  options.set = "odd";
  options.root = folder.path();
  const DataSet data = load_data(options);
  EXPECT_EQ(data.D_in, 1);
  EXPECT_EQ(data.D_out, 2);
}

TEST(Split, LimitsTheTrainingExamplesBesideTheValidationOnes) {
  const TinyMnist tiny;
  DataOptions options = tiny.options();
  options.binarize = Binarize::none;
  options.limit = 6;
  options.valid = 2;
  options.test_limit = 3;
  const DataSet data = load_data(options);
  EXPECT_EQ(data.train.count, 6);
  EXPECT_EQ(data.valid.count, 2);
  EXPECT_EQ(data.test.count, 3);
  std::vector<int> firsts;
  for (const Examples* part : {&data.train, &data.valid}) {
    std::vector<int> rows;
    for (std::int64_t n = 0; n < part->count; ++n)
      rows.push_back(int(std::lround(part->x.at(n, 0) * 255)) - 100);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    firsts.insert(firsts.end(), rows.begin(), rows.end());
  }
  EXPECT_EQ(std::set<int>(firsts.begin(), firsts.end()).size(), 8u) << "none is in both";
  options.limit = 1;
  const DataSet smaller = load_data(options);
  EXPECT_EQ(smaller.train.count, 1);
  EXPECT_EQ(smaller.valid.x.values, data.valid.x.values) << "the same, whatever the limit";
}

TEST(Split, FollowsTheDataSeedAlone) {
  DataOptions options;
  options.valid = 100;
  const Split split = split_rows(1000, options);
  EXPECT_THAT(split.valid, SizeIs(100));
  EXPECT_EQ(split_rows(1000, options).valid, split.valid);
  options.seed = 1;
  EXPECT_NE(split_rows(1000, options).valid, split.valid);
}

TEST(Split, ALimitBeyondTheFileTakesItAll) {
  DataOptions options;
  options.limit = 50;
  EXPECT_THAT(split_rows(8, options).train, SizeIs(8));
}

TEST(Permutation, HoldsEveryIndexOnceAndEachPlaceIsUniform) {
  const auto order = permutation({3, 0, kSitePermutation}, 1000);
  std::vector<std::int32_t> sorted(order);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, all_rows(1000));
  EXPECT_NE(order, sorted);
  // The place of index 0 over 4000 permutations of 8: each 500 +- 4.5 sigma, sigma = 20.9.
  std::vector<int> places(8);
  for (std::uint32_t step = 0; step < 4000; ++step) {
    const auto eight = permutation({3, step, kSitePermutation}, 8);
    ++places[std::find(eight.begin(), eight.end(), 0) - eight.begin()];
  }
  EXPECT_THAT(places, Each(testing::AllOf(testing::Gt(500 - 94), testing::Lt(500 + 94))));
}

// The bits by their definition: u <= value, u drawn by (data.seed, part, site, row in the file).
void expect_binarized(const Columns& bits, const Columns& grey,
                      const std::vector<std::int32_t>& rows, std::uint32_t site,
                      std::uint32_t part) {
  ASSERT_EQ(bits.scale, 1);
  for (std::size_t n = 0; n < rows.size(); ++n)
    for (std::int64_t i = 0; i < bits.cols; ++i) {
      const float u = uniform({9, part, site}, std::uint32_t(rows[n]), 0, i);
      EXPECT_EQ(bits.at(std::int64_t(n), i), float(u <= grey.at(std::int64_t(n), i)));
    }
}

TEST(Binarize, OnceAndEpochDrawByTheRowInTheFile) {
  const TinyMnist tiny(60, 40);
  DataOptions options = tiny.options();
  options.seed = 9;
  options.valid = 20;
  const Split split = split_rows(60, options);
  options.binarize = Binarize::none;
  const DataSet grey = load_data(options);
  options.binarize = Binarize::once;
  const DataSet once = load_data(options);
  options.binarize = Binarize::epoch;
  const DataSet epoch = load_data(options);

  expect_binarized(once.train.x, grey.train.x, split.train, kSiteBinarizeInput, kTrainPart);
  expect_binarized(once.train.y, grey.train.y, split.train, kSiteBinarizeTarget, kTrainPart);
  expect_binarized(once.valid.y, grey.valid.y, split.valid, kSiteBinarizeTarget, kTrainPart);
  expect_binarized(once.test.x, grey.test.x, all_rows(40), kSiteBinarizeInput, kTestPart);
  expect_binarized(once.test.y, grey.test.y, all_rows(40), kSiteBinarizeTarget, kTestPart);
  EXPECT_FALSE(once.binarize_train);

  EXPECT_TRUE(epoch.binarize_train);
  EXPECT_EQ(bytes(epoch.train.x), bytes(grey.train.x));
  EXPECT_EQ(epoch.train.x.scale, kGreyScale);
  EXPECT_EQ(bytes(epoch.valid.x), bytes(once.valid.x));
  EXPECT_EQ(bytes(epoch.test.y), bytes(once.test.y));
}

TEST(Binarize, BlackAndWhiteAreCertain) {
  const TempFolder folder;
  for (const char* part : {"train", "t10k"})
    folder.write(
        std::string("bw/") + part + "-images-idx3-ubyte", idx_header({500, 2, 2}) + [] {
          Bytes pixels;
          for (int n = 0; n < 500; ++n) pixels += Bytes{0, '\xff', '\xff', 0};
          return pixels;
        }());
  DataOptions options;
  options.set = "bw";
  options.root = folder.path();
  const DataSet data = load_data(options);
  EXPECT_THAT(data.train.x.mean(), ElementsAre(0, 1));
  EXPECT_THAT(data.test.y.mean(), ElementsAre(1, 0));
}

TEST(Center, TakesTheMeanOfTheTrainingInputs) {
  const TinyMnist tiny;
  DataOptions options = tiny.options(Task::classes);
  options.center = true;
  options.limit = 3;
  const DataSet data = load_data(options);
  ASSERT_THAT(data.units.x_mean, SizeIs(12));
  EXPECT_FLOAT_EQ(data.units.x_mean[0], 101 / 255.0f);
  EXPECT_FLOAT_EQ(data.units.x_mean[11], 121 / 255.0f);
}

TEST(Classes, GiveAllPixelsAndTheLabel) {
  const TinyMnist tiny;
  DataOptions options = tiny.options(Task::classes);
  options.valid = 3;
  const DataSet data = load_data(options);
  EXPECT_EQ(data.D_in, 12);
  EXPECT_EQ(data.D_out, 10);
  EXPECT_EQ(data.output, Output::softmax);
  EXPECT_EQ(data.train.y.cols, 1);
  for (const Examples* part : {&data.train, &data.valid})
    for (std::int64_t n = 0; n < part->count; ++n)
      EXPECT_EQ(part->y.at(n, 0), std::round(part->x.at(n, 0) * 255) - 100);
}

std::string data_error(const DataOptions& options) {
  return message_of<DataError>([&] { load_data(options); });
}
std::string config_error(const DataOptions& options) {
  return message_of<ConfigError>([&] { load_data(options); });
}

TEST(Classes, RefuseALabelAboveNine) {
  const TinyMnist tiny(3, 3);
  tiny.folder.write("tiny/t10k-labels-idx1-ubyte.gz", idx_header({3}) + Bytes{1, 10, 2});
  EXPECT_THAT(data_error(tiny.options(Task::classes)),
              AllOf(HasSubstr("t10k-labels-idx1-ubyte.gz"), HasSubstr("label 10 of example 1")));
}

TEST(Classes, RefuseANegativeLabel) {
  const TinyMnist tiny(3, 3);
  tiny.folder.write("tiny/t10k-labels-idx1-ubyte.gz",
                    idx_header({3}, 0x0B) + Bytes{0, 1, '\xff', '\xff', 0, 2});
  EXPECT_THAT(data_error(tiny.options(Task::classes)), HasSubstr("label -1 of example 1"));
}

TEST(Classes, RefuseCountsThatDiffer) {
  const TinyMnist tiny(3, 3);
  tiny.folder.write("tiny/train-labels-idx1-ubyte.gz", idx_header({2}) + Bytes{1, 2});
  EXPECT_THAT(data_error(tiny.options(Task::classes)), HasSubstr("2 labels do not match 3 images"));
}

TEST(Halves, RefuseTestImagesOfAnotherSize) {
  const TinyMnist tiny;
  tiny.folder.write("tiny/t10k-images-idx3-ubyte", idx_header({1, 3, 4}) + Bytes(12, 0));
  EXPECT_THAT(data_error(tiny.options()), HasSubstr("images are 3 x 4, but 4 x 3 in"));
}

// As a fetch leaves it that was stopped after the first file.
TEST(Halves, ASetFetchedInPartSaysHowToCompleteIt) {
  const TempFolder folder;
  DataOptions options;
  options.root = folder.path();
  for (const char* set : {"mnist", "poems"})
    folder.write(std::string(set) + "/train-images-idx3-ubyte", idx_header({1, 2, 2}) + "abcd");
  options.set = "mnist";
  EXPECT_THAT(data_error(options), AllOf(HasSubstr("mnist/t10k-images-idx3-ubyte.gz"),
                                         HasSubstr("sfnn data mnist --to " + options.root)));
  options.set = "poems";
  EXPECT_EQ(data_error(options).find("sfnn data"), std::string::npos);
}

TEST(Options, ImpossibleOnesAreNamed) {
  const TinyMnist tiny;
  const auto with = [&](auto change) {
    DataOptions options = tiny.options();
    change(options);
    return config_error(options);
  };
  EXPECT_THAT(with([](auto& o) { o.task = Task::denoise; }), HasSubstr("data.task = denoise"));
  EXPECT_THAT(with([](auto& o) { o.limit = -1; }), HasSubstr("data.limit = -1"));
  EXPECT_THAT(with([](auto& o) { o.valid = -1; }), HasSubstr("data.valid = -1"));
  EXPECT_THAT(with([](auto& o) { o.test_limit = -5; }), HasSubstr("data.test_limit = -5"));
  EXPECT_THAT(with([](auto& o) { o.valid = 8; }), HasSubstr("data.valid = 8"));
  EXPECT_THAT(with([](auto& o) { o.binarize = Binarize::epoch, o.task = Task::classes; }),
              HasSubstr("data.binarize = epoch"));
}

class RealData : public testing::Test {
 protected:
  void need(const std::string& set) {
    const char* const root = std::getenv("SFNN_DATA");
    if (!root || !std::filesystem::exists(std::filesystem::path(root) / set))
      GTEST_SKIP() << "set SFNN_DATA to a folder that has " << set << " in it";
    options.set = set;
  }
  DataOptions options;
};

TEST_F(RealData, MnistHasItsKnownMeans) {
  need("mnist");
  if (IsSkipped()) return;
  options.binarize = Binarize::none;
  options.task = Task::classes;
  const DataSet data = load_data(options);
  EXPECT_EQ(data.train.count, 60000);
  EXPECT_EQ(data.test.count, 10000);
  const auto mean = [](const Columns& x) {
    const std::vector<float> columns = x.mean();
    return std::accumulate(columns.begin(), columns.end(), 0.0) / double(columns.size());
  };
  EXPECT_NEAR(mean(data.train.x), 0.130660, 1e-6);
  EXPECT_NEAR(mean(data.test.x), 0.132515, 1e-6);
  EXPECT_EQ(data.train.y.at(0, 0), 5);
  EXPECT_EQ(data.test.y.at(0, 0), 7);
}

TEST_F(RealData, BinarisedMnistHalvesStaySmallAndKeepTheirMean) {
  need("mnist");
  if (IsSkipped()) return;
  options.limit = 10000;
  options.valid = 1000;
  const DataSet data = load_data(options);
  EXPECT_EQ(data.train.count, 10000);
  EXPECT_EQ(bytes(data.train.x).size(), 10000u * 392);
  for (const std::uint8_t bit : bytes(data.test.y)) ASSERT_LE(bit, 1);
  double mean = 0;
  for (const Columns* half : {&data.test.x, &data.test.y})
    for (const float m : half->mean()) mean += m / 784;
  // 7.84 million draws, each of variance below p (1 - p): sigma < 0.00012.
  EXPECT_NEAR(mean, 0.132515, 4.5 * 0.00012);
}

TEST_F(RealData, AttFacesHoldOutWholeSubjects) {
  need("faces/att");
  if (IsSkipped()) return;
  options.valid = 50;
  const DataSet data = load_data(options);
  EXPECT_EQ(data.train.count, 250);
  EXPECT_EQ(data.valid.count, 50);
  EXPECT_EQ(data.test.count, 100);
  EXPECT_EQ(data.D_in, 48 * 48);
  EXPECT_EQ(data.output, Output::gaussian);
}

// Each output by itself: a newcomer that has no case of its own fails here.
TEST(Targets, AreWhatTheOutputCanHaveGiven) {
  for (const OutputRow& row : kOutputs) {
    SCOPED_TRACE(row.name);
    std::vector<float> fit, misfit{NAN, INFINITY, -INFINITY};
    switch (row.id) {
      case Output::softmax:
        fit = {0, 1, 2};
        misfit.insert(misfit.end(), {-1, 3, 0.5f});
        break;
      case Output::bernoulli:
        fit = {0, 0.25f, 1};
        misfit.insert(misfit.end(), {-0.1f, 1.5f});
        break;
      case Output::gaussian:
      case Output::gaussian_learnt:
      case Output::gaussian_each:
      case Output::gaussian_predicted:
        fit = {-1e30f, 0, 7.5f};
        break;
      case Output::poisson:
        fit = {0, 1, 16777216};
        misfit.insert(misfit.end(), {-1, 0.5f, 16777218});
        break;
    }
    EXPECT_EQ(fit.size(), 3u);
    for (const float y : fit) EXPECT_TRUE(is_target(row.id, /*D_out=*/3, y)) << y;
    for (const float y : misfit) EXPECT_FALSE(is_target(row.id, /*D_out=*/3, y)) << y;
    EXPECT_NE(wanted_target(row.id, 3), "");
  }
}

}  // namespace
}  // namespace sfnn::test

// What `sfnn predict` makes of inputs of one's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "host/formats/npy.hpp"
#include "tests/support/trained_program.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

using PredictCommand = TrainedProgram;

TEST_F(PredictCommand, PredictGivesTheProbabilitiesOfClasses) {
  train("digits", "--set data.task=classes --set data.center=true");
  std::vector<float> x(5 * 784);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i * 7919 % 97) / 96;
  write_npy(directory_ / "flat.npy", {{5, 784}, x});
  write_npy(directory_ / "pictures.npy", {{5, 28, 28}, std::vector<double>(x.begin(), x.end())});
  ASSERT_EQ(run("predict digits --input flat.npy --out a.npy").code, 0);
  ASSERT_EQ(run("predict digits --input pictures.npy --out b.npy").code, 0);
  const NpyArray probabilities = read_npy(directory_ / "a.npy");
  EXPECT_EQ(probabilities, read_npy(directory_ / "b.npy"));
  ASSERT_EQ(probabilities.shape, (std::vector<std::int64_t>{5, 6}));
  const auto& p = std::get<std::vector<float>>(probabilities.values);
  for (int n = 0; n < 5; ++n) {
    float sum = 0;
    for (int k = 0; k < 6; ++k) sum += p[n * 6 + k];
    EXPECT_NEAR(sum, 1, 1e-5);
  }

  const Result csv = run("predict digits --input flat.npy --out a.csv");
  ASSERT_EQ(csv.code, 0) << csv.out;
  EXPECT_THAT(file("a.csv"), testing::StartsWith("example,y0,y1,"));
  ASSERT_EQ(run("predict digits --input flat.npy --samples 3 --out classes.npy").code, 0);
  const NpyArray classes = read_npy(directory_ / "classes.npy");
  ASSERT_EQ(classes.shape, (std::vector<std::int64_t>{5, 3}));
  for (const int k : std::get<std::vector<std::int32_t>>(classes.values)) {
    EXPECT_GE(k, 0);
    EXPECT_LT(k, 6);
  }
  ASSERT_EQ(run("predict digits --input flat.npy --samples 3 --out classes.csv").code, 0);
  const std::string lines = file("classes.csv");
  EXPECT_THAT(lines, testing::StartsWith("example,sample,class\n0,0,"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1 + 15);
}

TEST_F(PredictCommand, PredictDrawsPixelsAndTakesGreyBytes) {
  train("halves", "");
  std::vector<std::uint8_t> grey(2 * 392);
  std::vector<float> same(grey.size());
  for (std::size_t i = 0; i < grey.size(); ++i) {
    grey[i] = std::uint8_t(i * 31);
    same[i] = float(grey[i]) / 255;
  }
  write_npy(directory_ / "grey.npy", {{2, 14, 28}, grey});
  write_npy(directory_ / "same.npy", {{2, 392}, same});
  // The same pictures as IDX: big-endian dimensions, then the bytes.
  std::ofstream(directory_ / "grey.idx", std::ios::binary)
      << std::string("\0\0\x08\x03\0\0\0\2\0\0\0\x0e\0\0\0\x1c", 16)
      << std::string(grey.begin(), grey.end());
  for (const char* name : {"grey.npy", "same.npy", "grey.idx"}) {
    const Result result =
        run(std::string("predict halves --input ") + name + " --out " + name + ".out.npy");
    ASSERT_EQ(result.code, 0) << result.out;
  }
  const auto means = [&](const char* name) {
    return std::get<std::vector<float>>(read_npy(directory_ / name).values);
  };
  EXPECT_EQ(means("grey.npy.out.npy"), means("grey.idx.out.npy"));
  EXPECT_THAT(means("grey.npy.out.npy"),
              testing::Pointwise(testing::FloatNear(1e-5f), means("same.npy.out.npy")));

  ASSERT_EQ(run("predict halves --input grey.npy --samples 4 --out bits.npy").code, 0);
  const NpyArray bits = read_npy(directory_ / "bits.npy");
  EXPECT_EQ(bits.shape, (std::vector<std::int64_t>{2, 4, 392}));
  for (const int bit : std::get<std::vector<std::uint8_t>>(bits.values)) EXPECT_LE(bit, 1);
  ASSERT_EQ(run("predict halves --input grey.npy --samples 4 --expected --out e.npy").code, 0);
  EXPECT_TRUE(std::holds_alternative<std::vector<float>>(read_npy(directory_ / "e.npy").values));
}

// Trained on bits that were drawn from pictures: 0 and 1 are bits in any type.
TEST_F(PredictCommand, PredictReadsBitsAsBits) {
  train("halves", "");
  std::vector<std::uint8_t> bits(2 * 392);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = i % 5 < 2;
  write_npy(directory_ / "bytes.npy", {{2, 392}, bits});
  write_npy(directory_ / "floats.npy", {{2, 392}, std::vector<float>(bits.begin(), bits.end())});
  const auto means = [&](const std::string& input) {
    const Result result = run("predict halves --input " + input + " --out out.npy");
    EXPECT_EQ(result.code, 0) << result.out;
    return std::get<std::vector<float>>(read_npy(directory_ / "out.npy").values);
  };
  EXPECT_EQ(means("bytes.npy"), means("floats.npy"));
}

// A row means the same whatever the other rows are, and in any kind of file.
TEST_F(PredictCommand, PredictReadsInputsAsTrainingDid) {
  std::vector<std::uint8_t> grey(40 * 20), bits(40 * 20);
  for (std::size_t i = 0; i < grey.size(); ++i) {
    grey[i] = std::uint8_t(i * 37);
    bits[i] = std::uint8_t(i % 3 == 0);
  }
  write_npy(directory_ / "grey.npy", {{40, 4, 5}, grey});
  write_npy(directory_ / "bits.npy", {{40, 4, 5}, bits});
  write_npy(directory_ / "y.npy", {{40, 2}, std::vector<float>(80, 1)});
  for (const std::string name : {"grey", "bits"}) {
    const Result trained =
        run("train --data . --set data.set=files --set data.train_y=y.npy --set data.test_y=y.npy "
            "--set net.hidden=6s --set train.epochs=1 --out " +
            name + " --set data.train_x=" + name + ".npy --set data.test_x=" + name + ".npy");
    ASSERT_EQ(trained.code, 0) << trained.out;
  }
  const auto predict = [&](const std::string& run_name, const std::string& input) {
    const Result result = run("predict " + run_name + " --input " + input + " --out out.npy");
    EXPECT_EQ(result.code, 0) << result.out;
    return std::get<std::vector<float>>(read_npy(directory_ / "out.npy").values);
  };
  // The first row alone has no byte above 1, and is grey all the same.
  std::vector<std::uint8_t> two(40, 1);
  std::fill(two.begin() + 20, two.end(), std::uint8_t(200));
  write_npy(directory_ / "two.npy", {{2, 20}, two});
  write_npy(directory_ / "one.npy", {{1, 20}, std::vector<std::uint8_t>(20, 1)});
  const auto both = predict("grey", "two.npy"), alone = predict("grey", "one.npy");
  EXPECT_EQ(std::vector(both.begin(), both.begin() + 2), alone);

  // Shapes and formats that training takes.
  write_npy(directory_ / "deep.npy", {{1, 1, 4, 5}, std::vector<std::uint8_t>(20, 1)});
  fs::copy_file(directory_ / "one.npy", directory_ / "one");
  std::ofstream(directory_ / "one.idx", std::ios::binary)
      << std::string("\0\0\x08\x02\0\0\0\1\0\0\0\x14", 12) << std::string(20, '\1');
  for (const char* file : {"deep.npy", "one", "one.idx"}) EXPECT_EQ(predict("grey", file), alone);

  const Result refused = run("predict bits --input two.npy");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.out, HasSubstr("two.npy: holds bytes above 1"));
  EXPECT_EQ(predict("bits", "two.npy --set data.bytes=grey").size(), 4u);

  // Bits for a network that knows grey values: read as those, with a word about it.
  const Result doubtful = run("predict grey --input one.npy --out out.npy");
  EXPECT_THAT(doubtful.out, HasSubstr("warning: one.npy: no byte is above 1"));
  const auto as_ones = predict("grey", "one.npy --set data.bytes=number");
  EXPECT_NE(as_ones, alone);
}

TEST_F(PredictCommand, PredictRefusesWhatDoesNotFit) {
  train("halves", "");
  write_npy(directory_ / "wide.npy", {{2, 393}, std::vector<float>(786)});
  write_npy(directory_ / "line.npy", {{392}, std::vector<float>(392)});
  write_npy(directory_ / "none.npy", {{0, 392}, std::vector<float>()});
  std::vector<float> odd(392);
  odd[7] = std::nanf("");
  write_npy(directory_ / "nan.npy", {{1, 392}, odd});
  std::ofstream(directory_ / "bad.npy") << "no";
  struct Case {
    const char* arguments;
    int code;
    const char* says;
  };
  for (const Case& c :
       {Case{"--input wide.npy", 1, "wide.npy: has 393 numbers per example"},
        Case{"--input line.npy", 1, "[n, 392]"}, Case{"--input none.npy", 1, "is empty"},
        Case{"--input nan.npy", 1, "example 0, value 7 is not a finite number"},
        Case{"--input wide.npy --expected", 2, "--samples"},
        Case{"--input bad.npy", 1, "bad.npy: is not a .npy file"},
        Case{"--input missing.npy", 2, "missing.npy"},
        Case{"--input wide.npy --out p.txt", 2, ".npy or .csv"}, Case{"", 2, "--input"}}) {
    const Result result = run(std::string("predict halves ") + c.arguments);
    EXPECT_EQ(result.code, c.code) << c.arguments << result.out;
    EXPECT_THAT(result.out, HasSubstr(c.says)) << c.arguments;
    EXPECT_FALSE(fs::exists(directory_ / "predictions.npy"));
  }
}

}  // namespace
}  // namespace sfnn

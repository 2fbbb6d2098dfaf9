// Own data: four files of .npy or IDX, for each of the three outputs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "host/base/error.hpp"
#include "host/data/files.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/npy.hpp"
#include "host/formats/png.hpp"
#include "host/run/metrics.hpp"
#include "tests/support/idx_files.hpp"
#include "tests/support/program.hpp"

namespace sfnn::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Two inputs an example, 6 examples to train on and 3 to test; each test changes what it is about.
class OwnFiles : public testing::Test {
 protected:
  OwnFiles() {
    options.set = "files";
    options.root = folder.path();
    options.output = Output::gaussian;
    options.train_x = "train_x.npy", options.train_y = "train_y.npy";
    options.test_x = "test_x.npy", options.test_y = "test_y.npy";
    put("train_x", {{6, 2}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -10, 11}});
    put("train_y", {{6}, std::vector<float>{0, .5, 1, 0, .25, 1}});
    put("test_x", {{3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}});
    put("test_y", {{3}, std::vector<float>{0, .5, 1}});
  }
  void put(const std::string& name, const NpyArray& array) {
    write_npy(folder.path() / (name + ".npy"), array);
  }
  DataSet load() { return load_data(options); }
  std::string data_error() {
    return message_of<DataError>([&] { load(); });
  }
  std::string config_error() {
    return message_of<ConfigError>([&] { load(); });
  }

  TempFolder folder;
  DataOptions options;
};

TEST_F(OwnFiles, FloatsAreTakenAsTheyAre) {
  options.valid = 2;
  const DataSet data = load();
  EXPECT_EQ(data.output, Output::gaussian);
  EXPECT_EQ(data.D_in, 2);
  EXPECT_EQ(data.D_out, 1);
  EXPECT_EQ(data.train.count, 4);
  EXPECT_EQ(data.valid.count, 2);
  EXPECT_EQ(data.test.count, 3);
  EXPECT_EQ(data.test.x.at(2, 1), 6);
  EXPECT_EQ(data.test.y.at(1, 0), .5f);
  for (const Examples* part : {&data.train, &data.valid})  // rows stay together
    for (std::int64_t n = 0; n < part->count; ++n) {
      const std::map<float, float> y_of{{0, 0}, {2, .5}, {4, 1}, {6, 0}, {8, .25}, {-10, 1}};
      EXPECT_EQ(part->y.at(n, 0), y_of.at(part->x.at(n, 0)));
    }
}

TEST_F(OwnFiles, BytesAreGreyValuesOrBits) {
  put("train_x", {{6, 2}, std::vector<std::uint8_t>(12, 51)});
  put("test_x", {{3, 2}, std::vector<std::uint8_t>(6, 1)});
  EXPECT_FLOAT_EQ(load().train.x.at(0, 0), 0.2f);
  EXPECT_FLOAT_EQ(load().test.x.at(0, 0), 1 / 255.0f);  // the training file decides
  put("train_x", {{6, 2}, std::vector<std::uint8_t>(12, 1)});
  EXPECT_EQ(load().train.x.at(0, 0), 1);
}

TEST_F(OwnFiles, WhatBytesAreCanBeSaid) {
  put("train_x", {{6, 2}, std::vector<std::uint8_t>(12, 20)});
  put("test_x", {{3, 2}, std::vector<std::uint8_t>(6, 10)});
  EXPECT_EQ(load().x_bytes, ByteEncoding::grey);
  EXPECT_THAT(load().warnings, ElementsAre(AllOf(HasSubstr("train_x.npy"), HasSubstr("above 20"),
                                                 HasSubstr("data.bytes = number"))));
  options.bytes = BytesAre::number;
  EXPECT_EQ(load().x_bytes, ByteEncoding::numbers);
  EXPECT_EQ(load().test.x.at(0, 0), 10);
  EXPECT_THAT(load().warnings, IsEmpty());
  options.bytes = BytesAre::grey;
  EXPECT_FLOAT_EQ(load().test.x.at(0, 0), 10 / 255.0f);
  EXPECT_THAT(load().warnings, IsEmpty()) << "it was said";

  options.bytes = BytesAre::automatic;
  put("train_x", {{6, 2}, std::vector<std::uint8_t>(12, 255)});
  EXPECT_THAT(load().warnings, IsEmpty());
  put("train_x", {{6, 2}, std::vector<std::uint8_t>(12, 1)});
  EXPECT_EQ(load().x_bytes, ByteEncoding::bits);
  EXPECT_THAT(load().warnings, IsEmpty());
}

// Real targets follow data.bytes; probabilities have only one reading.
TEST_F(OwnFiles, TargetsThatAreBytes) {
  put("train_y", {{6}, std::vector<std::uint8_t>{0, 1, 2, 3, 4, 20}});
  put("test_y", {{3}, std::vector<std::uint8_t>{1, 2, 3}});
  EXPECT_FLOAT_EQ(load().test.y.at(2, 0), 3 / 255.0f);
  EXPECT_THAT(load().warnings, ElementsAre(HasSubstr("train_y.npy")));
  options.bytes = BytesAre::number;
  EXPECT_EQ(load().test.y.at(2, 0), 3);
  EXPECT_EQ(load().y_bytes, ByteEncoding::numbers);
  options.output = Output::bernoulli;
  EXPECT_FLOAT_EQ(load().test.y.at(2, 0), 3 / 255.0f);
  EXPECT_EQ(load().y_bytes, ByteEncoding::grey);
}

// Bytes that count are never grey.
TEST_F(OwnFiles, CountsAreWholeNumbers) {
  options.output = Output::poisson;
  put("train_y", {{6}, std::vector<std::uint8_t>{0, 3, 200, 0, 1, 1}});
  put("test_y", {{3}, std::vector<std::uint8_t>{7, 1, 0}});
  const DataSet data = load();
  EXPECT_EQ(data.output, Output::poisson);
  EXPECT_EQ(data.test.y.at(0, 0), 7);
  EXPECT_THAT(data.warnings, IsEmpty());
  put("test_y", {{3}, std::vector<std::int64_t>{7, -1, 0}});
  put("train_y", {{6}, std::vector<std::int64_t>{0, 3, 200, 0, 1, 1}});
  EXPECT_THAT(data_error(), AllOf(HasSubstr("test_y.npy: example 1, value 0 is -1"),
                                  HasSubstr("a whole number from 0 to 16777216 is needed")));
}

TEST_F(OwnFiles, PicturesKeepTheirShapeAndIdxIsRead) {
  options.output = Output::bernoulli;
  options.train_y = "train-y-idx3-ubyte.gz", options.test_y = "test-y-idx3-ubyte";
  folder.write(options.train_y, gzip(idx_header({6, 2, 3}) + Bytes(36, '\xff')));
  folder.write(options.test_y, idx_header({3, 2, 3}) + Bytes(18, 51));
  const DataSet data = load();
  EXPECT_EQ(data.D_out, 6);
  EXPECT_EQ(data.y_image.height, 2);
  EXPECT_EQ(data.y_image.width, 3);
  EXPECT_EQ(data.train.y.at(5, 5), 1);
  EXPECT_FLOAT_EQ(data.test.y.at(2, 5), 0.2f);
}

// Big-endian in the file; what is not finite is refused as it is in .npy.
TEST_F(OwnFiles, IdxMayHoldFloatsAndSignedBytes) {
  const Bytes half("\x3f\0\0\0", 4), tenth("\x3f\xb9\x99\x99\x99\x99\x99\x9a", 8);
  const auto repeated = [](const Bytes& item, int count) {
    Bytes all;
    while (count-- > 0) all += item;
    return all;
  };
  options.train_x = "train-x", options.test_x = "test-x";
  folder.write("train-x", idx_header({6, 2}, 0x0D) + repeated(half, 12));
  folder.write("test-x", idx_header({3, 2}, 0x0E) + repeated(tenth, 6));
  EXPECT_EQ(load().train.x.at(5, 1), 0.5f);
  EXPECT_EQ(load().test.x.at(2, 1), 0.1f);
  folder.write("test-x", idx_header({3, 2}, 0x09) + repeated("\xfe", 6));
  EXPECT_EQ(load().test.x.at(2, 1), -2);
  folder.write("test-x", idx_header({3, 2}, 0x0D) + repeated(half, 5) + Bytes("\x7f\xc0\0\0", 4));
  EXPECT_THAT(data_error(),
              AllOf(HasSubstr("test-x"), HasSubstr("example 2, value 1 is not a finite")));
}

TEST_F(OwnFiles, ClassesAreWholeNumbers) {
  options.output = Output::softmax;
  put("train_y", {{6}, std::vector<std::int64_t>{0, 1, 2, 500, 1, 0}});
  put("test_y", {{3, 1}, std::vector<std::int64_t>{0, 500, 2}});
  EXPECT_THAT(data_error(), HasSubstr("test_y.npy: its shape is [3, 1]"));
  put("test_y", {{3}, std::vector<std::int64_t>{0, 500, 2}});
  const DataSet data = load();
  EXPECT_EQ(data.D_out, 501);
  EXPECT_EQ(data.test.y.at(1, 0), 500);

  put("test_y", {{3}, std::vector<std::int64_t>{0, 501, 2}});
  EXPECT_THAT(data_error(), HasSubstr("label 501 does not occur in"));
  put("test_y", {{3}, std::vector<std::int64_t>{0, -1, 2}});
  EXPECT_THAT(data_error(), HasSubstr("label -1 of example 1"));
  put("train_y", {{6}, std::vector<float>(6, 1)});
  EXPECT_THAT(data_error(), HasSubstr("whole numbers"));
  put("train_y", {{6, 2}, std::vector<std::int64_t>(12, 1)});
  put("test_y", {{3, 2}, std::vector<std::int64_t>(6, 1)});
  EXPECT_THAT(data_error(), HasSubstr("2 numbers per example"));
}

TEST_F(OwnFiles, EachFaultIsNamedWithItsFile) {
  put("train_x", {{6, 2}, std::vector<float>{0, 1, 2, 3, 4, kNaN, 6, 7, 8, 9, 10, 11}});
  EXPECT_THAT(data_error(),
              AllOf(HasSubstr("train_x.npy"), HasSubstr("example 2, value 1 is not a finite")));
  put("train_x", {{6, 2}, std::vector<double>(12, 1e300)});  // beyond a float
  EXPECT_THAT(data_error(), HasSubstr("not a finite"));
  put("train_x", {{5, 2}, std::vector<float>(10, 1)});
  EXPECT_THAT(data_error(), AllOf(HasSubstr("train_y.npy: 6 rows do not match the 5 of"),
                                  HasSubstr("train_x.npy")));
  put("train_x", {{6, 3}, std::vector<float>(18, 1)});
  EXPECT_THAT(data_error(), HasSubstr("test_x.npy: its shape is [3, 2], but [6, 3] in"));
  put("train_x", {{6, 2}, std::vector<std::uint8_t>(12, 1)});
  EXPECT_THAT(data_error(), HasSubstr("its numbers are float32, and those of"));
  put("train_x", {{6, 0}, std::vector<float>()});
  EXPECT_THAT(data_error(), HasSubstr("train_x.npy: is empty"));
  put("train_x", {{}, std::vector<float>{1}});
  EXPECT_THAT(data_error(), HasSubstr("single number"));
  fs::remove(folder.path() / "train_x.npy");
  ASSERT_EQ(::mkfifo((folder.path() / "train_x.npy").c_str(), 0600), 0);
  EXPECT_THAT(data_error(), HasSubstr("train_x.npy: cannot be read: not a regular file"));
  fs::remove(folder.path() / "train_x.npy");
  folder.write("train_x.npy", "poem");
  EXPECT_THAT(data_error(), HasSubstr("train_x.npy"));
  options.train_x = "absent.npy";
  EXPECT_THAT(data_error(), HasSubstr("no absent.npy in " + folder.path().string()));
}

TEST_F(OwnFiles, BernoulliTargetsAreProbabilities) {
  options.output = Output::bernoulli;
  load();
  put("test_y", {{3}, std::vector<float>{0, .5, 1.5}});
  EXPECT_THAT(data_error(), AllOf(HasSubstr("test_y.npy"), HasSubstr("example 2, value 0 is 1.5")));
}

TEST_F(OwnFiles, CsvHasTargetsByName) {
  folder.write("train.csv", "width,species,height\n1,0,2\n3,1,4\n5,2,6.5\n");
  folder.write("test.csv", "width,species,height\n7,2,8\n");
  options.train_x = "train.csv", options.test_x = "test.csv";
  options.train_y.clear(), options.test_y.clear();
  options.target = "species";
  options.output = Output::softmax;
  const DataSet data = load();
  EXPECT_EQ(data.D_in, 2);
  EXPECT_EQ(data.D_out, 3);
  EXPECT_EQ(data.name, "train.csv to species");
  EXPECT_THAT(data.train.x.row(2), ElementsAre(5, 6.5f));
  EXPECT_EQ(data.test.y.at(0, 0), 2);
  options.output = Output::gaussian;
  options.target = "height, width";
  EXPECT_THAT(load().train.y.row(2), ElementsAre(6.5f, 5));
  EXPECT_THAT(load().train.x.row(2), ElementsAre(2));
  options.target = "length";
  EXPECT_THAT(data_error(),
              HasSubstr("train.csv: has no column length, but width, species, height"));
  options.target = "width,species,height";
  EXPECT_THAT(data_error(), HasSubstr("leaves no column for x"));
  options.train_y = "train_y.npy";
  EXPECT_THAT(config_error(), HasSubstr("leave out data.train_y"));
}

TEST_F(OwnFiles, WithoutInputsTargetsAreGenerated) {
  options.train_x.clear(), options.test_x.clear();
  for (const Task task : {Task::automatic, Task::generate}) {
    options.task = task;
    const DataSet data = load();
    EXPECT_EQ(data.D_in, 0);
    EXPECT_EQ(data.train.count, 6);
    EXPECT_EQ(data.train.x.row_bytes(), 0u);
    EXPECT_EQ(data.name, "train_y.npy generated");
  }
  options.train_x = "train_x.npy";
  EXPECT_THAT(config_error(), HasSubstr("generate has no inputs"));
  options.task = Task::automatic;
  EXPECT_THAT(config_error(), HasSubstr("needs data.test_x"));
}

TEST_F(OwnFiles, KeysThatDoNotGoTogetherAreRefused) {
  options.task = Task::classes;
  EXPECT_THAT(config_error(), HasSubstr("data.output"));
  options.task = Task::automatic;
  options.test_y.clear();
  EXPECT_THAT(config_error(), HasSubstr("needs data.test_y"));
}

}  // namespace
}  // namespace sfnn::test

namespace sfnn {
namespace {

using OwnFilesProgram = Program;
using testing::HasSubstr;
using testing::Not;

TEST_F(OwnFilesProgram, TrainsOnOwnFilesForEachOutput) {
  const auto put = [&](const char* name, const NpyArray& array) {
    write_npy(directory_ / name, array);
  };
  std::vector<float> x(200 * 4), y(200 * 3);
  std::vector<std::int64_t> label(200);
  for (std::size_t n = 0; n < 200; ++n) {
    label[n] = std::int64_t(n % 3);
    for (std::size_t i = 0; i < 4; ++i) x[4 * n + i] = float((n * (i + 1)) % 7) / 7;
    for (std::size_t i = 0; i < 3; ++i) y[3 * n + i] = i == n % 3;
  }
  put("x.npy", {{200, 4}, x});
  put("y.npy", {{200, 3}, y});
  put("label.npy", {{200}, label});
  for (const std::string output : {"softmax", "bernoulli", "gaussian"}) {
    const std::string targets = output == "softmax" ? "label.npy" : "y.npy";
    const Result result =
        run("train --data . --set data.set=files --set data.train_x=x.npy --set data.test_x=x.npy "
            "--set data.train_y=" +
            targets + " --set data.test_y=" + targets + " --set data.output=" + output +
            " --set net.hidden=8s --set train.epochs=2 --set data.valid=50 --out " + output);
    ASSERT_EQ(result.code, 0) << result.out;
    EXPECT_TRUE(read_metrics(directory_ / output / "metrics.jsonl").back()["test_nll"].is_number());
    EXPECT_EQ(run("eval --data . " + output).code, 0);
  }
}

// A table of small whole numbers: every place that can says how it is read, and how to change that.
TEST_F(OwnFilesProgram, SaysHowBytesAreRead) {
  std::vector<std::uint8_t> x(60 * 3), label(60);
  for (std::size_t n = 0; n < 60; ++n) {
    label[n] = std::uint8_t(n % 3);
    for (std::size_t i = 0; i < 3; ++i) x[3 * n + i] = std::uint8_t((n * (i + 5)) % 21);
  }
  write_npy(directory_ / "x.npy", {{60, 3}, x});
  write_npy(directory_ / "y.npy", {{60}, label});
  const std::string options =
      "--data . --set data.set=files --set data.train_x=x.npy --set data.test_x=x.npy --set "
      "data.train_y=y.npy --set data.test_y=y.npy --set data.output=softmax --set net.hidden=4s "
      "--set train.epochs=1 ";
  const Result grey = run("train " + options + "--out grey");
  ASSERT_EQ(grey.code, 0) << grey.out;
  EXPECT_THAT(grey.out, HasSubstr("inputs: grey bytes, divided by 255"));
  EXPECT_THAT(grey.out, HasSubstr("warning: "));
  EXPECT_THAT(grey.out, HasSubstr("none is above 20"));
  EXPECT_THAT(run("info grey").out, HasSubstr("inputs       grey bytes, divided by 255"));
  EXPECT_THAT(run("train --dry-run " + options).out,
              HasSubstr("inputs       grey bytes, divided by 255"));
  ASSERT_EQ(run("report grey --data . --out page.html").code, 0);
  EXPECT_THAT(read_file(directory_ / "page.html", 1 << 24),
              HasSubstr("inputs: grey bytes, divided by 255"));

  const Result numbers = run("train " + options + "--set data.bytes=number --out numbers");
  ASSERT_EQ(numbers.code, 0) << numbers.out;
  EXPECT_THAT(numbers.out, HasSubstr("inputs: numbers as they are"));
  EXPECT_THAT(numbers.out, Not(HasSubstr("none is above")));
  EXPECT_THAT(run("info numbers").out, HasSubstr("inputs       numbers as they are"));
}

// A folder of pictures in colour, and no inputs: samples are a grid of nothing else.
TEST_F(OwnFilesProgram, GeneratesPicturesOfAFolder) {
  fs::create_directories(directory_ / "faces");
  for (int n = 0; n < 12; ++n)
    write_png(directory_ / "faces" / fmt::format("{:02}.png", n),
              {6, 5, std::vector<std::uint8_t>(90, std::uint8_t(20 * n)), 3});
  const Result trained =
      run("train --data . --set data.set=files --set data.task=generate --set data.train_y=faces "
          "--set data.test_y=faces --set net.hidden=4s,6s --set train.epochs=2 --set "
          "train.particles=3 --set train.estimator=G5 --out run");
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_THAT(trained.out, HasSubstr("0-4s-6s-90 bernoulli on faces generated"));
  EXPECT_THAT(trained.out, HasSubstr("inputs: none"));
  const std::string png = read_file(directory_ / "run/samples.png", 1 << 20);
  ASSERT_GT(png.size(), 26u);
  EXPECT_EQ(256 * std::uint8_t(png[18]) + std::uint8_t(png[19]), 1 + 10 * (4 * 5 + 1)) << "no x";
  EXPECT_EQ(png[25], 2) << "in colour";
  for (const char* command :
       {"eval run --data .", "sample run --data . --out s.png", "report run --data .", "info run",
        "estimators run --data . --draws 10 --reference 20"}) {
    const Result result = run(command);
    EXPECT_EQ(result.code, 0) << command << result.out;
  }
  EXPECT_THAT(read_file(directory_ / "run/report.html", 1 << 24), HasSubstr("given nothing"));
}

TEST_F(OwnFilesProgram, DrawsTargetsThatArePicturesWhateverTheInputsAre) {
  write_npy(directory_ / "y.npy", {{50, 4, 5}, std::vector<float>(50 * 4 * 5, 0.5f)});
  const auto width_of_samples = [&](const std::string& name, const NpyArray& x) {
    write_npy(directory_ / "x.npy", x);
    const Result result =
        run("train --data . --set data.set=files --set data.train_x=x.npy --set data.test_x=x.npy "
            "--set data.train_y=y.npy --set data.test_y=y.npy --set net.hidden=4s "
            "--set train.epochs=1 --out " +
            name);
    EXPECT_EQ(result.code, 0) << result.out;
    const std::string png = read_file(directory_ / name / "samples.png", 1 << 20);
    return png.size() < 24 ? 0 : 256 * std::uint8_t(png[18]) + std::uint8_t(png[19]);
  };
  const int without_x = width_of_samples("vectors", {{50, 3}, std::vector<float>(150, 1.0f)});
  const int with_x = width_of_samples("pictures", {{50, 4, 5}, std::vector<float>(1000, 1.0f)});
  const int other_size = width_of_samples("small", {{50, 2, 2}, std::vector<float>(200, 1.0f)});
  EXPECT_EQ(without_x, 1 + 11 * (4 * 5 + 1) + 7) << "small pictures are magnified by 4";
  EXPECT_GT(with_x, without_x) << "x has a cell of its own";
  EXPECT_EQ(other_size, without_x);
}

}  // namespace
}  // namespace sfnn

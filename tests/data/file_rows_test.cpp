// Data that stay in their files: the same examples, the same bits, and little memory.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "host/base/error.hpp"
#include "host/data/files.hpp"
#include "host/devices/registry.hpp"
#include "host/formats/npy.hpp"
#include "host/run/data_facts.hpp"
#include "host/train/evaluate.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/idx_files.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/program.hpp"
#include "tests/support/threads.hpp"

namespace sfnn::test {
namespace {

using testing::HasSubstr;

class FileRowsTest : public testing::Test {
 protected:
  FileRowsTest() {
    options.set = "files";
    options.root = folder.path();
    options.output = Output::gaussian;
    options.train_x = "x.npy", options.train_y = "y.npy";
    options.test_x = "tx.npy", options.test_y = "ty.npy";
    options.valid = 7;
    put("x.npy", 50, 7);
    put("y.npy", 50, 5);
    put("tx.npy", 20, 7);
    put("ty.npy", 20, 5);
  }
  void put(const std::string& name, std::int64_t rows, std::int64_t cols) {
    std::vector<double> values(std::size_t(rows * cols));  // converted as they are read
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(double(i) + double(cols));
    write_npy(folder.path() / name, {{rows, cols}, values});
  }
  DataSet load(bool held) {
    options.most_in_memory = held ? 1 << 20 : 0;
    return load_data(options);
  }

  TempFolder folder;
  DataOptions options;
};

void expect_same_rows(const Columns& a, const Columns& b) {
  ASSERT_EQ(a.rows(), b.rows());
  for (std::int64_t n = 0; n < a.rows(); ++n) EXPECT_EQ(a.row(n), b.row(n)) << n;
}

TEST_F(FileRowsTest, ExamplesAreTheSame) {
  options.center = true;
  const DataSet held = load(true), left = load(false);
  EXPECT_FALSE(held.train.x.in_file());
  EXPECT_TRUE(left.train.x.in_file() && left.valid.y.in_file() && left.test.x.in_file());
  for (const auto part : {&DataSet::train, &DataSet::valid, &DataSet::test}) {
    expect_same_rows((held.*part).x, (left.*part).x);
    expect_same_rows((held.*part).y, (left.*part).y);
  }
  EXPECT_EQ(held.units, left.units);
  expect_same_rows(first_of(held.train, 3).x, first_of(left.train, 3).x);
}

TEST_F(FileRowsTest, TrainingAndEvaluationGiveTheSameBits) {
  const NetworkSpec spec = network(7, {"9s", "6s"}, 5, Output::gaussian);
  const TrainOptions training{.seed = 3,
                              .particles = 5,
                              .batch = 16,
                              .epochs = 3,
                              .learning_rate = 0.05,
                              .noise = 0.1,
                              .tiling = {3, 4}};
  const auto run = [&](const DataSet& data, int threads, bool plain) {
    const auto backend = make_backend({.device = "cpu", .plain = plain, .threads = threads});
    Trainer trainer(*backend, spec, training, data);
    while (trainer.step() < trainer.total_steps()) trainer.train_step();
    const Evaluation test = evaluate(trainer.model(), data.test, {.particles = 10, .seed = 1});
    return std::tuple(trainer.state().P().params(), test.curve, test.mean_sse);
  };
  const DataSet held = load(true), left = load(false);
  for (const bool plain : {false, true})
    for (const int threads : {1, 3})
      EXPECT_EQ(run(held, threads, plain), run(left, threads, plain));
}

TEST_F(FileRowsTest, AFileThatIsCutStopsTraining) {
  const DataSet data = load(false);
  const auto backend = make_backend({.device = "cpu", .threads = test_threads(1)});
  Trainer trainer(*backend, network(7, {"9s"}, 5, Output::gaussian),
                  {.particles = 2, .batch = 16, .epochs = 3}, data);
  trainer.train_step();
  std::filesystem::resize_file(folder.path() / "x.npy", 1000);
  EXPECT_THAT(message_of<DataError>([&] { trainer.train_step(); }), HasSubstr("x.npy"));
  EXPECT_THAT(message_of<DataError>([&] { evaluate(trainer.model(), data.train, {}); }),
              HasSubstr("x.npy"));
}

// A row that is not used may hold anything.
TEST_F(FileRowsTest, RowsThatAreNotUsedAreNotRead) {
  std::vector<float> x(50 * 7, 1);
  x[49 * 7] = std::nanf("");
  write_npy(folder.path() / "x.npy", {{50, 7}, x});
  options.valid = 0;
  EXPECT_THAT(message_of<DataError>([&] { load(false); }), HasSubstr("example 49, value 0"));
  options.limit = 49;
  EXPECT_EQ(load(false).train.count, 49);
  EXPECT_EQ(load(true).train.count, 49);
}

// What was found is kept beside the run: a file that is as it was is not looked over again.
TEST_F(FileRowsTest, KnownFilesAreNotReadAgain) {
  options.known = load(false).files;
  ASSERT_EQ(options.known.size(), 6u);
  const auto path = folder.path() / "x.npy";
  const auto time = std::filesystem::last_write_time(path);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(-8, std::ios::end)
      << std::string(8, '\xff');  // not a number
  std::filesystem::last_write_time(path, time);
  load(false);
  std::filesystem::last_write_time(path, time + std::chrono::seconds(1));
  EXPECT_THAT(message_of<DataError>([&] { load(false); }), HasSubstr("is not a finite number"));
}

TEST_F(FileRowsTest, AResumedRunWantsTheRowsThatItBeganWith) {
  const RunDirectory run(folder.path() / "run");
  std::filesystem::create_directories(run.path());
  const DataSet data = load(true);
  write_data_facts(run, data);
  EXPECT_EQ(read_data_facts(run).size(), data.files.size());
  require_same_data(run, data);
  const auto path = folder.path() / "x.npy";
  std::filesystem::last_write_time(
      path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  require_same_data(run, load(true));  // the same rows, written again
  put("x.npy", 50, 7);
  std::vector<double> others(50 * 7, 0.5);
  write_npy(path, {{50, 7}, others});
  EXPECT_THAT(message_of<DataError>([&] { require_same_data(run, load(true)); }),
              HasSubstr("the rows of train_x are not those"));
}

TEST_F(FileRowsTest, TestFilesAloneAreEnoughForATrainedNetwork) {
  std::filesystem::remove(folder.path() / "x.npy");
  std::filesystem::remove(folder.path() / "y.npy");
  const DataSet data = load_test_data(options, {.D_out = 5});
  EXPECT_EQ(data.test.count, 20);
  EXPECT_EQ(data.D_in, 7);
  EXPECT_EQ(data.D_out, 5);
}

}  // namespace
}  // namespace sfnn::test

namespace sfnn {
namespace {

using testing::HasSubstr;

class LargeData : public Program {
 protected:
  // [rows, cols] float32 zeros that take no disk.
  void put_zeros(const std::string& name, std::int64_t rows, std::int64_t cols) {
    const std::string path = directory_ / name;
    std::string file = serialize_npy({{0, cols}, std::vector<float>()});
    const std::size_t at = file.find("(0, ");
    const std::string shape = "(" + std::to_string(rows) + ", ";
    file.replace(at, 4, shape);
    file.erase(file.rfind('\n') - (shape.size() - 4), shape.size() - 4);  // of the padding
    std::ofstream(path, std::ios::binary) << file;
    fs::resize_file(path, file.size() + std::size_t(rows * cols) * sizeof(float));
  }

  struct Measured {
    int code;
    std::int64_t megabytes;  // the most of its own memory, RssAnon, that it was seen with
    std::string out;
  };
  Measured measure(const std::string& arguments) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string command = "cd '" + directory_.string() + "'; exec '" SFNN_PROGRAM "' " +
                                  arguments + " > out.txt 2>&1";
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    std::int64_t most = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      most = std::max(most, kilobytes_of(child));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::ifstream in(directory_ / "out.txt");
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128,
            most / 1024,
            {std::istreambuf_iterator<char>(in), {}}};
  }
  static std::int64_t kilobytes_of(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8));
    return 0;
  }
};

// 400 MB of inputs: the plan of so small a network is next to nothing.
TEST_F(LargeData, IsNotHeldInMemory) {
  put_zeros("x.npy", 100000, 1000);
  put_zeros("y.npy", 100000, 1);
  put_zeros("tx.npy", 1000, 1000);
  put_zeros("ty.npy", 1000, 1);
  const std::string options =
      "--data . --set data.set=files --set data.train_x=x.npy --set data.train_y=y.npy --set "
      "data.test_x=tx.npy --set data.test_y=ty.npy --set data.output=gaussian --set net.hidden=2s "
      "--set train.particles=1 --set train.batch=500 --set train.epochs=1 --set eval.particles=1 "
      "--threads 1 ";
  const Measured planned = measure("train --dry-run " + options);
  EXPECT_EQ(planned.code, 0) << planned.out;
  EXPECT_THAT(planned.out, HasSubstr("in files"));
  EXPECT_LT(planned.megabytes, 200);
  EXPECT_GT(planned.megabytes, 1) << "it was looked at";
  const Measured trained = measure("train " + options + "--out here");
  EXPECT_EQ(trained.code, 0) << trained.out;
  EXPECT_LT(trained.megabytes, 200);

  // Nothing of the training files is needed for the test.
  fs::remove(directory_ / "x.npy");
  fs::remove(directory_ / "y.npy");
  const Measured tested = measure("eval here --data . --set data.test_limit=10");
  EXPECT_EQ(tested.code, 0) << tested.out;
  EXPECT_LT(tested.megabytes, 200);
}

// A moved run: the paths of the command line are enough.
TEST_F(LargeData, AMovedRunIsTestedOnTheFilesItIsGiven) {
  write_npy(directory_ / "x.npy", {{30, 2}, std::vector<float>(60, 1)});
  write_npy(directory_ / "y.npy", {{30}, std::vector<std::int64_t>(30, 2)});
  const Result trained =
      run("train --set data.set=files --set data.train_x=x.npy --set data.train_y=y.npy --set "
          "data.test_x=x.npy --set data.test_y=y.npy --set data.output=softmax --set net.hidden=3s "
          "--set train.epochs=1 --out run");
  ASSERT_EQ(trained.code, 0) << trained.out;
  fs::create_directories(directory_ / "elsewhere");
  fs::rename(directory_ / "run", directory_ / "elsewhere/run");
  fs::rename(directory_ / "x.npy", directory_ / "elsewhere/other_x.npy");
  fs::rename(directory_ / "y.npy", directory_ / "elsewhere/other_y.npy");
  const std::string there = (directory_ / "elsewhere/").string();
  const Result tested = run("eval elsewhere/run --set data.test_x=" + there +
                            "other_x.npy --set data.test_y=" + there + "other_y.npy");
  EXPECT_EQ(tested.code, 0) << tested.out;
  EXPECT_THAT(tested.out, HasSubstr("30 test examples"));
}

// Paths of a config are those from its own folder, too.
TEST_F(LargeData, AConfigFindsTheFilesBesideIt) {
  fs::create_directories(directory_ / "dice");
  write_npy(directory_ / "dice/x.npy", {{30, 2}, std::vector<float>(60, 1)});
  write_npy(directory_ / "dice/y.npy", {{30}, std::vector<float>(30, 1)});
  std::ofstream(directory_ / "dice/dice.toml")
      << "[data]\nset = \"files\"\ntrain_x = \"x.npy\"\ntrain_y = \"y.npy\"\ntest_x = "
         "\"x.npy\"\ntest_y = \"y.npy\"\n[net]\nhidden = [\"3s\"]\n[train]\nepochs = 1\n";
  const Result trained = run("train --config dice/dice.toml --out run");
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_EQ(run("eval run").code, 0);
  EXPECT_EQ(run("train --resume --out run").code, 0);
}

}  // namespace
}  // namespace sfnn

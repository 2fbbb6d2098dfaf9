// The commands that look at a run: info, report, predict, devices.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>

#include "host/formats/atomic_file.hpp"
#include "host/formats/npy.hpp"
#include "host/run/metrics.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class Looking : public Program {
 protected:
  void train(const std::string& name, const std::string& settings) {
    const Result result =
        run("train " + small_ + "--set train.epochs=2 " + settings + " --out " + name);
    ASSERT_EQ(result.code, 0) << result.out;
  }
  std::string file(const std::string& name) {
    return read_file(directory_ / name, std::size_t(1) << 26);
  }
};

TEST_F(Looking, InfoShowsNetworkStateHistoryAndConfig) {
  train("first", "--set seed=77");
  const Result info = run("info first");
  ASSERT_EQ(info.code, 0) << info.out;
  for (const char* text :
       {"392-20s-10s-392 bernoulli", "parameters   12382", "layer1.W_s   392 x 20",
        "step 8, epoch 2 of 2", "seeds        77 of weights", "tiles        ", "valid NLL",
        "\ntest         NLL ", "(default 1)", "session"}) {
    EXPECT_THAT(info.out, HasSubstr(text));
  }
  // A row an epoch, with the figures of metrics.jsonl.
  const auto lines = read_metrics(directory_ / "first/metrics.jsonl");
  const auto row = [&](int epoch) {
    return fmt::format("\n{:>19}  {:>14.3f}  {:>14.3f}", epoch,
                       lines[epoch - 1]["train_c_hat"].get<double>(),
                       lines[epoch - 1]["valid_nll"].get<double>());
  };
  EXPECT_THAT(info.out, HasSubstr(row(1)));
  EXPECT_THAT(info.out, HasSubstr(row(2)));
  const std::string step = step_files("first").front();
  const Result of_file = run("info first/checkpoints/" + step);
  EXPECT_EQ(of_file.code, 0) << of_file.out;
  EXPECT_THAT(of_file.out, HasSubstr("392-20s-10s-392"));
  EXPECT_THAT(of_file.out, HasSubstr(row(1)));
  EXPECT_THAT(of_file.out, Not(HasSubstr(row(2)))) << "that was later";
  EXPECT_EQ(run("info nowhere").code, 2);
}

TEST_F(Looking, SessionsTellWhenAndOnWhatARunWasTrained) {
  train("first", "");
  const auto sessions = read_metrics(directory_ / "first/sessions.jsonl");
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0]["step"], 0);
  EXPECT_THAT(sessions[0]["device"].get<std::string>(), HasSubstr("cpu"));
  EXPECT_TRUE(std::regex_match(sessions[0]["started"].get<std::string>(),
                               std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d UTC)")));
  // A finished run that is asked to go on does nothing, so it tells of nothing.
  ASSERT_EQ(run("train " + small_ + "--set train.epochs=2 --out first --resume").code, 0);
  EXPECT_EQ(read_metrics(directory_ / "first/sessions.jsonl").size(), 1u);
}

TEST_F(Looking, ReportComparesRuns) {
  train("g3", "");
  train("g5", "--set train.estimator=G5");
  const Result report = run("report g3 g5 --out page.html");
  ASSERT_EQ(report.code, 0) << report.out;
  const std::string page = file("page.html");
  for (const char* text : {"2 runs compared", "Training criterion", "Validation", "C_hat against M",
                           "Effective particles in training", "Hidden layer 1", "Hidden layer 2",
                           "Samples of g5", "data:image/png;base64,iVBORw0KGgo",
                           "<tr class=\"differs\"><th scope=\"row\">train.estimator"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(page, Not(HasSubstr("://"))) << "the page must need nothing else";
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  // The figure in the table is the one that eval prints.
  const Result eval = run("eval g5");
  std::smatch nll;
  ASSERT_TRUE(std::regex_search(eval.out, nll, std::regex(R"(test NLL +(\S+))"))) << eval.out;
  EXPECT_THAT(page, HasSubstr(fmt::format("{:.2f}", std::stod(nll[1]))));

  EXPECT_EQ(run("report g3").code, 0);
  EXPECT_TRUE(fs::exists(directory_ / "g3/report.html"));
  EXPECT_EQ(run("report").code, 2);
  EXPECT_EQ(run("report nowhere").code, 2);
}

TEST_F(Looking, ReportWithoutTheDataShowsWhatTheFilesTell) {
  train("first", "");
  // The same run, said to be of a data set that is not here.
  fs::create_directories(directory_ / "files");
  Checkpoint checkpoint = newest("first");
  checkpoint.config.data.set = "gone";
  fs::remove_all(directory_ / "first/checkpoints");
  RunDirectory(directory_ / "first").save(checkpoint);
  const Result report = run("report first --data files");
  ASSERT_EQ(report.code, 0) << report.out;
  const std::string page = file("first/report.html");
  EXPECT_THAT(page, HasSubstr("not measured on its test examples"));
  EXPECT_THAT(page, HasSubstr("its test figures are from its own record"));
  const auto metrics = read_metrics(directory_ / "first/metrics.jsonl");
  EXPECT_THAT(page, HasSubstr(fmt::format(">{:.2f}<", metrics.back()["test_nll"].get<double>())));
  EXPECT_THAT(page, HasSubstr("Training criterion"));
  EXPECT_THAT(page, HasSubstr("data:image/png")) << "samples.png is at hand";
  EXPECT_THAT(page, Not(HasSubstr("Hidden layer")));
}

// A run that others made may have anything by the name of its picture.
TEST_F(Looking, AReportEmbedsThePictureOfTheRunAndNothingElse) {
  train("first", "");
  Checkpoint checkpoint = newest("first");
  checkpoint.config.data.set = "gone";
  RunDirectory(directory_ / "first").save(checkpoint);
  fs::create_directories(directory_ / "files");
  const fs::path picture = directory_ / "first/samples.png", elsewhere = directory_ / "elsewhere";
  fs::rename(picture, elsewhere);
  const std::function<void()> obstacles[] = {[&] { fs::create_symlink(elsewhere, picture); },
                                             [&] { write_file_atomically(picture, "a secret"); },
                                             [&] { fs::create_directories(picture); }};
  for (const auto& put : obstacles) {
    put();
    const Result report = run("report first --data files");
    ASSERT_EQ(report.code, 0) << report.out;
    EXPECT_THAT(report.out, HasSubstr("left out"));
    EXPECT_THAT(file("first/report.html"), Not(HasSubstr("data:image/png")));
    fs::remove(picture);
  }
}

TEST_F(Looking, PredictGivesTheProbabilitiesOfClasses) {
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

TEST_F(Looking, PredictDrawsPixelsAndTakesGreyBytes) {
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

// A row means the same whatever the others are, and in whatever file it stands.
TEST_F(Looking, PredictReadsInputsAsTrainingDid) {
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
}

TEST_F(Looking, PredictRefusesWhatDoesNotFit) {
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
       {Case{"--input wide.npy", 1, "wide.npy: has 393 numbers an example"},
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

// --- files that the user names -----------------------------------------------------------------

TEST_F(Looking, NoOutputReplacesAFileOfTheRun) {
  train("here", "");
  const auto text = [&](const char* name) {
    return read_file(directory_ / "here" / name, 1 << 20);
  };
  const std::string config = text("config.toml"), metrics = text("metrics.jsonl");
  for (const auto& [command, says] : std::initializer_list<std::pair<const char*, const char*>>{
           {"eval here --curve here/config.toml", "must end in .csv"},
           {"report here --out here/metrics.jsonl", "must end in .html"},
           {"estimators here --plot here/config.toml", "must end in .svg"},
           {"estimators here --plot nowhere/e.svg", "there is no folder nowhere"},
           {"estimators here --out here/config.toml", "must end in .jsonl"},
           {"estimators here --out here/metrics.jsonl", "a file of a run's own"},
           {"estimators here --out here/../here/sessions.jsonl", "a file of a run's own"}}) {
    const Result result = run(command);
    EXPECT_EQ(result.code, 2) << command << result.out;
    EXPECT_THAT(result.out, HasSubstr(says)) << command;
  }
  EXPECT_EQ(text("config.toml"), config);
  EXPECT_EQ(text("metrics.jsonl"), metrics);
}

// Nothing else is in the pipe, and the pipe is still one.
TEST_F(Looking, APipeGetsWhatAFileWould) {
  train("here", "");
  write_npy(directory_ / "x.npy", {{1, 392}, std::vector<float>(392)});
  fs::create_directories(directory_ / "pipes");
  for (const auto& [command, begins, ends] : std::initializer_list<std::array<std::string, 3>>{
           {"report here --out", "<!DOCTYPE html>", "</html>\n"},
           {"eval here --curve", "M,C_hat\n", "\n"},
           {"sample here --out", "\x89PNG", "IEND\xae\x42\x60\x82"},
           {"predict here --input x.npy --out", "example,y0,", "\n"},
           {"estimators here --draws 10 --reference 40 --batch 20 --out", "{\"step\":", "}\n"},
           {"estimators here --draws 10 --reference 40 --batch 20 --plot", "<svg ", "</svg>\n"}}) {
    const fs::path pipe = directory_ / "pipes/pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
    const Result result =
        run("devices >/dev/null; timeout 30 cat pipes/pipe >got & '" SFNN_PROGRAM "' " + command +
            " pipes/pipe && wait $!; #");
    EXPECT_EQ(result.code, 0) << command << result.out;
    const std::string got = read_file(directory_ / "got", 1 << 24);
    EXPECT_THAT(got, testing::StartsWith(begins)) << command;
    EXPECT_THAT(got, testing::EndsWith(ends)) << command;
    EXPECT_TRUE(fs::is_fifo(pipe)) << command;
    fs::remove(pipe);
  }
}

TEST_F(Looking, DevicesListsTheCpu) {
  const Result devices = run("devices");
  EXPECT_EQ(devices.code, 0);
  EXPECT_THAT(devices.out, testing::StartsWith("cpu"));
  EXPECT_THAT(devices.out, HasSubstr("thread"));
  EXPECT_THAT(run("--version").out, testing::StartsWith("sfnn "));
}

}  // namespace
}  // namespace sfnn

// Files that the user names for output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>

#include "host/formats/atomic_file.hpp"
#include "host/formats/npy.hpp"
#include "tests/support/trained_program.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

using OutputFiles = TrainedProgram;

TEST_F(OutputFiles, NoOutputReplacesAFileOfTheRun) {
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
           {"estimators here --out here/metrics.jsonl", "the name of a run's own file"},
           {"estimators here --out here/../here/sessions.jsonl", "the name of a run's own file"}}) {
    const Result result = run(command);
    EXPECT_EQ(result.code, 2) << command << result.out;
    EXPECT_THAT(result.out, HasSubstr(says)) << command;
  }
  EXPECT_EQ(text("config.toml"), config);
  EXPECT_EQ(text("metrics.jsonl"), metrics);
}

// Nothing else is in the pipe, and the pipe is still one.
TEST_F(OutputFiles, APipeGetsWhatAFileWould) {
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

}  // namespace
}  // namespace sfnn

// Runs that others made: names, lines and markup in their files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/formats/atomic_file.hpp"
#include "host/formats/npy.hpp"
#include "host/run/metrics.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxPage = 1 << 24;  // bytes of a report

class HostileFiles : public Program {
 protected:
  HostileFiles() {
    write_npy(directory_ / "x.npy", {.shape = {6, 2}, .values = std::vector<float>(12, 0.5f)});
    fs::create_directories(directory_ / "inside");
    fs::copy(directory_ / "x.npy", directory_ / "inside/x.npy");
  }
  std::string settings(const std::string& file) const {
    std::string text = "--set data.set=files --set data.output=gaussian ";
    for (const char* key : {"train_x", "train_y", "test_x", "test_y"})
      text += "--set 'data." + std::string(key) + "=" + file + "' ";
    return text + "--set net.hidden=3s --set train.epochs=1 --set eval.particles=2 ";
  }
};

// What the command line says is the user's own; what a run's files say stays in the data folders.
TEST_F(HostileFiles, NamesInARunDoNotLeadOutsideTheDataFolders) {
  for (const std::string& name :
       {std::string("../x.npy"), (directory_ / "x.npy").string(), std::string("a/../../x.npy")}) {
    fs::create_directories(directory_ / "inside/a");
    ASSERT_EQ(run("train --data inside " + settings(name) + "--out run").code, 0) << name;
    for (const std::string command :
         {"eval run", "sample run", "estimators run", "train --resume --out run"}) {
      const Result refused = run(command + " --data inside");
      EXPECT_EQ(refused.code, 1) << command << refused.out;
      EXPECT_THAT(refused.out, testing::HasSubstr("leads outside the data folders"));
    }
    for (const std::string command : {"eval run ", "train --resume --out run "}) {
      const Result trusted = run(command + "--data inside " + settings(name));
      EXPECT_EQ(trusted.code, 0) << trusted.out;
    }
    fs::remove_all(directory_ / "run");
  }
  ASSERT_EQ(run("train --data inside " + settings("a/../x.npy") + "--out run").code, 0);
  EXPECT_EQ(run("eval run --data inside").code, 0);
}

TEST_F(HostileFiles, ALineOfAMillionBracketsIsPassedOver) {
  ASSERT_EQ(run("train " + settings("x.npy") + "--set train.epochs=2 --out run").code, 0);
  const std::string line =
      "{\"a\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}\n";
  for (const char* name : {"metrics.jsonl", "sessions.jsonl"})
    write_file_atomically(directory_ / "run" / name, line);
  fs::remove(directory_ / "run/checkpoints" / step_files("run").back());
  for (const std::string command : {"info run", "report run", "train --resume --out run"}) {
    const Result result = run(command);
    EXPECT_EQ(result.code, 0) << command << result.out;
    EXPECT_THAT(result.out, testing::HasSubstr("metrics.jsonl:1: nested too deeply: skipped"));
  }
}

TEST_F(HostileFiles, TheReportShowsHostileNamesAsText) {
  const std::string hostile = "<img src=x onerror=alert(1)>\"&";
  fs::rename(directory_ / "x.npy", directory_ / (hostile + ".npy"));
  ASSERT_EQ(run("train " + settings(hostile + ".npy") + "--out '" + hostile + "'").code, 0);
  append_metrics(
      directory_ / hostile / "metrics.jsonl",
      {{"epoch", 2}, {"valid_nll", hostile}, {"warnings", {hostile}}, {hostile, hostile}});
  append_metrics(directory_ / hostile / "sessions.jsonl",
                 {{"started", hostile}, {"device", hostile}, {"cpu", "\u0007</td>"}});
  ASSERT_EQ(run("report '" + hostile + "' --out page.html").code, 0);
  const std::string page = read_file(directory_ / "page.html", kMaxPage);
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("<img src=x")));
  EXPECT_THAT(page, testing::HasSubstr("&lt;img src=x onerror=alert(1)&gt;&quot;&amp;"));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("</td></td>")));
}

}  // namespace
}  // namespace sfnn

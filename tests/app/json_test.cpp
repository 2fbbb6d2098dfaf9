// What --json prints, compared with what docs/json.md says of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "host/formats/npy.hpp"
#include "host/run/config.hpp"
#include "tests/support/trained_program.hpp"

namespace sfnn {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

struct Row {
  std::string type;
  bool always = false;
};
using Table = std::map<std::string, Row>;  // by key

// The rows of the first table after `heading`.
Table table_after(const std::string& heading) {
  std::istringstream text(read_file(SFNN_SOURCE_DIR "/docs/json.md", std::size_t(1) << 20));
  Table table;
  bool found = false;
  for (std::string line; std::getline(text, line);) {
    if (!found) {
      found = line.starts_with(heading);
    } else if (line.starts_with("| `")) {
      std::istringstream cells(line);
      std::string nothing, key, type, when;
      std::getline(cells, nothing, '|') && std::getline(cells, key, '|') &&
          std::getline(cells, type, '|') && std::getline(cells, when, '|');
      table[key.substr(2, key.size() - 4)] = {type.substr(1, type.size() - 2), when == " always "};
    } else if (!table.empty()) {
      return table;
    }
  }
  return table;
}

class JsonCommand : public TrainedProgram {
 protected:
  Json json_of(const std::string& arguments) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.out;
    return Json::parse(result.out);
  }

  // Every key that is printed is in the table, with its type, and every key that the table promises
  // is printed.
  void compare(const Json& json, const Table& table) {
    std::map<std::string, int> seen;
    walk(json, "", table, seen);
    for (const auto& [key, row] : table)
      EXPECT_TRUE(!row.always || seen.contains(key)) << key << " is promised";
  }

 private:
  void walk(const Json& json, const std::string& path, const Table& table,
            std::map<std::string, int>& seen) {
    const auto row = table.find(path);
    if (row != table.end()) {
      ++seen[path];
      expect_type(json, path, row->second.type);
    } else if (json.is_object()) {
      for (const auto& [key, value] : json.items())
        walk(value, path.empty() ? key : path + "." + key, table, seen);
    } else if (json.is_array()) {
      for (const Json& item : json) walk(item, path + "[]", table, seen);
    } else {
      ADD_FAILURE() << path << " is not in docs/json.md";
    }
  }
  void expect_type(const Json& json, const std::string& path, const std::string& type) {
    if (type == "test") {
      compare(json, table_after("A **test** object"));
    } else if (type == "config") {
      for (const auto& option : config_options())
        EXPECT_TRUE(json.contains(option.key)) << option.key;
    } else if (type == "epoch" || type == "session") {
      EXPECT_TRUE(json.is_object()) << path;
    } else {
      EXPECT_EQ(json.type_name(), type) << path;
    }
  }
};

TEST_F(JsonCommand, EveryKeyIsDocumentedAndEveryPromisedKeyIsPrinted) {
  train("first", "");
  compare(json_of("eval first --seeds 2"
                  " --json"),
          table_after("## `sfnn eval"));
  compare(json_of("info first --json"), table_after("## `sfnn info"));
  compare(json_of("devices --json"), table_after("## `sfnn devices"));
  compare(json_of("report first --json --set data.test_limit=30"), table_after("## `sfnn report"));
  EXPECT_FALSE(fs::exists(directory_ / "first/report.html"));
  EXPECT_EQ(run("report first --json --out page.html").code, 2);
}

TEST_F(JsonCommand, ARunWithAProposalHasItsOwnKeys) {
  train("with-R", "--set proposal.on=true --search-lr 0.03:0.1");
  const Json eval = json_of("eval with-R --seeds 2 --json"), info = json_of("info with-R --json");
  compare(eval, table_after("## `sfnn eval"));
  compare(info, table_after("## `sfnn info"));
  compare(json_of("report with-R --json"), table_after("## `sfnn report"));
  EXPECT_NE(eval["test"]["nll"], eval["test"]["nll_proposal"]);
  EXPECT_TRUE(info["checkpoint"].contains("best_valid_nll_proposal"));
  EXPECT_FALSE(info["checkpoint"].contains("best_valid_nll"));
  EXPECT_TRUE(info["search"]["trials"][0].contains("valid_nll_proposal"));
}

TEST_F(JsonCommand, FiguresAreThoseThatPeopleSee) {
  train("first", "--set data.task=classes --set data.set=glyphs");
  const Json json = json_of("eval first --json")["test"];
  const Result text = run("eval first");
  EXPECT_EQ(json["examples"], 60);
  EXPECT_THAT(text.out,
              HasSubstr(fmt::format("test NLL             {:.4f} \u00b1 {:.4f}\n",
                                    json["nll"].get<double>(), json["nll_se"].get<double>())));
  EXPECT_THAT(text.out, HasSubstr(fmt::format("test error           {:.2f} \u00b1 {:.2f} %\n",
                                              100 * json["error"].get<double>(),
                                              100 * json["error_se"].get<double>())));
  const Json twice = json_of("eval first --seeds 3 --json")["test"];
  EXPECT_EQ(twice["draws"], 3);
  EXPECT_GT(twice["nll_draw_sd"].get<double>(), 0);
  EXPECT_THAT(run("eval first --seeds 3").out, HasSubstr("(sd over draws "));
  EXPECT_THAT(json_of("info first --json")["epochs"].back()["test_examples"], 60);
}

TEST_F(JsonCommand, ExamplesAndHiddenUnitsAreWrittenAsArrays) {
  train("first", "");
  const Result eval = run("eval first --log-prob p.npy --hidden h.npy");
  ASSERT_EQ(eval.code, 0) << eval.out;
  const NpyArray p = read_npy(directory_ / "p.npy"), h = read_npy(directory_ / "h.npy");
  EXPECT_EQ(p.shape, (std::vector<std::int64_t>{60}));
  EXPECT_EQ(h.shape, (std::vector<std::int64_t>{60, 30}));
  double sum = 0;
  for (const double value : std::get<std::vector<double>>(p.values)) sum += value;
  EXPECT_THAT(eval.out, HasSubstr(fmt::format("test NLL             {:.4f} ", -sum / 60)));
  for (const float value : std::get<std::vector<float>>(h.values)) {
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 1);
  }
  EXPECT_EQ(run("eval first --hidden h.txt").code, 2);
}

TEST_F(JsonCommand, ASearchThatHasNotEndedIsShown) {
  const std::string search =
      "train " + small_ + "--set train.epochs=2 --search-lr 0.01:0.1 --out a";
  ASSERT_EQ(run(search).code, 0);
  for (const char* file : {"a/config.toml", "a/metrics.jsonl", "a/sessions.jsonl", "a/samples.png"})
    fs::remove(directory_ / file);
  fs::remove_all(directory_ / "a/checkpoints");
  const Result info = run("info a");
  ASSERT_EQ(info.code, 0) << info.out;
  EXPECT_THAT(info.out, HasSubstr("the search for the learning rate has not ended"));
  EXPECT_THAT(info.out, HasSubstr("0.03"));
  EXPECT_EQ(json_of("info a --json")["search"]["trials"].size(), 3u);
}

}  // namespace
}  // namespace sfnn

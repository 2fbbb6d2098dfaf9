// The completion scripts, asked as the shells ask them.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "host/run/config.hpp"
#include "tests/support/program.hpp"

namespace sfnn {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

class Completion : public Program {
 protected:
  // What bash offers for a line with the cursor at its end. Words are split as readline does.
  std::vector<std::string> bash(const std::string& line) {
    std::ofstream(directory_ / "ask.bash") << R"(
      source completion.bash
      COMP_LINE=$1 COMP_POINT=${#1}
      read -ra COMP_WORDS <<<"${1//=/ = }"
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      [[ $(complete -p sfnn) == *"-F _sfnn sfnn" ]] || exit 1
      _sfnn sfnn
      ((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}")";
    EXPECT_EQ(run("completion bash > completion.bash").code, 0);
    const Result result = run("--help > /dev/null; bash ask.bash '" + line + "'");
    std::istringstream out(result.out);
    std::vector<std::string> words;
    for (std::string word; std::getline(out, word);) words.push_back(word);
    return words;
  }
};

TEST_F(Completion, BashKnowsCommandsAndFlags) {
  EXPECT_THAT(bash("sfnn tr"), ElementsAre("train"));
  EXPECT_THAT(bash("sfnn "), Contains("completion"));
  EXPECT_THAT(bash("sfnn --"), UnorderedElementsAre("--help", "--version"));
  EXPECT_THAT(bash("sfnn train --search"), UnorderedElementsAre("--search-lr", "--search-epochs"));
  EXPECT_THAT(bash("sfnn eval --"), Not(Contains("--resume")));
  EXPECT_THAT(bash("sfnn eval --cu"), ElementsAre("--curve"));
}

TEST_F(Completion, BashKnowsTheValuesOfAFlag) {
  EXPECT_THAT(bash("sfnn train --math b"), ElementsAre("bf16x3"));
  EXPECT_THAT(bash("sfnn data fa"), ElementsAre("fashion-mnist"));
  EXPECT_THAT(bash("sfnn train --config x"), IsEmpty());  // left to bash: files
  EXPECT_THAT(bash("sfnn eval ru"), IsEmpty());
  EXPECT_THAT(bash("sfnn train --math=t"), ElementsAre("tf32"));
  EXPECT_THAT(bash("sfnn train --device "), AllOf(Contains("auto"), Contains("cpu")));
  EXPECT_THAT(bash("sfnn data "), UnorderedElementsAre("mnist", "fashion-mnist"));
  EXPECT_THAT(bash("sfnn data mnist "), IsEmpty()) << "one set per call";
}

TEST_F(Completion, BashKnowsTheConfigKeysAndTheirChoices) {
  const auto keys = bash("sfnn train --set ");
  for (const ConfigOption& key : config_options()) EXPECT_THAT(keys, Contains(key.key + "="));
  EXPECT_THAT(bash("sfnn train --set data.tas"), ElementsAre("data.task="));
  // After '=' readline replaces only what follows it.
  EXPECT_THAT(bash("sfnn train --set data.task=h"), ElementsAre("halves"));
  EXPECT_THAT(bash("sfnn train --quiet --set train.estimator=G"),
              ElementsAre("G1", "G2", "G3", "G4", "G5"));
  EXPECT_THAT(bash("sfnn eval run --set eval.as_stochastic=t"), ElementsAre("true"));
  EXPECT_THAT(bash("sfnn train --set=data.tas"), ElementsAre("data.task="));
  EXPECT_THAT(bash("sfnn train --set=data.task=h"), ElementsAre("halves"));
}

// A terminal of zsh's own, in which the tab key is pressed.
TEST_F(Completion, ZshCompletes) {
  if (system("command -v zsh > /dev/null") != 0) GTEST_SKIP() << "zsh is not installed";
  ASSERT_EQ(run("completion zsh > _sfnn").code, 0);
  std::ofstream(directory_ / "ask.zsh") << R"(
    zmodload zsh/zpty
    zpty shell 'TERM=dumb PS1= zsh -f -i'
    zpty -w shell 'autoload -U compinit; compinit -u -D; source ./_sfnn; sfnn() { print "<$@>" }; print ready'
    zpty -r -m shell answer '*ready*ready*'
    zpty -w -n shell "$1"$'\t\n'
    zpty -r -m shell answer '*<*>*'
    print -r -- "${${answer##*<}%%>*}")";
  const auto zsh = [&](const std::string& line) {
    return run("--help > /dev/null; timeout 20 zsh -f ask.zsh '" + line + "'").out;
  };
  EXPECT_EQ(zsh("sfnn trai"), "train\n");
  EXPECT_EQ(zsh("sfnn train --dry"), "train --dry-run\n");
  EXPECT_EQ(zsh("sfnn data fas"), "data fashion-mnist\n");
  EXPECT_EQ(zsh("sfnn train --set data.tas"), "train --set data.task=\n");
  EXPECT_EQ(zsh("sfnn train --set data.task=hal"), "train --set data.task=halves\n");
  EXPECT_EQ(zsh("sfnn train --set=data.tas"), "train --set=data.task=\n");
  EXPECT_EQ(zsh("sfnn train --set=data.task=hal"), "train --set=data.task=halves\n");
  EXPECT_EQ(zsh("sfnn train --math=tf"), "train --math=tf32\n");
  EXPECT_EQ(zsh("sfnn train --math tf"), "train --math tf32\n");
}

}  // namespace
}  // namespace sfnn

#include "host/run/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <set>

#include "host/base/error.hpp"
#include "host/run/assemble.hpp"
#include "host/run/nearest_key.hpp"

namespace sfnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

Config with(std::initializer_list<std::string_view> settings) {
  Config config;
  for (const std::string_view setting : settings) apply_setting(config, setting);
  return config;
}

std::string setting_error(std::string_view setting) {
  return message_of([&] { with({setting}); });
}

std::string file_error(std::string_view text) {
  return message_of([&] { from_toml(text, "run.toml"); });
}

// A value for every option that is not its default.
const std::vector<std::pair<std::string, std::string>> kOtherValues = {
    {"seed", "9223372036854775807"},
    {"data.set", "my \"own\" \\ s\u00e9t"},
    {"data.train_x", "x.npy"},
    {"data.train_y", "y.npy"},
    {"data.test_x", "test_x.npy"},
    {"data.test_y", "test_y.npy"},
    {"data.target", "price,area"},
    {"data.bytes", "number"},
    {"data.output", "softmax"},
    {"data.task", "classes"},
    {"data.binarize", "epoch"},
    {"data.center", "true"},
    {"data.standardize", "both"},
    {"data.noise", "0.4"},
    {"data.limit", "5000"},
    {"data.valid", "100"},
    {"data.test_limit", "7"},
    {"data.test_subjects", "3"},
    {"data.seed", "2"},
    {"net.hidden", "40s+160d,40n+160relu,7d,9tanh"},
    {"net.sigma", "learnt-each"},
    {"net.sigma_start", "0.5"},
    {"net.init_scale", "0.5"},
    {"net.init_from", "runs/a"},
    {"train.estimator", "G5"},
    {"train.particles", "3"},
    {"train.epochs", "11"},
    {"train.batch", "1"},
    {"train.learning_rate", "0.30000000000000004"},
    {"train.schedule", "steps"},
    {"train.warmup_epochs", "0.5"},
    {"train.warmup_steps", "12"},
    {"train.step_epochs", "2.5,7"},
    {"train.step_factor", "0.5"},
    {"train.hidden_rate", "0.05"},
    {"train.sigma_rate", "0.02"},
    {"train.optimizer", "adamw"},
    {"train.momentum", "0"},
    {"train.beta1", "0.8"},
    {"train.beta2", "0.99"},
    {"train.epsilon", "1e-05"},
    {"train.weight_decay", "0.01"},
    {"train.decay_biases", "true"},
    {"train.clip_norm", "5"},
    {"train.ema", "0.999"},
    {"train.patience", "3"},
    {"train.baseline_decay", "0.5"},
    {"train.c", "-1e-300"},
    {"train.temperature", "0.5"},
    {"train.drop_below", "0"},
    {"train.tile", "10"},
    {"train.parts", "2"},
    {"train.save_every", "10"},
    {"train.save_steps", "500"},
    {"train.keep", "7"},
    {"proposal.on", "true"},
    {"proposal.hidden", "30d,20d"},
    {"proposal.learning_rate", "0.25"},
    {"proposal.particles_from_P", "3"},
    {"proposal.rule", "bound"},
    {"eval.particles", "100000"},
    {"eval.every", "5"},
    {"eval.weights", "average"},
    {"eval.as_stochastic", "true"},
    {"eval.select", "nll_proposal"},
};

TEST(Config, ListsAreTakenAsTomlHasThem) {
  const auto layers = with({"net.hidden=200s,40s+160d"}).net.hidden;
  for (const char* list : {"[\"200s\", \"40s+160d\"]", "['200s','40s+160d',]", "[200s, 40s+160d]"})
    EXPECT_EQ(with({std::string("net.hidden=") + list}).net.hidden, layers) << list;
  EXPECT_EQ(with({"net.hidden=\"200s\""}).net.hidden, with({"net.hidden=200s"}).net.hidden);
  EXPECT_EQ(with({"train.step_epochs=[10, 15]"}).train.step_epochs, (std::vector<double>{10, 15}));
  for (const char* bad : {"[200s", "200s]", "200s,", ",200s", "200s 200s", "[200s,,200s]", "\"200s"})
    EXPECT_THROW(with({std::string("net.hidden=") + bad}), ConfigError) << bad;
}

TEST(Config, TextIsTakenAsTomlHasIt) {
  EXPECT_EQ(with({"train.estimator=\"G5\""}).train.estimator, Estimator::G5);
  EXPECT_EQ(with({"train.estimator='G5'"}).train.estimator, Estimator::G5);
  EXPECT_THROW(with({"train.estimator=\"G5"}), ConfigError);
  EXPECT_EQ(with({"data.set='odd'"}).data.set, "'odd'") << "a name may have quotes";
}

TEST(Config, DefaultsAreTheDocumentedOnes) {
  const Config config;
  EXPECT_EQ(config.train.seed, 1u);
  EXPECT_EQ(config.train.estimator, Estimator::G3);
  EXPECT_EQ(config.train.particles, 20);
  EXPECT_EQ(config.eval.particles, 100);
  EXPECT_EQ(config.train.warmup_epochs_or_default(20), 4);
  EXPECT_EQ(config.train.warmup_epochs_or_default(50), 5);
  EXPECT_EQ(with({"train.schedule=cosine"}).train.warmup_epochs_or_default(50), 0);
  EXPECT_EQ(with({"train.warmup_epochs=0.25"}).train.warmup_epochs_or_default(20), 0.25);
  EXPECT_DOUBLE_EQ(with({"train.estimator=G5"}).train.c_or_default(20), 1.0 / 20);
  EXPECT_DOUBLE_EQ(with({"train.estimator=vimco"}).train.c_or_default(20), std::log(20.0 / 19));
  EXPECT_EQ(with({"train.c=0.5"}).train.c_or_default(20), 0.5);
  EXPECT_DOUBLE_EQ(config.train.drop_below_or_default(20), 1e-6 / 20);
  EXPECT_EQ(with({"train.drop_below=0"}).train.drop_below_or_default(20), 0);
  EXPECT_NO_THROW(config.validate());
}

TEST(Config, EveryKeyIsUniqueListedAndSettable) {
  std::set<std::string> keys;
  Config config;
  Config::visit(config, [&](std::string_view key, auto&, std::string_view help, const Allowed&) {
    EXPECT_TRUE(keys.emplace(key).second) << key;
    EXPECT_FALSE(help.empty()) << key;
    EXPECT_THAT(config_help(), HasSubstr("  " + std::string(key) + "=")) << key;
  });
  std::set<std::string> tried;
  for (const auto& [key, value] : kOtherValues) tried.insert(key);
  EXPECT_EQ(keys, tried) << "kOtherValues must have a value for each key";
}

TEST(Config, EachOptionSurvivesTomlAndShowsInTheDifferences) {
  const Config defaults;
  for (const auto& [key, value] : kOtherValues) {
    Config config;
    apply_setting(config, key + "=" + value);
    const auto lines = differences(config, defaults);
    ASSERT_EQ(lines.size(), 1u) << key;
    EXPECT_THAT(lines[0], StartsWith(key + ": " + value + " against "));
    EXPECT_NE(config_hash(config), config_hash(defaults)) << key;

    const Config back = from_toml(to_toml(config), "dump");
    EXPECT_THAT(differences(config, back), IsEmpty()) << key;
    EXPECT_EQ(config_hash(config), config_hash(back)) << key;
    EXPECT_EQ(to_toml(config), to_toml(back)) << key;
  }
}

// As in a checkpoint saved by a user's own program.
TEST(Config, OptionsOfTrainingAloneTellTheirKeys) {
  const std::set<std::string> others{"train.save_every", "train.save_steps", "train.keep"};
  const std::set<std::string> theirs{"seed", "data.seed", "data.noise", "net.init_scale"};
  for (const auto& [key, value] : kOtherValues) {
    if (!theirs.contains(key) && (!key.starts_with("train.") || others.contains(key))) continue;
    const Config config = with({key + "=" + value});
    Config other;
    other.train = config.train;
    EXPECT_THAT(differences(other, config), IsEmpty()) << key;
  }
}

TEST(Config, TheSeedOfTheDataReachesThem) {
  const auto data = [](const char* seed) {
    return data_of(with({"data.limit=20", "data.test_limit=20", seed}), {});
  };
  EXPECT_EQ(data("data.seed=1").train.x.values, data("data.seed=1").train.x.values);
  EXPECT_NE(data("data.seed=1").train.x.values, data("data.seed=2").train.x.values);
  EXPECT_EQ(data("seed=1").train.x.values, data("seed=2").train.x.values);
}

// Runs are compared, and the trials of a search found again, by keys, values and their order.
TEST(Config, TheHashOfADefaultConfigStaysAsItWas) {
  EXPECT_EQ(config_hash(Config()), 0x7BE1D0D453DEFFC4u);
}

TEST(Config, FileOverridesDefaultsAndSettingsOverrideTheFile) {
  Config config = from_toml("seed = 7\n[train]\nepochs = 3\nlearning_rate = 1\n", "run.toml");
  EXPECT_EQ(config.train.seed, 7u);
  EXPECT_EQ(config.train.epochs, 3);
  EXPECT_EQ(config.train.learning_rate, 1.0);
  EXPECT_EQ(config.train.particles, 20);
  apply_setting(config, "train.epochs=4");
  EXPECT_EQ(config.train.epochs, 4);
}

TEST(Config, LayersReadFromListAndFromCommas) {
  const Config file = from_toml("[net]\nhidden = [\"40s+160d\", \"200s\"]", "run.toml");
  EXPECT_THAT(file.net.hidden,
              ElementsAre(LayerSpec{.n_s = 40, .n_d = 160}, LayerSpec{.n_s = 200, .n_d = 0}));
  EXPECT_EQ(with({"net.hidden=40s+160d,200s"}).net.hidden, file.net.hidden);
  EXPECT_THAT(with({"net.hidden="}).net.hidden, IsEmpty());
  EXPECT_THAT(from_toml("net.hidden = []", "run.toml").net.hidden, IsEmpty());
  EXPECT_THAT(setting_error("net.hidden=200s,"), StartsWith("net.hidden: layer '' is not"));
  EXPECT_THAT(setting_error("net.hidden=200x"), StartsWith("net.hidden: layer '200x' is not"));
  EXPECT_THAT(file_error("net.hidden = [200]"),
              StartsWith("run.toml:1: net.hidden = 200: must be a list of layers"));
}

TEST(Config, SigmaIsANumberOrAWord) {
  EXPECT_EQ(Config().net.sigma, (Sigma{.output = Output::gaussian, .value = 1}));
  EXPECT_EQ(with({"net.sigma=0.25"}).net.sigma, (Sigma{.output = Output::gaussian, .value = 0.25}));
  EXPECT_EQ(from_toml("net.sigma = 2", "run.toml").net.sigma.value, 2);
  EXPECT_EQ(with({"net.sigma=learnt"}).net.sigma.output, Output::gaussian_learnt);
  EXPECT_EQ(from_toml("net.sigma = 'predicted'", "run.toml").net.sigma.output,
            Output::gaussian_predicted);
  for (const char* bad : {"0", "-1", "nan", "learned", ""})
    EXPECT_THAT(setting_error(std::string("net.sigma=") + bad),
                HasSubstr("a number above 0 or one of learnt | learnt-each | predicted"));
}

// What the data are decides whether there is a sigma, and the network which one.
TEST(Config, SigmaIsForGaussianTargets) {
  const DataSet real{.D_in = 1, .D_out = 2, .output = Output::gaussian};
  const DataSet bits{.D_in = 1, .D_out = 2, .output = Output::bernoulli};
  EXPECT_EQ(network_of(with({"net.sigma=learnt-each"}), real).output, Output::gaussian_each);
  EXPECT_EQ(network_of(with({"net.sigma=0.5"}), real).sigma, 0.5);
  EXPECT_EQ(network_of(Config(), bits).output, Output::bernoulli);
  EXPECT_THROW(network_of(with({"net.sigma=0.5"}), bits), ConfigError);
  EXPECT_THROW(network_of(with({"net.sigma=learnt"}), bits), ConfigError);
  EXPECT_THAT(setting_error("data.output=gaussian-learnt"),
              HasSubstr("softmax | bernoulli | gaussian | poisson"));
}

TEST(Config, UnknownKeysNameTheNearest) {
  EXPECT_EQ(setting_error("train.epoch=5"),
            "unknown key 'train.epoch': did you mean 'train.epochs'?");
  EXPECT_EQ(setting_error("epochs=5"), "unknown key 'epochs': did you mean 'train.epochs'?");
  for (const auto& [typed, meant] : std::initializer_list<std::pair<const char*, const char*>>{
           {"train.lr", "train.learning_rate"},
           {"lr", "train.learning_rate"},
           {"train.clip", "train.clip_norm"},
           {"optim", "train.optimizer"},
           {"train.wd", "train.weight_decay"},
           {"train.seed", "seed"},
           {"batch_size", "train.batch"},
           {"num_epochs", "train.epochs"},
           {"model.hidden", "net.hidden"},
           {"data.lmit", "data.limit"}}) {
    EXPECT_EQ(nearest_key(typed), meant) << typed;
  }
  // No guess is better than a wrong one.
  for (const char* typed : {"train.dropout", "x", "train.zz", "device", "verbose", ""})
    EXPECT_EQ(nearest_key(typed), "") << typed;
  EXPECT_THAT(setting_error("data.root=x"), StartsWith("unknown key 'data.root'"));
  EXPECT_EQ(file_error("seed = 1\n[train]\nlearning_rat = 1"),
            "run.toml:3: unknown key 'train.learning_rat': did you mean 'train.learning_rate'?");
  EXPECT_THAT(file_error("[trian]\nepochs = 1"), StartsWith("run.toml:1: unknown key 'trian'"));
  EXPECT_THAT(file_error("[trian]"), StartsWith("run.toml:1: unknown key 'trian'"));
  EXPECT_THAT(setting_error("train.epochs"), HasSubstr("write key=value"));
}

TEST(Config, WrongTypesAreRefused) {
  EXPECT_EQ(file_error("[train]\nepochs = \"5\""),
            "run.toml:2: train.epochs = \"5\": must be a whole number from 0 to 2147483647");
  EXPECT_THAT(file_error("[train]\nepochs = 5.0"), HasSubstr("a whole number"));
  EXPECT_THAT(file_error("[train]\nepochs = [5]"), HasSubstr("a whole number"));
  EXPECT_THAT(file_error("[train.epochs]\nx = 5"), HasSubstr("train.epochs = a table: must be"));
  EXPECT_THAT(file_error("seed = 2020-01-01"), HasSubstr("seed = a date or time: must be"));
  EXPECT_THAT(file_error("[data]\ncenter = 1"),
              HasSubstr("data.center = 1: must be true or false"));
  EXPECT_THAT(file_error("train = 3"), HasSubstr("unknown key 'train'"));
  EXPECT_THAT(file_error("[train]\nc = \"half\""), HasSubstr("must be auto or a number"));
  EXPECT_EQ(setting_error("train.particles=many"),
            "train.particles = many: must be a whole number from 1 to 2147483647");
  for (const auto* setting : {"train.epochs=5x", "train.epochs=", "train.epochs=1e3", "seed=-1",
                              "seed=9223372036854775808", "data.center=yes",
                              "train.c=", "train.learning_rate=nan", "train.learning_rate=inf"})
    EXPECT_THAT(setting_error(setting), HasSubstr(": must be ")) << setting;
}

TEST(Config, ValuesOutOfRangeAreRefused) {
  EXPECT_EQ(setting_error("train.momentum=1"),
            "train.momentum = 1: must be a number from 0 to below 1");
  EXPECT_EQ(
      setting_error("train.estimator=G6"),
      "train.estimator = G6: must be one of G1 | G2 | G3 | G4 | G5 | vimco | vimco-geometric | "
      "rloo | darn | st-gumbel");
  EXPECT_EQ(setting_error("data.task=poems"),
            "data.task = poems: must be one of auto | halves | classes | faces | denoise | generate");
  EXPECT_EQ(setting_error("data.output=any"),
            "data.output = any: must be one of softmax | bernoulli | gaussian | poisson");
  EXPECT_EQ(setting_error("data.binarize=twice"),
            "data.binarize = twice: must be one of once | epoch | none");
  for (const auto* setting :
       {"train.particles=0", "train.particles=2147483648", "train.batch=0", "train.epochs=-1",
        "train.learning_rate=-0.1", "data.noise=-1", "train.drop_below=1", "eval.particles=0",
        "eval.every=0", "train.save_every=0", "train.keep=0", "data.task=on",
        "data.task=", "data.limit=2147483648", "data.valid=9223372036854775807",
        "train.epochs=2147483648", "train.tile=2147483648", "train.parts=2147483648"})
    EXPECT_THAT(setting_error(setting), HasSubstr(": must be ")) << setting;
}

TEST(Config, TextThatCannotBeDumpedIsRefused) {
  for (const std::string text : {"a\nb", "a\x7f", "\xff", "\xc0\xaf", "\xed\xa0\x80", "caf\xc3"})
    EXPECT_THAT(setting_error("data.set=" + text), HasSubstr("text without control characters"));
  EXPECT_EQ(with({"data.set=a=b/\u65e5\u672c"}).data.set, "a=b/\u65e5\u672c");
}

TEST(Config, BadFilesGetOneSentence) {
  EXPECT_THAT(file_error("seed = 1\nseed = 2"), StartsWith("run.toml:2: "));
  EXPECT_THAT(file_error("seed = "), StartsWith("run.toml:1: "));
  EXPECT_THAT(file_error(std::string(100000, '#')), HasSubstr("too many for a config"));
  std::string deep = "a";
  for (int i = 0; i < 30000; ++i) deep += ".a";
  EXPECT_THAT(file_error(deep + " = 1"), HasSubstr("dots are too many for a config"));
  EXPECT_THAT(file_error(deep.substr(0, 3001) + " = 1"), HasSubstr("unknown key 'a'"));
  EXPECT_THAT(file_error("data.set = \"\"\"\\\n\u00a7\"\"\""), HasSubstr("are not read"));
  EXPECT_EQ(from_toml("\xef\xbb\xbfseed = 5", "").train.seed, 5u);
  const std::string brackets(10000, '[');
  EXPECT_THAT(file_error("seed = " + brackets), StartsWith("run.toml:1: "));
  EXPECT_THAT(message_of([] { load_config("no/such.toml"); }),
              AllOf(StartsWith("no/such.toml: cannot be read"), HasSubstr("No such file")));
  EXPECT_THAT(message_of([] { load_config("/"); }), HasSubstr("not a regular file"));
}

TEST(Config, CharactersBeyondAsciiBelongInDoubleQuotes) {
  const auto set = [](const std::string& quoted) {
    return from_toml("# \u00a7\"\ndata.set = " + quoted + " # \u00a7 \"\nseed = 5", "").data.set;
  };
  EXPECT_EQ(set("\"\\\"\u00a7\""), "\"\u00a7");
  EXPECT_EQ(set("\"a\\\\\u00e9\U0001f600\u65e5\""), "a\\\u00e9\U0001f600\u65e5");
  EXPECT_EQ(set("'a\\' # \"\u00a7"), "a\\");
  for (const char* value : {"\u00e9", "'\u00e9'", "\"\\\u00e9\"", "\"a\"\u00e9", "\"\\\"\"\u00e9"})
    EXPECT_THAT(file_error(std::string("seed = 1\ndata.set = ") + value),
                HasSubstr("run.toml:2: a character beyond ASCII needs double quotes"))
        << value;
  // What looks like a string and is none for TOML.
  EXPECT_THAT(file_error("seed = 3\"\u03d8\""), StartsWith("run.toml:1: "));
  EXPECT_THAT(file_error("seed = 3=\"\u03d8\""), StartsWith("run.toml:1: "));
  for (const char* bytes : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xc3"})
    EXPECT_THAT(file_error(std::string("\n# ") + bytes),
                HasSubstr("run.toml:2: this is not UTF-8"));
}

TEST(Config, OneParticleIsRefusedOnlyWhereUnitsLearnFromResponsibilities) {
  const auto error = [](const Config& config) { return message_of([&] { config.validate(); }); };
  EXPECT_THAT(error(with({"train.particles=1", "train.estimator=G4"})),
              AllOf(HasSubstr("with one particle every responsibility is 1"),
                    HasSubstr("towards its own draw"), HasSubstr("2 or more")));
  EXPECT_THAT(error(with({"train.particles=1", "train.estimator=G5"})),
              HasSubstr("the gradient would be zero"));
  for (const auto* estimator : {"train.estimator=G1", "train.estimator=G2", "train.estimator=G3"})
    EXPECT_NO_THROW(with({"train.particles=1", estimator}).validate());
  for (const auto* hidden : {"net.hidden=200d", "net.hidden=40n+160d", "net.hidden="})
    EXPECT_NO_THROW(with({"train.particles=1", "train.estimator=G4", hidden}).validate());
}

TEST(Config, KeysThatContradictEachOtherAreRefused) {
  const auto error = [](std::initializer_list<std::string_view> settings) {
    return message_of([&] { with(settings).validate(); });
  };
  EXPECT_THAT(error({"train.epochs=3", "train.warmup_epochs=4"}), HasSubstr("train.warmup_epochs"));
  EXPECT_THAT(error({"eval.as_stochastic=true"}), StartsWith("eval.as_stochastic = true: only a"));
  EXPECT_EQ(error({"eval.as_stochastic=true", "net.hidden=200d,200d"}), "no error");
  EXPECT_THAT(error({"eval.as_stochastic=true", "net.hidden=200d,200relu"}),
              StartsWith("eval.as_stochastic = true: layer '200relu' cannot be read as a"));
  EXPECT_EQ(error({"train.epochs=0"}), "no error");
  EXPECT_THAT(error({"train.warmup_epochs=1", "train.warmup_steps=9"}), HasSubstr("both set"));
  EXPECT_THAT(error({"train.schedule=steps"}), HasSubstr("needs train.step_epochs"));
  EXPECT_THAT(error({"train.step_epochs=3"}), HasSubstr("for train.schedule = steps, not paper"));
  EXPECT_THAT(error({"train.schedule=steps", "train.step_epochs=3,2"}), HasSubstr("must not fall"));
  EXPECT_EQ(error({"train.schedule=steps", "train.step_epochs=2,3"}), "no error");
  EXPECT_THAT(error({"eval.weights=average"}), HasSubstr("set train.ema"));
  EXPECT_EQ(error({"eval.weights=average", "train.ema=0.99"}), "no error");
}

TEST(Config, EveryShippedFileLoads) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SFNN_SOURCE_DIR "/bench/paper/configs")) {
    ++count;
    EXPECT_NO_THROW(load_config(entry.path()).validate()) << entry.path();
  }
  EXPECT_GE(count, 3);  // the paper's experiments
  const Config halves = load_config(SFNN_SOURCE_DIR "/bench/paper/configs/mnist-halves.toml");
  EXPECT_EQ(halves.train.warmup_epochs_or_default(50), 5);
  EXPECT_EQ(halves.net.hidden.size(), 2u);
}

}  // namespace
}  // namespace sfnn

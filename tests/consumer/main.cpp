// Goes once through all of <sfnn/sfnn.hpp>, on numbers of its own: half of y repeats x, and the
// other half the toss of a coin, which a network without hidden randomness cannot do at less than
// log 2 per number. Works in the current directory, and exits with 0 if all is as promised.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <sfnn/sfnn.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int kHalf = 6;  // of y

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("not so: ") + what);
}

template <class Refused, class F>
void expect_refused(F&& f, const char* what) {
  try {
    f();
  } catch (const Refused& error) {
    std::printf("refused: %s\n", error.what());
    return;
  }
  throw std::runtime_error(std::string("not refused: ") + what);
}

struct Numbers {
  std::vector<float> x, y;
};

Numbers toss(int count, unsigned seed) {
  std::mt19937 random(seed);
  Numbers numbers;
  for (int n = 0; n < count; ++n) {
    const auto x = float(random() % 2), coin = float(random() % 2);
    numbers.x.push_back(x);
    numbers.y.insert(numbers.y.end(), kHalf, x);
    numbers.y.insert(numbers.y.end(), kHalf, coin);
  }
  return numbers;
}

sfnn::Data coins() {
  const Numbers train = toss(2000, 1), test = toss(500, 2), valid = toss(200, 3);
  return sfnn::Data::from_arrays({.inputs = 1, .outputs = 2 * kHalf}, {train.x, train.y},
                                 {test.x, test.y}, {valid.x, valid.y});
}

sfnn::RunConfig coin_config() {
  sfnn::RunConfig config{{"net.hidden", "20s,10s"}, {"train.learning_rate", "0.3"}};
  return config.set("train.epochs", 40).set("eval.particles", 20);
}

void configure() {
  sfnn::RunConfig config = coin_config();
  expect(config.get("train.epochs") == "40" && config.get("net.hidden") == "20s,10s", "settings");
  expect(sfnn::RunConfig::from_toml(config.to_toml()) == config, "a config reads back");
  config.set("train.momentum", 0.1).set("data.center", true).set("seed", 3u);
  expect(config != coin_config(), "configs differ");
  expect_refused<sfnn::ConfigError>([&] { config.set("train.epoch", 1); }, "an unknown key");
  const auto options = sfnn::RunConfig::options();
  const auto epochs = std::ranges::find(options, "train.epochs", &sfnn::ConfigOption::key);
  expect(epochs != options.end() && epochs->value == "20" && !epochs->help.empty(), "its help");
}

// Weights that were trained in one go.
std::vector<sfnn::WeightTensor> train(const sfnn::Device& device, const sfnn::Data& data) {
  int epochs = 0;
  sfnn::Training training(device, data, coin_config());
  expect(training.run({.epoch = [&](const sfnn::ProgressFigures&) { ++epochs; }}), "it finishes");
  expect(epochs == 40 && training.finished(), "every epoch is told of");
  training.network().save("network.safetensors");

  const sfnn::Network network = sfnn::Network::load(device, "network.safetensors");
  const sfnn::Evaluation test = evaluate(network, data);
  std::printf("%s: test NLL %.3f, without hidden randomness %.3f\n", network.description().c_str(),
              test.nll, kHalf * std::log(2.0));
  expect(test.nll < 1.5 && test.examples == 500, "it has learnt");  // log 2 = 0.693 is the best
  expect(network.weights() == training.network().weights(), "a checkpoint holds the weights");
  expect(network.config() == training.network().config(), "and the config");
  return network.weights();
}

void stop_and_resume(const sfnn::Device& device, const sfnn::Data& data,
                     const std::vector<sfnn::WeightTensor>& expected) {
  sfnn::Training half(device, data, coin_config());
  expect(!half.run({.stop = [&] { return half.steps() == half.total_steps() / 2; }}), "it stops");
  half.save("half.safetensors");
  sfnn::Training rest = sfnn::Training::resume(device, data, "half.safetensors");
  expect(rest.run() && rest.network().weights() == expected, "resumed weights are the same");
}

void extend_by_epochs(const sfnn::Device& device, const sfnn::Data& data) {
  sfnn::RunConfig config = coin_config().set("train.schedule", "constant").set("train.epochs", 3);
  sfnn::Training whole(device, data, config);
  whole.run();
  config.set("train.epochs", 1);
  sfnn::Training part(device, data, config);
  part.run();
  for (int more = 0; more < 2; ++more) {
    part = sfnn::Training::extend(part.network(), data, config);
    part.run();
  }
  expect(part.network().weights() == whole.network().weights(), "epoch by epoch is the same");
  const std::string bytes = part.network().to_bytes();
  const auto same = sfnn::Network::from_bytes(device, std::as_bytes(std::span(bytes)));
  expect(same.weights() == whole.network().weights(), "bytes hold the network");
}

// The same weights from floats that are copied and from bytes that are not.
void borrow_arrays(const sfnn::Device& device) {
  const Numbers numbers = toss(200, 1);
  const std::vector<std::uint8_t> x(numbers.x.begin(), numbers.x.end()),
      y(numbers.y.begin(), numbers.y.end());
  const sfnn::ArrayShape shape{.inputs = 1, .outputs = 2 * kHalf};
  auto owner = std::make_shared<int>(0);
  const auto copied = sfnn::Data::from_arrays(shape, {numbers.x, numbers.y});
  const auto borrowed = sfnn::Data::from_arrays(shape, {x, y, owner});
  expect(owner.use_count() > 1, "the owner is kept");
  sfnn::RunConfig config = coin_config().set("train.epochs", 2);
  sfnn::Training a(device, copied, config), b(device, borrowed, config);
  expect(a.run() && b.run(), "both train");
  expect(a.network().weights() == b.network().weights(), "to the same weights");
}

void change_weights(const sfnn::Device& device, const sfnn::Data& data) {
  sfnn::Network network = sfnn::Network::load(device, "network.safetensors");
  const sfnn::Network before = network;
  const sfnn::WeightTensor c{"c", {2 * kHalf}, std::vector<float>(2 * kHalf, 9.0f)};
  network.set_weights(std::vector{c});
  expect(network.weights().back() == c, "weights are set");
  expect(before.weights().back() != c, "a copy keeps its own");
  expect(evaluate(network, data).nll > 2 * evaluate(before, data).nll, "and used");
  expect_refused<sfnn::ShapeError>(
      [&] {
        network.set_weights(std::vector{sfnn::WeightTensor{"W", {1}, {0}}});
      },
      "no such tensor");
}

void predict_and_sample(const sfnn::Device& device) {
  const sfnn::Network network = sfnn::Network::load(device, "network.safetensors");
  const std::vector<float> x{0, 1, 1}, last{1};
  const std::vector<float> means = predict(network, {x}, {.same_draws = true});
  expect(means.size() == 3 * 2 * kHalf && means[0] < 0.1f && means[2 * kHalf] > 0.9f, "means");
  const std::vector<float> alone = predict(network, {last}, {.same_draws = true});
  expect(std::equal(alone.begin(), alone.end(), means.end() - 2 * kHalf), "a row has no place");
  const std::vector<float> keyed = predict(network, {x});
  expect(!std::equal(alone.begin(), alone.end(), keyed.end() - 2 * kHalf), "or it has one");

  const std::vector<float> y = sample(network, {x}, {.samples = 50});
  expect(y.size() == 3 * 50 * 2 * kHalf, "as many samples as asked for");
  expect(std::ranges::all_of(y, [](float v) { return v == 0 || v == 1; }), "bits");
  double coins = 0;
  for (int s = 0; s < 50; ++s) coins += y[(s + 1) * 2 * kHalf - 1];
  expect(coins > 10 && coins < 40, "a coin has two sides");
}

void run_on_disk(const sfnn::Device& device, const sfnn::Data& data,
                 const std::vector<sfnn::WeightTensor>& expected) {
  int steps = 0;
  const auto first = train_run(device, "run", coin_config(), {.data = data},
                               {.stop = [&] { return ++steps == 100; }});
  expect(!first.finished && first.step == 100, "the run stops");
  expect_refused<sfnn::ConfigError>([&] { train_run(device, "run", coin_config()); }, "a second");
  const auto rest = resume_run(device, "run", {.data = data});
  expect(rest.finished && rest.test && rest.test->nll < 1.5, "and goes on to its test");
  expect(sfnn::Network::load(device, "run").weights() == expected, "to the same weights");
  expect(resume_run(device, "run").test->nll == rest.test->nll, "a finished run stays");

  const sfnn::SavedRun run("run");
  expect(run.epochs().size() == 40 && run.epochs().back().test_nll == rest.test->nll, "metrics");
  const auto metrics = run.metrics();
  expect(metrics.front().key == "epoch" && metrics.front().values.back() == 40, "by key, too");
  expect(run.sessions().size() == 2 && run.best() && run.checkpoints().size() == 2, "its files");
  expect(sfnn::Network::load(device, "run", /*best=*/true).step() > 0, "the best network");
}

void search_study_and_report(const sfnn::Device& device) {
  sfnn::RunConfig config{{"data.limit", "60"},   {"data.valid", "20"},  {"data.test_limit", "16"},
                         {"net.hidden", "8s"},   {"train.epochs", "2"}, {"train.batch", "20"},
                         {"eval.particles", "5"}};
  const auto result =
      train_run(device, "searched", config, {.search = {{.low = 0.1, .high = 0.3}}});
  expect(result.finished && (result.learning_rate == 0.1 || result.learning_rate == 0.3), "a rate");

  const sfnn::SavedRun run("searched");
  const sfnn::Data data = run.data();
  const sfnn::Network network = sfnn::Network::load(device, "searched");
  expect(data.has_pictures() && sample_png(network, data).starts_with("\x89PNG"), "a picture");
  const sfnn::Study study = study_estimators(network, data, {.particles = 4, .draws = 10});
  expect(study.estimators.size() == 10 && study.estimators[0].estimator == "G1", "a study");
  const std::string page = report_html(device, {"searched", "run"});
  expect(page.find("searched") != std::string::npos && page.find("</html>") != std::string::npos,
         "a page");
}

void refuse() {
  const std::vector<float> x{0}, y{2};
  expect_refused<sfnn::DataError>(
      [&] {
        sfnn::Data::from_arrays({"softmax", 1, 2}, {x, y});
      },
      "class 2 of 2");
  expect_refused<sfnn::ConfigError>([] { sfnn::Device({.device = "abacus"}); }, "an abacus");
  expect_refused<sfnn::ConfigError>([] { sfnn::SavedRun("nowhere"); }, "no run");
}

}  // namespace

int main() {
  try {
    const sfnn::Device device({.device = "cpu", .threads = 2});
    expect(sfnn::list_devices().front().name == "cpu" && device.name() == "cpu", "a device");
    const sfnn::Data data = coins();
    configure();
    const auto weights = train(device, data);
    stop_and_resume(device, data, weights);
    extend_by_epochs(device, data);
    borrow_arrays(device);
    change_weights(device, data);
    predict_and_sample(device);
    run_on_disk(device, data, weights);
    search_study_and_report(device);
    refuse();
    std::printf("sfnn %s on %s: all as promised\n", sfnn::library_version().c_str(),
                device.description().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}

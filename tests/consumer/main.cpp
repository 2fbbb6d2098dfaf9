// Trains a network on numbers of its own: half of y repeats x, and the other half the toss of a
// coin, which a network without hidden randomness cannot do at less than log 2 a number.
// Leaves the checkpoint network.safetensors. Exits with 0 if the network has learnt it.
#include <cmath>
#include <cstdio>
#include <random>
#include <sfnn/sfnn.hpp>
#include <vector>

struct Numbers {
  std::vector<float> x, y;
};

constexpr int kHalf = 6;  // of y

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

int main() {
  const Numbers train = toss(2000, 1), test = toss(500, 2);
  try {
    const auto backend = sfnn::make_backend({.device = "cpu"});
    const sfnn::DataSet data =
        sfnn::make_data_set({.output = sfnn::Output::bernoulli, .D_in = 1, .D_out = 2 * kHalf},
                            {train.x, train.y}, {test.x, test.y});
    const sfnn::NetworkSpec network = sfnn::network_for(data, {"20s", "10s"});
    const sfnn::TrainOptions options{.epochs = 40, .learning_rate = 0.3};
    sfnn::Trainer trainer(*backend, network, options, data);
    while (trainer.step() < trainer.total_steps()) trainer.train_step();
    sfnn::save_checkpoint("network.safetensors", sfnn::checkpoint_of(trainer, options, data));

    const sfnn::Checkpoint saved = sfnn::load_checkpoint("network.safetensors");
    const sfnn::Model model(*backend, saved.network(), saved.params(), saved.x_mean);
    const double nll = sfnn::evaluate(model, data.test, {}).nll;
    std::printf("%s: test NLL %.3f, without hidden randomness %.3f\n",
                sfnn::to_string(saved.network()).c_str(), nll, kHalf * std::log(2.0));
    try {
      sfnn::make_data_set({.output = sfnn::Output::softmax, .D_in = 1, .D_out = 2},
                          {std::vector<float>{0}, std::vector<float>{2}});
      std::printf("class 2 of 2 was taken\n");
      return 1;
    } catch (const sfnn::DataError& error) {
      std::printf("refused: %s\n", error.what());
    }
    return nll < 1.5 ? 0 : 1;  // log 2 = 0.693 is the best possible
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}

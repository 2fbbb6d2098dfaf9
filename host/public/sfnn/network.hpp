// A network with its weights on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <sfnn/config.hpp>
#include <sfnn/data.hpp>
#include <sfnn/device.hpp>
#include <span>
#include <string>
#include <vector>

namespace sfnn {

// Layer l reads z, the output of the layer below (x for the first), and has
//   stochastic units     s ~ Bernoulli(sigma(z W_s + b_s)): "layer1.W_s", "layer1.b_s"
//   deterministic units  d = sigma(z W_d + s U + b_d): "layer1.W_d", "layer1.U", "layer1.b_d"
// The output is o = z V + c; sigma of Gaussian targets is 0.001 + 0.999 exp(rho) if it is learnt,
// with a parameter "rho", or predicted, with rho as the second half of o. Matrices are [inputs,
// units], row-major; biases [units].
struct WeightTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;

  friend bool operator==(const WeightTensor&, const WeightTensor&) = default;
};

// Copies are independent of each other; only the device is shared.
class Network {
 public:
  // Hidden layers and first weights as the config's net.* keys and seed say, input and output as
  // the data have them. Throws ConfigError.
  Network(const Device&, const Data&, const RunConfig&);
  // A checkpoint, or a run directory's newest one; best: the one of lowest validation NLL. Damaged
  // ones are passed over. Throws DataError if there is no sound one.
  static Network load(const Device&, const std::filesystem::path& run_or_checkpoint,
                      bool best = false);
  // As a checkpoint that the program reads, too; atomically. Throws SaveError.
  void save(const std::filesystem::path&) const;
  // The same file as bytes in memory.
  std::string to_bytes() const;
  static Network from_bytes(const Device&, std::span<const std::byte>);  // throws DataError

  std::string description() const;  // "392-200s-200s-392 bernoulli"
  std::string output() const;       // distribution of y: softmax, bernoulli, gaussian, ...
  std::int64_t inputs() const;
  std::int64_t outputs() const;             // numbers of a y; softmax: how many classes there are
  std::vector<std::string> hidden() const;  // "200s" stochastic, "200d" deterministic, ...
  std::int64_t parameter_count() const;
  std::int64_t step() const;        // steps that its weights were trained
  const RunConfig& config() const;  // what it is or was trained with

  std::vector<WeightTensor> weights() const;  // those that it predicts with: see eval.weights
  // Those that are listed, the others stay. Throws ShapeError for an unknown name or another shape,
  // DataError for a number that is not finite.
  void set_weights(std::span<const WeightTensor>);

  Network(const Network&);
  Network(Network&&) noexcept;
  Network& operator=(const Network&);
  Network& operator=(Network&&) noexcept;
  ~Network();

  struct Impl;  // the library's own
  explicit Network(std::unique_ptr<Impl>);
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace sfnn

// Examples to train and to test on: x, what a network is given, and y, what it is to say of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <sfnn/config.hpp>
#include <span>
#include <string>
#include <variant>

namespace sfnn {

enum class DataPart { train, valid, test };

struct ArrayShape {
  std::string output = "bernoulli";  // distribution of y: softmax, bernoulli, gaussian, poisson
  std::int64_t inputs = 0;           // numbers of an x; zero is allowed: a generative model
  std::int64_t outputs = 0;          // numbers of a y; softmax: how many classes there are
  bool center = false;               // take the mean of the training inputs off x
  // none, x, y or both: a network sees means of 0 and standard deviations of 1, those of the
  // training examples. Only Gaussian targets are standardised.
  std::string standardize = "none";
  bool grey_x = false, grey_y = false;  // bytes 0 .. 255 stand for 0 .. 1, not for themselves
};

using Numbers = std::variant<std::span<const float>, std::span<const std::uint8_t>>;

// Row-major, as many rows of x as of y. Softmax: y has one number per example, its class from 0;
// Bernoulli: numbers in 0 .. 1; Gaussian: any; Poisson: whole numbers from 0.
struct Arrays {
  Numbers x, y;
  // Keeps the memory of x and y for as long as it is needed: they are then used where they lie, and
  // must not change. None: they are copied.
  std::shared_ptr<const void> owner = {};
};

// Copies share their examples, which never change.
class Data {
 public:
  // Validation and test examples may be left out. Throws DataError for numbers
  // that cannot be, ConfigError for such a shape.
  static Data from_arrays(const ArrayShape&, const Arrays& train, const Arrays& test = {},
                          const Arrays& valid = {});
  // The set that the config's data.* keys name. root: the data directory; empty: the search path of
  // the program. Throws ConfigError, DataError.
  static Data load(const RunConfig&, const std::filesystem::path& root = {});

  std::string name() const;  // "mnist halves, binarised once"
  std::string output() const;
  std::int64_t inputs() const;
  std::int64_t outputs() const;
  std::int64_t examples(DataPart) const;
  bool has_pictures() const;  // are its targets pictures?

  struct Impl;  // the library's own
  explicit Data(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace sfnn

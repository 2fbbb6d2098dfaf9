// The three kinds of arithmetic of the products: fp32, tf32, and bf16x3, which must be as good as
// fp32 wherever one operand is bits.
#include <gtest/gtest.h>

#include "tests/support/backends.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_pass.hpp"

namespace sfnn {
namespace {

struct Operands {
  static constexpr std::int64_t kRows = 9, kInner = 50, kCols = 13;
  std::vector<std::uint8_t> bits;  // [rows, inner]
  std::vector<float> W;            // [inner, cols], with magnitudes far apart
  std::vector<float> g;            // [rows, cols]

  Operands() {
    Random random(5);
    for (int e = 0; e < kRows * kInner; ++e) bits.push_back(std::uint8_t(random.integer(0, 1)));
    for (int e = 0; e < kInner * kCols; ++e)
      W.push_back(float(random.normal() * std::pow(10, random.uniform(-4, 2))));
    for (int e = 0; e < kRows * kCols; ++e) g.push_back(float(random.normal()));
  }
};

class Products : public testing::TestWithParam<const char*> {
 protected:
  using O = Operands;
  // Relative to the sum of the magnitudes: 23 bits of significand, or the tensor cores' ten.
  double epsilon() const {
    return std::string(GetParam()) == "cuda_tf32" ? 0x1p-10 : O::kInner * 0x1p-24;
  }
  std::unique_ptr<Backend> backend_ = make_test_backend(GetParam());
  O operands_;
};

TEST_P(Products, OfBitsAndWeights) {
  const Buffer W = upload(*backend_, operands_.W);
  Buffer s(*backend_, backend_->bits_bytes(O::kRows, O::kInner));
  backend_->upload_bits(operands_.bits, {s.data(), O::kRows, O::kInner});
  Buffer out(*backend_, O::kRows * O::kCols * sizeof(float));
  const ConstBits z{s.data(), O::kRows, O::kInner};
  for (const Write write : {Write::set, Write::add}) {
    backend_->multiply(
        {z, {W.floats(), O::kInner, O::kCols}, {out.floats(), O::kRows, O::kCols}, write});
    const auto actual = download(*backend_, out.floats(), O::kRows * O::kCols);
    for (std::int64_t r = 0; r < O::kRows; ++r) {
      for (std::int64_t j = 0; j < O::kCols; ++j) {
        double sum = 0, magnitude = 0;
        for (std::int64_t i = 0; i < O::kInner; ++i) {
          const double term = operands_.bits[r * O::kInner + i] * operands_.W[i * O::kCols + j];
          sum += term;
          magnitude += std::abs(term);
        }
        if (write == Write::add) sum *= 2;
        EXPECT_NEAR(actual[r * O::kCols + j], sum, 2 * epsilon() * magnitude);
      }
    }
  }
}

TEST_P(Products, OuterOfBitsAndGradientsOnSomeRows) {
  const std::vector<std::int32_t> chosen = {1, 2, 5, 8};
  const std::vector<float> some_g(operands_.g.begin(), operands_.g.begin() + 4 * O::kCols);
  const Buffer g = upload(*backend_, some_g), index = upload(*backend_, chosen);
  Buffer s(*backend_, backend_->bits_bytes(O::kRows, O::kInner));
  backend_->upload_bits(operands_.bits, {s.data(), O::kRows, O::kInner});
  Buffer gW(*backend_, O::kInner * O::kCols * sizeof(float));
  backend_->accumulate_outer({ConstBits{s.data(), O::kRows, O::kInner},
                              {reinterpret_cast<const std::int32_t*>(index.data()), 4},
                              {g.floats(), 4, O::kCols},
                              {gW.floats(), O::kInner, O::kCols}});
  const auto actual = download(*backend_, gW.floats(), O::kInner * O::kCols);
  for (std::int64_t i = 0; i < O::kInner; ++i) {
    for (std::int64_t j = 0; j < O::kCols; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < 4; ++k) {
        const double term = operands_.bits[chosen[k] * O::kInner + i] * some_g[k * O::kCols + j];
        sum += term;
        magnitude += std::abs(term);
      }
      EXPECT_NEAR(actual[i * O::kCols + j], sum, epsilon() * magnitude);
    }
  }
}

TEST(ProductsOfNothing, AreZero) {
  const auto backend = make_test_backend("cuda_fp32");
  const Buffer out = upload(*backend, std::vector<float>(6, 3.0f));
  backend->multiply(
      {ConstMatrix{nullptr, 2, 0}, {nullptr, 0, 3}, {out.floats(), 2, 3}, Write::add});
  EXPECT_EQ(download(*backend, out.floats(), 6), std::vector<float>(6, 3.0f));
  backend->multiply(
      {ConstMatrix{nullptr, 2, 0}, {nullptr, 0, 3}, {out.floats(), 2, 3}, Write::set});
  EXPECT_EQ(download(*backend, out.floats(), 6), std::vector<float>(6, 0.0f));
}

INSTANTIATE_TEST_SUITE_P(MathModes, Products,
                         testing::Values("cuda_fp32", "cuda_tf32", "cuda_bf16x3"),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace sfnn

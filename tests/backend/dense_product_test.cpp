// Dense products against sums in double, and what they promise about bits, on every instruction set
// of this machine.
#include "host/backend/cpu/dense_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "host/backend/worker_pool.hpp"
#include "tests/support/random.hpp"
#include "tests/support/targets.hpp"

namespace sfnn {
namespace {

using Floats = std::vector<float>;

struct Shape {
  std::int64_t rows, terms, cols;
};

std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << s.rows << " x " << s.terms << " x " << s.cols;
}

Floats transposed(const Floats& m, std::int64_t rows, std::int64_t cols) {
  Floats out(m.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) out[j * rows + i] = m[i * cols + j];
  return out;
}

// A [rows, terms] and B [terms, cols], and the product by each way of storing them.
struct Product {
  explicit Product(const Shape& s) : shape(s) {
    A = normals(s.rows * s.terms, 1);
    B = normals(s.terms * s.cols, 2);
    A_t = transposed(A, s.rows, s.terms);
    B_t = transposed(B, s.terms, s.cols);
  }

  Floats multiply(Floats out, Write write) const {
    dense::multiply({A.data(), shape.rows, shape.terms}, {B.data(), shape.terms, shape.cols},
                    {out.data(), shape.rows, shape.cols}, write);
    return out;
  }
  Floats multiply_transposed(Floats out, Write write) const {
    dense::multiply_transposed({A.data(), shape.rows, shape.terms},
                               {B_t.data(), shape.cols, shape.terms},
                               {out.data(), shape.rows, shape.cols}, write);
    return out;
  }
  Floats accumulate_outer(Floats out) const {
    dense::accumulate_outer({A_t.data(), shape.terms, shape.rows},
                            {B.data(), shape.terms, shape.cols},
                            {out.data(), shape.rows, shape.cols});
    return out;
  }
  void expect_near(const Floats& actual, const Floats& start) const {
    for (std::int64_t i = 0; i < shape.rows; ++i) {
      for (std::int64_t j = 0; j < shape.cols; ++j) {
        double sum = start[i * shape.cols + j], size = std::abs(sum);
        for (std::int64_t k = 0; k < shape.terms; ++k) {
          const double term = double(A[i * shape.terms + k]) * double(B[k * shape.cols + j]);
          sum += term;
          size += std::abs(term);
        }
        // Rounding of a sum of n terms: at most n half units in the last place of its size.
        ASSERT_NEAR(actual[i * shape.cols + j], sum, 6e-8 * double(shape.terms + 1) * size)
            << shape << " at " << i << ", " << j;
      }
    }
  }

  Shape shape;
  Floats A, B, A_t, B_t;
};

class DenseProductTest : public InstructionSetTest {};

// Empty, one, parts of strips, vectors and blocks, whole ones, and a bit more.
const Shape kShapes[] = {{0, 3, 5},     {3, 5, 0},     {1, 1, 1},     {2, 3, 2},     {7, 4, 15},
                         {8, 16, 48},   {9, 5, 49},    {25, 392, 40}, {4, 401, 24},  {64, 10, 64},
                         {65, 33, 100}, {97, 7, 8},    {200, 65, 13}, {12, 805, 17}, {3, 2, 1160},
                         {70, 3, 601},  {193, 64, 31}, {10, 64, 96}};

TEST_P(DenseProductTest, AreTheSumsOfTheirTerms) {
  const float junk = std::numeric_limits<float>::quiet_NaN();
  for (const Shape& shape : kShapes) {
    const Product product(shape);
    const Floats zero(shape.rows * shape.cols), unset(zero.size(), junk);
    const Floats start = normals(std::int64_t(zero.size()), 3);
    product.expect_near(product.multiply(unset, Write::set), zero);
    product.expect_near(product.multiply(start, Write::add), start);
    product.expect_near(product.multiply_transposed(unset, Write::set), zero);
    product.expect_near(product.multiply_transposed(start, Write::add), start);
    product.expect_near(product.accumulate_outer(start), start);
  }
}

TEST_P(DenseProductTest, OfNoTermsAreZero) {
  const Product product({3, 0, 5});
  const Floats start = normals(15, 3);
  EXPECT_EQ(product.multiply(start, Write::set), Floats(15));
  EXPECT_EQ(product.multiply_transposed(start, Write::set), Floats(15));
  EXPECT_EQ(product.multiply(start, Write::add), start);
  EXPECT_EQ(product.accumulate_outer(start), start);
}

// Which is what lets tiles, parts and teams be cut as they please.
TEST_P(DenseProductTest, AnElementDependsOnItsOwnTermsAlone) {
  for (const Shape& shape : kShapes) {
    const Product whole(shape);
    const Floats zero(shape.rows * shape.cols);
    const Floats expected = whole.multiply(zero, Write::set);
    EXPECT_EQ(whole.multiply_transposed(zero, Write::set), expected) << shape;
    EXPECT_EQ(whole.accumulate_outer(zero), expected) << shape;
    for (std::int64_t row : {std::int64_t(0), shape.rows / 2, shape.rows - 1}) {
      if (row < 0 || row >= shape.rows) continue;
      Floats alone(shape.cols);
      dense::multiply({whole.A.data() + row * shape.terms, 1, shape.terms},
                      {whole.B.data(), shape.terms, shape.cols}, {alone.data(), 1, shape.cols},
                      Write::set);
      const auto first = expected.begin() + row * shape.cols;
      EXPECT_EQ(alone, Floats(first, first + shape.cols)) << shape << ", row " << row;
    }
  }
}

TEST_P(DenseProductTest, ATeamFindsTheSameBits) {
  WorkerPool pool(3);
  for (const Shape& shape : {Shape{200, 65, 100}, Shape{500, 410, 50}, Shape{25, 392, 200}}) {
    const Product product(shape);
    const Floats start = normals(shape.rows * shape.cols, 3);
    Floats multiplied, transposed, accumulated;
    pool.run(1, [&](std::int64_t, int) {
      multiplied = product.multiply(start, Write::add);
      transposed = product.multiply_transposed(start, Write::set);
      accumulated = product.accumulate_outer(start);
    });
    EXPECT_EQ(multiplied, product.multiply(start, Write::add));
    EXPECT_EQ(transposed, product.multiply_transposed(start, Write::set));
    EXPECT_EQ(accumulated, product.accumulate_outer(start));
  }
}

SFNN_INSTANTIATE_FOR_INSTRUCTION_SETS(DenseProductTest);

}  // namespace
}  // namespace sfnn

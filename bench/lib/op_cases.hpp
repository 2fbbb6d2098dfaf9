// Every op of a backend at a given shape, with its inputs: run on the plain CPU path it gives the
// expected result, on the CountingBackend its bytes, on a GPU something to time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"

namespace sfnn::bench {

struct OpShape {
  std::int64_t N = 100, M = 20, H = 200, D = 392;  // the paper's halves network
};

// A matrix in a backend's memory, and how its values are stored there.
struct Array {
  enum class Kind { real, bits, bytes, index, sums } kind = Kind::real;  // sums: doubles
  std::int64_t rows = 0, cols = 0;
  std::vector<float> values;  // at first; empty: zeros

  std::int64_t size() const { return rows * cols; }
};

// The same values whenever the size is the same.
Array random_reals(std::int64_t rows, std::int64_t cols);
Array random_bits(std::int64_t rows, std::int64_t cols);

// All that an op reads, in one backend: the arrays of a case, and the clock, which starts at zero
// whatever the backend did before.
class Operands {
 public:
  Operands(Backend&, const std::vector<Array>&);

  Matrix matrix(int k) const { return {floats(k), arrays_[k].rows, arrays_[k].cols}; }
  Bits bits(int k) const { return {buffers_[k].data(), arrays_[k].rows, arrays_[k].cols}; }
  float* floats(int k) const { return buffers_[k].floats(); }
  const std::byte* bytes(int k) const { return buffers_[k].data(); }
  std::int32_t* index(int k) const { return reinterpret_cast<std::int32_t*>(bytes_of(k)); }
  double* sums(int k) const { return reinterpret_cast<double*>(bytes_of(k)); }
  std::vector<float> last(Backend&) const;  // the values of the last array; waits

 private:
  std::byte* bytes_of(int k) const { return buffers_[k].data(); }

  const std::vector<Array>& arrays_;
  std::vector<Buffer> buffers_;
};

struct OpCase {
  std::string name;
  std::vector<Array> arrays;  // the last one is what the op leaves
  std::function<void(Backend&, const Operands&)> run;
  bool reads_back = false;  // waits for the device, so that no graph can hold it

  std::vector<float> result(Backend&) const;  // after one run
  // Empty if both backends give the same result up to rounding: `tolerance` is relative to the
  // largest value. Else what differs.
  std::string difference(Backend& actual, Backend& expected, double tolerance) const;
};

std::vector<OpCase> op_cases(const OpShape&);

}  // namespace sfnn::bench

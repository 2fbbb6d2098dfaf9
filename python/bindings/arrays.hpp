// NumPy arrays in and out, without copies. What has another type or layout was converted, or
// refused in a sentence, by sfnn/_arrays.py.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <sfnn/sfnn.hpp>
#include <vector>

namespace sfnn::python {

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Keeps Python objects from threads that do not hold the GIL.
inline std::shared_ptr<const void> keep(std::vector<nb::object> objects) {
  auto* kept = new std::vector<nb::object>(std::move(objects));
  return std::shared_ptr<const void>(kept, [kept](const void*) {
    const nb::gil_scoped_acquire gil;
    delete kept;
  });
}

// An array of float32 or uint8, [rows, cols].
inline Numbers numbers_of(nb::handle array) {
  if (Array<float> floats; nb::try_cast(array, floats, /*convert=*/false))
    return std::span<const float>(floats.data(), floats.size());
  if (Array<std::uint8_t> bytes; nb::try_cast(array, bytes, /*convert=*/false))
    return std::span<const std::uint8_t>(bytes.data(), bytes.size());
  throw nb::type_error("a C-contiguous array of float32 or uint8 with two dimensions is needed");
}

// A NumPy array that owns the values.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values, std::vector<std::size_t> shape) {
  auto* owner = new std::vector<T>(std::move(values));
  const nb::capsule capsule(owner,
                            [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {owner->data(), shape.size(), shape.data(), capsule};
}

}  // namespace sfnn::python

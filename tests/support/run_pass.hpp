// The engine's pass on a reference batch, on any backend, so that the two can be compared.
#pragma once

#include <vector>

#include "host/backend/backend.hpp"
#include "host/train/pass.hpp"
#include "tests/support/reference.hpp"

namespace sfnn {

template <class T>
std::vector<T> download(Backend& backend, const T* from, std::int64_t count) {
  std::vector<T> to(count);
  download(backend, from, std::span(to));
  return to;
}

template <class T>
Buffer upload(Backend& backend, const std::vector<T>& from) {
  Buffer to(backend, from.size() * sizeof(T));
  backend.upload(std::as_bytes(std::span(from)), to.data());
  return to;
}

struct EnginePass {
  std::vector<float> log_w, w_bar;  // [N*M]
  std::vector<float> C_hat, ess;    // [N]
  std::vector<float> gradient;      // flat, in the order of ParamLayout
  std::vector<float> score2_sums;   // G1's sums, in the order of PartLayout
  HiddenBits bits;                  // as given, or as drawn
};

struct EngineOptions {
  PassOptions pass;
  std::vector<Vector> L_bar = {};  // G1's baseline, per hidden layer
  std::int64_t tile = 0;           // examples; 0: all in one
  bool draw = false;               // draw the bits instead of taking the batch's
  std::uint32_t step = 0;
};

EnginePass run_pass(Backend&, const NetworkSpec&, const Vector& params, const ReferenceBatch&,
                    const EngineOptions&);

}  // namespace sfnn

// beta of every score unit, in the backend's memory, laid out by PartLayout.
#pragma once

#include "host/backend/backend.hpp"
#include "host/model/network.hpp"
#include "host/train/pass.hpp"

namespace sfnn {

class Betas {
 public:
  Betas(Backend&, const NetworkSpec&, const PassOptions&);

  // To what the averages say, laid out by PartLayout; for rules without moving state nothing is
  // done. Once per step, before its tiles.
  void refresh(const float* averages);

  const float* data() const { return values_.floats(); }  // null: 0 for every unit
  std::size_t bytes() const { return values_.bytes(); }

 private:
  Backend& backend_;
  NetworkSpec spec_;
  PartLayout layout_;
  BetaRule rule_;
  Buffer values_;
};

}  // namespace sfnn

// The networks that a step trains, and where the sums of each lie in a part: one network after
// another, its gradient and then the sums behind its baseline.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "host/model/model.hpp"
#include "host/train/pass.hpp"

namespace sfnn {

class StepNetworks {
 public:
  struct Network {
    std::string name;
    Model model;
    PartLayout layout;
    std::int64_t offset = 0;       // of its sums in a part
    std::optional<Model> average;  // the same network with the moving average of the weights
  };

  // P, the network that hidden units are drawn from, is the first.
  StepNetworks(Model P, const EstimatorRow& estimator) { add("P", std::move(P), estimator); }
  void add(std::string name, Model model, const EstimatorRow& estimator) {
    PartLayout layout(model.spec(), estimator);
    const std::int64_t offset = part_size_;
    part_size_ += layout.size();
    networks_.push_back(
        {std::move(name), std::move(model), std::move(layout), offset, std::nullopt});
  }

  Network& P() { return networks_.front(); }
  const Network& P() const { return networks_.front(); }
  // The learned proposal; null: there is none.
  const Network* R() const { return networks_.size() > 1 ? &networks_[1] : nullptr; }
  std::int64_t part_size() const { return part_size_; }  // floats

  auto begin() { return networks_.begin(); }
  auto end() { return networks_.end(); }
  auto begin() const { return networks_.begin(); }
  auto end() const { return networks_.end(); }

 private:
  std::deque<Network> networks_;  // adding one moves none
  std::int64_t part_size_ = 0;
};

}  // namespace sfnn

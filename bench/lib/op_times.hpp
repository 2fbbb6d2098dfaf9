// The time that each op takes: where a step's time goes. For a backend with one lane, so that the
// times of ops add up to the time of the step.
#pragma once

#include <map>
#include <string>

#include "host/backend/op_observer.hpp"

namespace sfnn::bench {

class OpTimes final : public OpObserver {
 public:
  // Milliseconds by name of the op since `clear`; products with bits have names of their own.
  const std::map<std::string, double>& milliseconds() const { return ms_; }
  // The share of the particles that the backward products kept.
  double live_share() const { return rows_ == 0 ? 1 : double(live_rows_) / double(rows_); }
  void clear() {
    ms_.clear();
    rows_ = live_rows_ = 0;
  }

  void begin(const OpCall&) override;
  void end() override;

 private:
  std::map<std::string, double> ms_;
  std::string op_;    // under way
  double start_ = 0;  // by processor time: on a shared machine, too, the ops add up to the step
  std::int64_t rows_ = 0, live_rows_ = 0;
};

}  // namespace sfnn::bench

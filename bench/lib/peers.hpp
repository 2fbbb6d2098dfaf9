// Other processes to compare with, each at the end of a pipe: the same step in other frameworks
// (bench/peers/), and its dense products in other libraries (bench/dense_floor.cpp).
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/lib/workloads.hpp"

namespace sfnn::bench {

// Writes what peer.py loads: weights, a batch, hidden units as drawn here, and what this engine
// makes of them: the gradient, or C_hat of an evaluation.
void write_case(const Workload&, const std::filesystem::path& folder);

// A process that answers each line with a line.
class Peer {
 public:
  // kind: its name for people. environment: NAME=VALUE, beside what is there.
  Peer(std::string kind, const std::vector<std::string>& command,
       const std::vector<std::string>& environment = {});
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  const std::string& kind() const { return kind_; }
  void load(const std::filesystem::path& folder);
  double check();  // the largest relative error
  // Time of the fastest step. Returns when its threads have stopped to wait for more work by
  // spinning, so that they do not take a core from whoever is timed next.
  double best_ms(int steps, bool cpu_time);
  std::string ask(const std::string& question);  // throws Error if the process has ended

 private:
  std::string kind_;
  pid_t process_ = 0;
  std::FILE *questions_ = nullptr, *answers_ = nullptr;
};

}  // namespace sfnn::bench

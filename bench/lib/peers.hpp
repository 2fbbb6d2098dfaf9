// The same step in other frameworks, for comparison: bench/peers/ at the end of a pipe.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>

#include "bench/lib/workloads.hpp"

namespace sfnn::bench {

// Writes what peer.py loads: weights, a batch, hidden units as drawn here, and what this engine
// makes of them: the gradient, or C_hat of an evaluation.
void write_case(const Workload&, const std::filesystem::path& folder);

// A process that answers each line with a line.
class Peer {
 public:
  // kind: torch-autograd, torch-by-hand or jax
  Peer(const std::string& python, const std::string& script, const std::string& kind, int threads);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  const std::string& kind() const { return kind_; }
  void load(const std::filesystem::path& folder);
  double check();                            // the largest relative error
  double best_ms(int steps, bool cpu_time);  // time of the fastest step

 private:
  std::string ask(const std::string& question);  // throws Error if the process has ended

  std::string kind_;
  pid_t process_ = 0;
  std::FILE *questions_ = nullptr, *answers_ = nullptr;
};

}  // namespace sfnn::bench

// Between the gradient of a batch and the optimiser the ranks meet.
//
// A rank adds the parts of its subtrees and sends a slice of each sum to the rank that owns the
// slice; owners add by the tree, and each sends its slice of the result to all. That moves as many
// bytes as a ring allreduce, in an order of additions that does not know how many ranks there are.
// The criterion of each example travels with the slices, and so does the wish to stop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/ranks/ranks.hpp"
#include "host/ranks/step_shares.hpp"

namespace sfnn {

class StepExchange {
 public:
  // shares: of a whole batch; stride: floats per part. The backend and the ranks must outlive this.
  // With one rank it takes no memory, and run() may not be called.
  StepExchange(Backend&, Ranks&, const StepShares& shares, std::int64_t stride);
  // What it takes of the backend's memory.
  static std::size_t bytes(const StepShares& shares, std::int64_t stride) {
    return shares.ranks == 1 ? 0 : sizeof(float) * std::size_t(stride);
  }
  std::size_t bytes() const { return sums_.bytes(); }
  // What a rank sends in the step of a whole batch.
  static std::size_t bytes_sent(const StepShares& shares, int rank, std::int64_t stride);

  // What the ops of a step have left, in the backend's memory.
  struct Step {
    std::int64_t number = 0, N = 0;
    const float* parts = nullptr;            // [own parts, stride]
    float *C_hat = nullptr, *ess = nullptr;  // [N]; the rows of this rank are set
    bool wants_stop = false;
  };
  // Waits for the other ranks. Then sum() has the sum of all parts, and C_hat and ess are set for
  // all rows. Returns whether any rank wants to stop.
  bool run(const Step&);
  // One part, in the backend's memory, good until the next run.
  Parts sum() const { return {sums_.floats(), 1, stride_, 1}; }

 private:
  StepShares shares_of(std::int64_t N) const;
  void lay_out(const StepShares&);
  void add_nodes(const StepShares&, const float* parts);
  void set_rows(const StepShares&, const Step&, const float* C_hat, const float* ess);
  bool read_messages(const StepShares&, const Step&, float* C_hat, float* ess);
  void add_slice(const StepShares&, float* sums);
  void gather_slices(float* sums);
  void for_pieces(const IndexRange& floats, FunctionRef<void(const IndexRange&)> add);

  Backend& backend_;
  Ranks& ranks_;
  StepShares whole_;
  std::int64_t stride_;
  // In the host's memory, by rank: a header, slices of the sums of its nodes, C_hat and ess of its
  // rows. What stays with this rank is in outgoing_, too.
  std::vector<float> outgoing_, incoming_;
  std::vector<float*> outgoing_of_, incoming_of_;
  std::vector<Ranks::Outgoing> sent_;
  std::vector<Ranks::Incoming> received_;
  std::vector<const float*> leaves_;  // [parts] what begins there: the slice of a node, or null
  std::vector<float> staged_parts_, staged_rows_, staged_sums_;  // of a device with own memory
  Buffer sums_;                                                  // [stride]
};

}  // namespace sfnn

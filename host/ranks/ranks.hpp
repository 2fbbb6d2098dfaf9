// The processes that share a step's parts.
//
// Ranks only move bytes; nothing here adds. What is added is added by the fixed tree, in one place
// (host/ranks/step_exchange.hpp), so that every number of ranks gives the same bits.
#pragma once

#include <cstddef>
#include <span>

namespace sfnn {

class Ranks {
 public:
  using Outgoing = std::span<const std::byte>;
  using Incoming = std::span<std::byte>;

  virtual ~Ranks() = default;
  virtual int rank() const = 0;   // of this process, from 0
  virtual int count() const = 0;  // of all of them
  // Every rank calls it: sends outgoing[q] to rank q and fills incoming[q] with what q sends to
  // this one, whose size is known to both. The entries of this rank itself are left alone. Returns
  // when the data is there. Throws if a rank is lost (see the implementation).
  virtual void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) = 0;
};

// The only process.
class Alone final : public Ranks {
 public:
  int rank() const override { return 0; }
  int count() const override { return 1; }
  void exchange(std::span<const Outgoing>, std::span<const Incoming>) override {}
};

inline Ranks& alone() {
  static Alone only;
  return only;
}

}  // namespace sfnn

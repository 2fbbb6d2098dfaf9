// Who wants to be told of every op that a backend runs: to time or to count them.
#pragma once

#include <string_view>

#include "kernels/args.hpp"

namespace sfnn {

// An op under way: its name, and its arguments for whoever knows their type.
struct OpCall {
  std::string_view name;
  const void* args = nullptr;

  template <class Args>
  const Args* as() const {  // null if it is another op
    return name == Args::kName ? static_cast<const Args*>(args) : nullptr;
  }
};

// Calls fn with the arguments of the op, by their own type; every op of the list must suit it.
template <class... Args, class Fn>
void visit(const OpCall& call, OpList<Args...>, const Fn& fn) {
  const auto visit_one = [&](const auto* args) {
    if (args) fn(*args);
  };
  (visit_one(call.as<Args>()), ...);
}

// Ops of different lanes may be under way at once, each told from its own thread.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  virtual void begin(const OpCall&) = 0;
  virtual void end() = 0;  // also if the op threw
};

}  // namespace sfnn

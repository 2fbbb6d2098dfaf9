// Loads, stores, atomics, barriers and warp operations: which of them an opcode is. What they do
// stands in block_memory.cpp and block_warp.cpp.
#include <utility>

#include "tests/gpusim/form.hpp"

namespace sfnn::gpusim {
namespace {

template <class T>
using Names = std::initializer_list<std::pair<const char*, T>>;

template <class T>
T take_one(Form& form, Names<T> names) {
  for (const auto& [name, value] : names)
    if (form.take(name)) return value;
  form.fail("unknown operation");
}

Space take_space(Form& form) {
  for (const auto& [name, space] : Names<Space>{{"global", Space::kGlobal},
                                                {"shared", Space::kShared},
                                                {"shared::cta", Space::kShared},
                                                {"local", Space::kLocal},
                                                {"param", Space::kParam},
                                                {"const", Space::kConst},
                                                {"param::entry", Space::kParam}})
    if (form.take(name)) return space;
  return Space::kGeneric;
}

// What orders memory among threads. Everything the simulator does is in order anyway; what counts
// is whether such accesses may meet others of their kind.
bool take_ordering(Form& form) {
  bool strong = false;
  for (const auto* word : {"relaxed", "acquire", "release", "acq_rel"}) strong |= form.take(word);
  form.take_any({"weak", "volatile", "cta", "gpu", "sys", "cluster"});
  return strong;
}

void take_cache_hints(Form& form) {
  form.take_any({"ca", "cg", "cs", "lu", "cv", "nc", "wb", "wt", "L1::no_allocate",
                 "L1::evict_first", "L1::evict_last", "L1::evict_normal", "L1::evict_unchanged",
                 "L2::64B", "L2::128B", "L2::256B"});
}

void select_access(Form& form, Instruction& i) {
  i.kind = form.mnemonic() == "ld" ? Kind::kLoad : Kind::kStore;
  i.synchronises = take_ordering(form);
  i.space = take_space(form);
  take_cache_hints(form);
  i.count = form.take("v4") ? 4 : form.take("v2") ? 2 : 1;
  i.type = form.take_type();
  i.bytes = std::uint8_t(bytes_of(i.type));
}

void select_atomic(Form& form, Instruction& i) {
  i.kind = Kind::kAtomic;
  i.synchronises = true;
  take_ordering(form);
  form.take("noftz");
  i.space = take_space(form);
  i.atomic = take_one<AtomicOp>(form, {{"add", AtomicOp::kAdd},
                                       {"min", AtomicOp::kMin},
                                       {"max", AtomicOp::kMax},
                                       {"and", AtomicOp::kAnd},
                                       {"or", AtomicOp::kOr},
                                       {"xor", AtomicOp::kXor},
                                       {"exch", AtomicOp::kExch},
                                       {"cas", AtomicOp::kCas},
                                       {"inc", AtomicOp::kInc},
                                       {"dec", AtomicOp::kDec}});
  i.type = form.take_type();
  i.bytes = std::uint8_t(bytes_of(i.type));
  if (i.bytes != 4 && i.bytes != 8) form.fail("only 32-bit and 64-bit atomics are known");
  if (i.type == Type::kF16x2 || i.type == Type::kBf16x2 || i.type == Type::kF32x2)
    form.fail("a packed atomic");
}

void select_collective(Form& form, Instruction& i) {
  using Op = CollectiveOp;
  const std::string& name = form.mnemonic();
  i.kind = Kind::kCollective;
  if (name == "activemask") {
    i.collective = Op::kActiveMask;
    form.take_type();
    return;
  }
  if (!form.take("sync")) form.fail("only the .sync form is known");
  i.type = form.take_type();
  if (name == "shfl") {
    i.collective = take_one<Op>(form, {{"bfly", Op::kShflBfly},
                                       {"down", Op::kShflDown},
                                       {"up", Op::kShflUp},
                                       {"idx", Op::kShflIdx}});
  } else if (name == "vote") {
    i.collective = take_one<Op>(
        form, {{"ballot", Op::kBallot}, {"any", Op::kAny}, {"all", Op::kAll}, {"uni", Op::kUni}});
  } else if (name == "match") {
    i.collective = take_one<Op>(form, {{"any", Op::kMatchAny}, {"all", Op::kMatchAll}});
  } else {
    i.collective = take_one<Op>(form, {{"add", Op::kReduxAdd},
                                       {"min", Op::kReduxMin},
                                       {"max", Op::kReduxMax},
                                       {"and", Op::kReduxAnd},
                                       {"or", Op::kReduxOr},
                                       {"xor", Op::kReduxXor}});
    if (bytes_of(i.type) != 4 || i.type == Type::kF32)
      form.fail("redux of a type other than 32-bit integers");
  }
}

void select_barrier(Form& form, Instruction& i) {
  if (form.take("warp")) {
    if (!form.take("sync")) form.fail("unknown warp barrier");
    i.kind = Kind::kCollective;
    i.collective = CollectiveOp::kSync;
    return;
  }
  i.kind = Kind::kBarrier;
  form.take_any({"cta", "aligned"});
  if (form.take("sync")) {
    i.barrier = BarrierOp::kSync;
  } else if (form.take("red")) {
    i.barrier = take_one<BarrierOp>(
        form, {{"popc", BarrierOp::kPopc}, {"and", BarrierOp::kAnd}, {"or", BarrierOp::kOr}});
    form.take_type();
  } else {
    form.fail("only .sync and .red are known");
  }
}

}  // namespace

bool select_memory(Form& form, Instruction& i) {
  const std::string& name = form.mnemonic();
  if (name == "ld" || name == "st")
    select_access(form, i);
  else if (name == "atom" || name == "red")
    select_atomic(form, i);
  else
    return false;
  return true;
}

bool select_synchronisation(Form& form, Instruction& i) {
  const std::string& name = form.mnemonic();
  if (name == "bar" || name == "barrier") {
    select_barrier(form, i);
  } else if (name == "shfl" || name == "vote" || name == "match" || name == "redux" ||
             name == "activemask") {
    select_collective(form, i);
  } else if (name == "membar" || name == "fence") {
    i.kind = Kind::kFence;
    take_ordering(form);
    form.take_any({"gl", "sc"});
  } else if (name == "ret" || name == "exit") {
    i.kind = Kind::kExit;
    form.take("uni");
  } else if (name == "trap" || name == "brkpt") {
    i.kind = Kind::kTrap;
  } else {
    return false;
  }
  return true;
}

}  // namespace sfnn::gpusim

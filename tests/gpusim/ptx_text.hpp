// PTX text as a tree of statements: what nvcc writes, not all that the PTX manual allows. Nothing
// is interpreted here beyond the shape of a statement.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/gpusim/types.hpp"

namespace sfnn::gpusim {

// PTX that the simulator does not know. It refuses at load time rather than guess at run time.
struct PtxError : std::runtime_error {
  PtxError(int ptx_line, const std::string& what)
      : std::runtime_error("PTX line " + std::to_string(ptx_line) + ": " + what), line(ptx_line) {}
  int line;
};

struct Operand {
  enum class Kind { kName, kImmediate, kAddress, kVector, kPair };
  Kind kind = Kind::kName;
  std::string name;             // register or symbol; base of an address (empty: an absolute one)
  std::uint64_t immediate = 0;  // value, or the offset of an address
  bool negated = false;         // !p
  std::vector<Operand> parts;   // {a, b} of a vector, a|b of a pair
};

// .loc: a place in a source file.
struct Location {
  int file = 0, line = 0, column = 0;
  auto operator<=>(const Location&) const = default;
};

struct Statement {
  int line = 0;             // in the PTX file
  Location source, caller;  // its own place; where the kernel calls what was inlined here
  std::string guard;        // predicate register, or empty
  bool guard_negated = false;
  std::vector<std::string> opcode;  // "add", "rn", "f32"
  std::vector<Operand> operands;
};

// A parameter or an array: .param .align 8 .b8 name[72]
struct Variable {
  std::string name;
  Type type = Type::kB8;
  std::size_t align = 1, bytes = 0;
  std::vector<std::uint8_t> initial;  // empty: zeros
  bool is_extern = false;             // dynamic shared memory
};

struct EntryText {
  std::string name;
  int line = 0;
  std::vector<Variable> params, shared, local;
  unsigned max_threads = 0;  // .maxntid, .reqntid; 0: not said
  std::vector<Statement> body;
  std::map<std::string, std::size_t> labels;  // index of the statement that follows
  std::map<std::string, std::vector<std::string>> branch_tables;  // .branchtargets, by label
};

struct ModuleText {
  int target = 0;  // sm_80: 80
  std::vector<Variable> global, constant, shared;
  std::vector<EntryText> entries;
  std::map<int, std::string> files;
};

ModuleText parse_ptx(const std::string& text);

}  // namespace sfnn::gpusim

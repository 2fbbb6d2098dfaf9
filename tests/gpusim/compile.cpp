// From statements to instructions: names become slots, labels become indices.
#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "tests/gpusim/form.hpp"

namespace sfnn::gpusim {
namespace {

const std::unordered_map<std::string, Special> kSpecials = {
    {"%tid.x", Special::kTidX},
    {"%tid.y", Special::kTidY},
    {"%tid.z", Special::kTidZ},
    {"%ntid.x", Special::kNtidX},
    {"%ntid.y", Special::kNtidY},
    {"%ntid.z", Special::kNtidZ},
    {"%ctaid.x", Special::kCtaidX},
    {"%ctaid.y", Special::kCtaidY},
    {"%ctaid.z", Special::kCtaidZ},
    {"%nctaid.x", Special::kNctaidX},
    {"%nctaid.y", Special::kNctaidY},
    {"%nctaid.z", Special::kNctaidZ},
    {"%laneid", Special::kLaneId},
    {"%warpid", Special::kWarpId},
    {"%smid", Special::kSmId},
    {"%nsmid", Special::kNSmId},
    {"%lanemask_eq", Special::kLaneMaskEq},
    {"%lanemask_lt", Special::kLaneMaskLt},
    {"%lanemask_le", Special::kLaneMaskLe},
    {"%lanemask_gt", Special::kLaneMaskGt},
    {"%lanemask_ge", Special::kLaneMaskGe},
    {"%dynamic_smem_size", Special::kDynamicSmemSize},
    {"%total_smem_size", Special::kTotalSmemSize},
    {"WARP_SZ", Special::kWarpSize},
};

std::size_t aligned(std::size_t offset, std::size_t align) {
  return (offset + align - 1) / align * align;
}

// "void sfnn::sum<float>(float const*, int)" reads sfnn::sum<float>.
std::string title_of(const std::string& name) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string title = status == 0 ? demangled : name;
  std::free(demangled);
  if (title.rfind("void ", 0) == 0) title.erase(0, 5);
  int depth = 0;  // of <>: the parameter list is the first ( outside them that is not (anonymous...
  for (std::size_t n = 0; n < title.size(); ++n) {
    if (title[n] == '<') ++depth;
    if (title[n] == '>') --depth;
    if (title[n] == '(' && depth == 0 && title.compare(n, 11, "(anonymous ") != 0)
      return title.substr(0, n);
  }
  return title;
}

class KernelCompiler {
 public:
  KernelCompiler(const ModuleText& text, const Module& module, const EntryText& entry)
      : text_(text), module_(module), entry_(entry) {}

  std::unique_ptr<Kernel> compile() {
    kernel_->name = entry_.name;
    kernel_->title = title_of(entry_.name);
    kernel_->module = &module_;
    if (entry_.max_threads) kernel_->max_threads = std::min(entry_.max_threads, 1024u);
    kernel_->row.assign(kFirstFreeSlot, 0);
    lay_out_memory();
    std::vector<std::uint32_t> index_of_statement;
    for (const Statement& s : entry_.body) {
      index_of_statement.push_back(std::uint32_t(kernel_->code.size()));
      statement(s);
    }
    index_of_statement.push_back(std::uint32_t(kernel_->code.size()));
    if (kernel_->code.empty() || kernel_->code.back().kind != Kind::kExit) {
      Instruction end;
      end.kind = Kind::kExit;
      kernel_->code.push_back(end);
    }
    resolve_branches(index_of_statement);
    if (kernel_->row.size() > 65535) throw PtxError(entry_.line, "more than 65535 registers");
    return std::move(kernel_);
  }

 private:
  void lay_out_memory() {
    for (const Variable& v : entry_.params) {
      kernel_->param_bytes = aligned(kernel_->param_bytes, v.align);
      symbols_[v.name] = kernel_->param_bytes;
      kernel_->params.push_back({kernel_->param_bytes, v.bytes});
      kernel_->param_bytes += v.bytes;
    }
    for (const Variable& v : entry_.shared) place(v, kernel_->shared_bytes);
    for (const Variable& v : entry_.local) place(v, kernel_->local_bytes);
    for (const Variable& v : text_.shared)
      if (!v.is_extern && mentions(v.name)) place(v, kernel_->shared_bytes);
    kernel_->dynamic_shared_offset = aligned(kernel_->shared_bytes, 16);
    for (const Variable& v : text_.shared)
      if (v.is_extern) symbols_[v.name] = kernel_->dynamic_shared_offset;
    for (const auto& [name, array] : module_.arrays) symbols_[name] = std::uint64_t(array.data());
  }

  void place(const Variable& v, std::size_t& bytes) {
    bytes = aligned(bytes, v.align);
    symbols_[v.name] = bytes;
    bytes += v.bytes;
  }

  bool mentions(const std::string& name) const {
    for (const Statement& s : entry_.body)
      for (const Operand& op : s.operands)
        if (op.name == name) return true;
    return false;
  }

  std::uint16_t new_slot(Slot value) {
    kernel_->row.push_back(value);
    return std::uint16_t(kernel_->row.size() - 1);
  }

  std::uint16_t constant(Slot value) {
    const auto [it, is_new] = constants_.try_emplace(value, 0);
    if (is_new) it->second = new_slot(value);
    return it->second;
  }

  std::uint16_t slot_of(int line, const Operand& op) {
    if (op.kind == Operand::Kind::kImmediate) return constant(op.immediate);
    if (op.kind != Operand::Kind::kName) throw PtxError(line, "an operand of an unknown shape");
    if (op.negated) return negated(line, op);
    return slot_of_name(line, op.name);
  }

  std::uint16_t slot_of_name(int line, const std::string& name) {
    if (name == "_") return kDiscardSlot;
    if (const auto symbol = symbols_.find(name); symbol != symbols_.end())
      return constant(symbol->second);
    const auto [it, is_new] = names_.try_emplace(name, 0);
    if (!is_new) return it->second;
    it->second = new_slot(0);
    if (const auto special = kSpecials.find(name); special != kSpecials.end())
      kernel_->specials.emplace_back(it->second, special->second);
    else if (name.find('.') != std::string::npos || name.rfind("%clock", 0) == 0 ||
             name.rfind("%global", 0) == 0 || name.rfind("%envreg", 0) == 0)
      throw PtxError(line, "special register " + name + " is unknown");
    return it->second;
  }

  // !p as a source: an instruction of its own writes the opposite into a spare slot.
  std::uint16_t negated(int line, const Operand& op) {
    Statement inverse;
    inverse.line = line;
    inverse.opcode = {"not", "pred"};
    Form form(inverse);
    Instruction i;
    i.compute = select_bits(form, i);
    i.src[0] = slot_of_name(line, op.name);
    i.dst[0] = new_slot(0);
    i.ptx_line = line;
    kernel_->code.push_back(i);
    return i.dst[0];
  }

  void statement(const Statement& s) {
    Instruction i;
    i.ptx_line = s.line;
    i.source = {s.source.file, s.source.line};
    i.caller = {s.caller.file, s.caller.line};
    Form form(s);
    if (form.mnemonic() == "bra" || form.mnemonic() == "brx")
      branch(s, form, i);
    else
      operation(s, form, i);
    form.expect_all_taken();
    if (!s.guard.empty()) {
      i.guard = slot_of_name(s.line, s.guard);
      i.guard_negated = s.guard_negated;
    }
    kernel_->code.push_back(i);
  }

  void branch(const Statement& s, Form& form, Instruction& i) {
    form.take("uni");
    i.kind = form.take("idx") ? Kind::kBranchIndexed : Kind::kBranch;
    branches_.push_back({kernel_->code.size(), s.operands.back().name, s.line});
    if (i.kind == Kind::kBranchIndexed) i.src[0] = slot_of(s.line, s.operands.front());
  }

  void operation(const Statement& s, Form& form, Instruction& i) {
    if (select_memory(form, i) || select_synchronisation(form, i)) {
      operands(s, i);
      return;
    }
    if (const auto vector = vector_operand(s); form.mnemonic() == "mov" && vector)
      i.compute = select_pack(form, vector->parts.size(), vector == &s.operands.front());
    for (auto* select : {select_integer, select_bits, select_float, select_narrow_float,
                         select_compare, select_convert})
      if (!i.compute) i.compute = select(form, i);
    if (!i.compute) form.fail("the instruction or its type is unknown");
    operands(s, i);
  }

  static const Operand* vector_operand(const Statement& s) {
    for (const Operand& op : s.operands)
      if (op.kind == Operand::Kind::kVector) return &op;
    return nullptr;
  }

  static bool has_destination(const Statement& s, const Instruction& i) {
    if (i.kind == Kind::kCollective) return i.collective != CollectiveOp::kSync;
    if (i.kind == Kind::kBarrier) return i.barrier != BarrierOp::kSync;
    return (i.kind == Kind::kCompute && s.opcode[0] != "nanosleep" && s.opcode[0] != "prefetch") ||
           i.kind == Kind::kLoad || (i.kind == Kind::kAtomic && s.opcode[0] == "atom");
  }

  void operands(const Statement& s, Instruction& i) {
    std::size_t dst = 0, src = 0;
    const bool first_is_destination = has_destination(s, i);
    for (std::size_t n = 0; n < s.operands.size(); ++n) {
      const Operand& op = s.operands[n];
      const bool destination = n == 0 && first_is_destination;
      auto& slots = destination ? i.dst : i.src;
      std::size_t& count = destination ? dst : src;
      if (op.kind == Operand::Kind::kAddress) {
        i.base = op.name.empty() ? constant(0) : slot_of_name(s.line, op.name);
        i.offset = std::int64_t(op.immediate);
      } else if (op.kind == Operand::Kind::kVector || op.kind == Operand::Kind::kPair) {
        for (const Operand& part : op.parts) append(s.line, slots, count, part);
      } else {
        append(s.line, slots, count, op);
      }
    }
    if (i.kind == Kind::kBarrier && src > (i.barrier == BarrierOp::kSync ? 1u : 2u))
      throw PtxError(s.line, "a barrier for part of the block");
  }

  void append(int line, std::array<std::uint16_t, 4>& slots, std::size_t& count,
              const Operand& op) {
    if (count == slots.size()) throw PtxError(line, "more than four values");
    slots[count++] = slot_of(line, op);
  }

  std::uint32_t target(const std::vector<std::uint32_t>& index_of_statement,
                       const std::string& label, int line) {
    const auto it = entry_.labels.find(label);
    if (it == entry_.labels.end()) throw PtxError(line, "no label " + label);
    return index_of_statement[it->second];
  }

  void resolve_branches(const std::vector<std::uint32_t>& index_of_statement) {
    for (const Branch& b : branches_) {
      Instruction& i = kernel_->code[b.at];
      if (i.kind == Kind::kBranch) {
        i.target = target(index_of_statement, b.label, b.line);
        continue;
      }
      const auto table = entry_.branch_tables.find(b.label);
      if (table == entry_.branch_tables.end()) throw PtxError(b.line, "no branch table " + b.label);
      i.target = std::uint32_t(kernel_->branch_tables.size());
      auto& targets = kernel_->branch_tables.emplace_back();
      for (const auto& label : table->second)
        targets.push_back(target(index_of_statement, label, b.line));
    }
  }

  struct Branch {
    std::size_t at;
    std::string label;
    int line;
  };

  const ModuleText& text_;
  const Module& module_;
  const EntryText& entry_;
  std::unique_ptr<Kernel> kernel_ = std::make_unique<Kernel>();
  std::unordered_map<std::string, std::uint64_t> symbols_;
  std::unordered_map<std::string, std::uint16_t> names_;
  std::unordered_map<Slot, std::uint16_t> constants_;
  std::vector<Branch> branches_;
};

GlobalArray make_array(const Variable& v) {
  GlobalArray array{std::make_unique<std::uint64_t[]>(v.bytes / 8 + 2), v.bytes};
  std::copy(v.initial.begin(), v.initial.end(), static_cast<std::uint8_t*>(array.data()));
  return array;
}

}  // namespace

std::unique_ptr<Module> load_module(const std::string& path, const std::string& text) {
  const ModuleText parsed = parse_ptx(text);
  auto module = std::make_unique<Module>();
  module->path = path;
  module->target = parsed.target;
  module->files = parsed.files;
  for (const auto* list : {&parsed.global, &parsed.constant})
    for (const Variable& v : *list) module->arrays.emplace(v.name, make_array(v));
  for (const EntryText& entry : parsed.entries)
    module->kernels[entry.name] = KernelCompiler(parsed, *module, entry).compile();
  return module;
}

}  // namespace sfnn::gpusim

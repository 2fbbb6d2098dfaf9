#include "tests/gpusim/ptx_text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

namespace sfnn::gpusim {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

// Reads tokens: words (with dots inside: add.f32), numbers, quoted strings, single characters.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) { skip(); }

  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  int line() const { return line_; }

  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    skip();
    return true;
  }

  void expect(char c) {
    if (!accept(c)) throw PtxError(line_, std::string("'") + c + "' expected" + near());
  }

  // A word starting here; dots, and colons as in L1::no_allocate, belong to it if asked for.
  std::string word(bool with_dots) {
    const std::size_t from = at_;
    while (!at_end() &&
           (is_word(text_[at_]) || (with_dots && (text_[at_] == '.' || is_double_colon())))) {
      if (is_double_colon()) ++at_;
      ++at_;
    }
    if (at_ == from) throw PtxError(line_, "a name or number expected" + near());
    std::string result(text_.substr(from, at_ - from));
    skip();
    return result;
  }

  std::string quoted() {
    expect('"');
    const std::size_t end = std::min(text_.find('"', at_), text_.size());
    std::string result(text_.substr(at_, end - at_));
    at_ = std::min(end + 1, text_.size());
    skip();
    return result;
  }

  void skip_line() {
    while (!at_end() && text_[at_] != '\n') ++at_;
    skip();
  }

  std::string near() const {
    const auto rest = text_.substr(std::min(at_, text_.size()), 30);
    return " before: " + std::string(rest.substr(0, rest.find('\n')));
  }

 private:
  bool is_double_colon() const { return text_.compare(at_, 2, "::") == 0; }

  void skip() {  // white space and comments
    while (!at_end()) {
      if (text_[at_] == '\n') {
        ++line_, ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else if (text_.compare(at_, 2, "//") == 0) {
        while (!at_end() && text_[at_] != '\n') ++at_;
      } else if (text_.compare(at_, 2, "/*") == 0) {
        const std::size_t end = std::min(text_.find("*/", at_), text_.size());
        line_ += int(std::count(text_.begin() + long(at_), text_.begin() + long(end), '\n'));
        at_ = end + 2;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

std::vector<std::string> split_opcode(const std::string& word) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (from <= word.size()) {
    const std::size_t dot = std::min(word.find('.', from), word.size());
    parts.push_back(word.substr(from, dot - from));
    from = dot + 1;
  }
  return parts;
}

std::uint64_t number(int line, std::string text, bool minus) {
  int base = 10;
  std::string_view digits = text;
  if (digits.size() > 2 && digits[0] == '0') {
    const char mark = char(std::tolower(digits[1]));
    if (mark == 'x' || mark == 'f' || mark == 'd') base = 16;  // 0f, 0d: the bits of a float
    if (mark == 'b') base = 2;
    if (base != 10) digits.remove_prefix(2);
  }
  if (!digits.empty() && digits.back() == 'U') digits.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw PtxError(line, "cannot read the number " + text);
  return minus ? 0 - value : value;
}

Operand read_operand(Reader& in);

Operand read_scalar(Reader& in) {
  Operand op;
  op.negated = in.accept('!');
  const bool minus = in.accept('-');
  const std::string word = in.word(/*with_dots=*/true);
  if (std::isdigit(static_cast<unsigned char>(word[0]))) {
    op.kind = Operand::Kind::kImmediate;
    op.immediate = number(in.line(), word, minus);
  } else {
    op.name = word;
  }
  return op;
}

Operand read_address(Reader& in) {
  Operand op;
  op.kind = Operand::Kind::kAddress;
  const Operand base = read_scalar(in);
  op.name = base.name;
  op.immediate = base.immediate;
  if (in.accept('+')) {
    const bool minus = in.accept('-');
    op.immediate += number(in.line(), in.word(false), minus);
  }
  in.expect(']');
  return op;
}

Operand read_vector(Reader& in) {
  Operand op;
  op.kind = Operand::Kind::kVector;
  do op.parts.push_back(read_operand(in));
  while (in.accept(','));
  in.expect('}');
  return op;
}

Operand read_operand(Reader& in) {
  if (in.accept('[')) return read_address(in);
  if (in.accept('{')) return read_vector(in);
  Operand op = read_scalar(in);
  if (!in.accept('|')) return op;
  Operand pair;
  pair.kind = Operand::Kind::kPair;
  pair.parts = {op, read_scalar(in)};
  return pair;
}

class Parser {
 public:
  explicit Parser(const std::string& text) : in_(text) {}

  ModuleText parse() {
    while (!in_.at_end()) top_level();
    return std::move(module_);
  }

 private:
  // ".global .align 4 .b8 name[16] = {1, 2}" with the state space already read.
  Variable variable() {
    Variable v;
    while (in_.peek() == '.') {
      const std::string attribute = in_.word(true).substr(1);
      if (attribute == "align")
        v.align = number(in_.line(), in_.word(false), false);
      else if (const auto type = type_named(attribute))
        v.type = *type;
      else if (attribute != "ptr" && attribute != "global" && attribute != "const" &&
               attribute != "shared" && attribute != "local")  // of .ptr: where a pointer points
        throw PtxError(in_.line(), "unknown attribute ." + attribute + " of a variable");
    }
    v.name = in_.word(false);
    std::size_t count = 1;
    if (in_.accept('[')) {
      count = in_.peek() == ']' ? 0 : number(in_.line(), in_.word(false), false);
      in_.expect(']');
    }
    v.bytes = count * std::size_t(bytes_of(v.type));
    v.align = std::max(v.align, std::size_t(bytes_of(v.type)));
    if (in_.accept('=')) initialise(v);
    return v;
  }

  void initialise(Variable& v) {
    const bool list = in_.accept('{');
    do {
      const Operand value = read_scalar(in_);
      if (value.kind != Operand::Kind::kImmediate)
        throw PtxError(in_.line(), "the address " + value.name + " initialises " + v.name);
      for (int b = 0; b < bytes_of(v.type); ++b)
        v.initial.push_back(std::uint8_t(value.immediate >> 8 * b));
    } while (list && in_.accept(','));
    if (list) in_.expect('}');
    v.initial.resize(v.bytes);
  }

  void top_level() {
    const int line = in_.line();
    const std::string word = in_.word(true);
    if (word == ".version" || word == ".address_size") {
      in_.word(true);
    } else if (word == ".target") {
      module_.target = int(number(line, digits_of(in_.word(false)), false));
      in_.skip_line();
    } else if (word == ".file") {
      file();
    } else if (word == ".section") {
      while (!in_.accept('}')) in_.skip_line();  // DWARF; its lines never begin with a brace
    } else if (word == ".visible" || word == ".weak" || word == ".extern") {
      linkage_ = word;
    } else if (word == ".global" || word == ".const" || word == ".shared") {
      Variable v = variable();
      v.is_extern = linkage_ == ".extern";
      in_.expect(';');
      auto& list = word == ".global"  ? module_.global
                   : word == ".const" ? module_.constant
                                      : module_.shared;
      list.push_back(std::move(v));
      linkage_.clear();
    } else if (word == ".entry") {
      entry(line);
      linkage_.clear();
    } else {
      throw PtxError(line, word == ".func"
                               ? "a function that was not inlined: the simulator knows no calls"
                               : "unknown directive " + word);
    }
  }

  static std::string digits_of(const std::string& target) {  // sm_90a: 90
    std::string digits;
    for (char c : target)
      if (std::isdigit(static_cast<unsigned char>(c))) digits += c;
    return digits;
  }

  void file() {
    const int index = int(number(in_.line(), in_.word(false), false));
    module_.files[index] = in_.quoted();
    if (in_.peek() == ',') in_.skip_line();
  }

  void entry(int line) {
    EntryText e;
    e.line = line;
    e.name = in_.word(false);
    if (in_.accept('(')) {
      while (!in_.accept(')')) {
        if (in_.word(true) != ".param") throw PtxError(in_.line(), "a parameter expected");
        e.params.push_back(variable());
        in_.accept(',');
      }
    }
    while (in_.peek() == '.') performance_directive(e);
    in_.expect('{');
    for (int depth = 1; depth > 0;) {
      if (in_.accept('{'))
        ++depth;
      else if (in_.accept('}'))
        --depth;
      else
        body_item(e);
    }
    module_.entries.push_back(std::move(e));
  }

  void performance_directive(EntryText& e) {
    const int line = in_.line();
    const std::string word = in_.word(true);
    if (word != ".maxntid" && word != ".reqntid" && word != ".minnctapersm" && word != ".maxnreg")
      throw PtxError(line, "unknown directive " + word + " of a kernel");
    std::uint64_t product = 1;
    do product *= number(line, in_.word(false), false);
    while (in_.accept(','));
    if (word == ".maxntid" || word == ".reqntid") e.max_threads = unsigned(product);
  }

  void body_item(EntryText& e) {
    if (in_.peek() == '.') return body_directive(e);
    Statement s;
    s.line = in_.line();
    s.source = source_;
    s.caller = caller_;
    if (in_.accept('@')) {
      s.guard_negated = in_.accept('!');
      s.guard = in_.word(false);
    }
    const std::string word = in_.word(true);
    if (s.guard.empty() && in_.accept(':')) {
      e.labels[word] = e.body.size();
      last_label_ = word;
      return;
    }
    s.opcode = split_opcode(word);
    if (!in_.accept(';')) {
      do s.operands.push_back(read_operand(in_));
      while (in_.accept(','));
      in_.expect(';');
    }
    e.body.push_back(std::move(s));
  }

  void body_directive(EntryText& e) {
    const int line = in_.line();
    const std::string word = in_.word(true);
    if (word == ".reg" || word == ".pragma") {  // registers are known by use
      while (!in_.accept(';')) in_.peek() == '"' ? void(in_.quoted()) : skip_token();
    } else if (word == ".loc") {
      source_ = caller_ = location();
      if (in_.accept(',')) inlined();
    } else if (word == ".branchtargets") {
      do e.branch_tables[last_label_].push_back(in_.word(false));
      while (in_.accept(','));
      in_.expect(';');
    } else if (word == ".shared" || word == ".local") {
      (word == ".shared" ? e.shared : e.local).push_back(variable());
      in_.expect(';');
    } else {
      throw PtxError(line, "unknown directive " + word);
    }
  }

  Location location() {
    int part[3];
    for (int& p : part) p = int(number(in_.line(), in_.word(false), false));
    return {part[0], part[1], part[2]};
  }

  // ", function_name label, inlined_at 1 24 55": that place may itself be inlined, as an earlier
  // .loc has said.
  void inlined() {
    in_.word(false);
    in_.word(true);
    if (in_.accept('+')) in_.word(false);
    in_.expect(',');
    in_.word(false);
    caller_ = inlined_at_[source_] = location();
    for (int depth = 0; depth < 100 && inlined_at_.count(caller_); ++depth)
      caller_ = inlined_at_[caller_];
  }

  void skip_token() {
    for (char c : {',', '<', '>'})
      if (in_.accept(c)) return;
    in_.word(true);
  }

  Reader in_;
  ModuleText module_;
  std::string linkage_, last_label_;
  Location source_, caller_;
  std::map<Location, Location> inlined_at_;
};

}  // namespace

ModuleText parse_ptx(const std::string& text) { return Parser(text).parse(); }

}  // namespace sfnn::gpusim

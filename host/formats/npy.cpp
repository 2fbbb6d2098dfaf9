#include "host/formats/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"

namespace sfnn {
namespace {

static_assert(std::endian::native == std::endian::little, "the values are little-endian");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = 1 << 16;
constexpr std::size_t kMaxRank = 32;  // NumPy's own limit
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxFileBytes = std::size_t(1) << 36;
constexpr std::size_t kHeadBytes = kMagic.size() + 2 + 4 + kMaxHeaderBytes;

using Values = decltype(NpyArray::values);

// NumPy's names of the types, without the byte order before them.
constexpr Names<NumberType, 12> kDescr{{{NumberType::boolean, "b1"},
                                        {NumberType::u8, "u1"},
                                        {NumberType::i8, "i1"},
                                        {NumberType::u16, "u2"},
                                        {NumberType::i16, "i2"},
                                        {NumberType::u32, "u4"},
                                        {NumberType::i32, "i4"},
                                        {NumberType::u64, "u8"},
                                        {NumberType::i64, "i8"},
                                        {NumberType::f16, "f2"},
                                        {NumberType::f32, "f4"},
                                        {NumberType::f64, "f8"}}};

// Those of the variant, in its order.
constexpr std::string_view kWritten[] = {"|u1", "<i4", "<i8", "<f4", "<f8"};
constexpr NumberType kWrittenTypes[] = {NumberType::u8, NumberType::i32, NumberType::i64,
                                        NumberType::f32, NumberType::f64};
static_assert(std::size(kWritten) == std::variant_size_v<Values> &&
              std::size(kWrittenTypes) == std::variant_size_v<Values>);

template <std::size_t I = 0>
Values empty_values(std::size_t type) {
  if constexpr (I + 1 < std::variant_size_v<Values>) {
    if (type > I) return empty_values<I + 1>(type);
  }
  return Values(std::in_place_index<I>);
}

// The number of values, or nothing if it is more than `limit`. Division instead of a product: the
// dimensions of a lying header overflow any integer.
std::optional<std::uint64_t> value_count(const std::vector<std::int64_t>& shape,
                                         std::uint64_t limit) {
  const bool empty = std::count(shape.begin(), shape.end(), 0) > 0;
  if (empty) limit = std::numeric_limits<std::int64_t>::max();  // for the other dimensions
  std::uint64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim == 0) continue;
    if (count > limit / std::uint64_t(dim)) return std::nullopt;
    count *= std::uint64_t(dim);
  }
  if (empty) return 0;
  return count <= limit ? std::optional(count) : std::nullopt;
}

// --- reading -----------------------------------------------------------------------------------

class HeaderReader {
 public:
  HeaderReader(std::string_view bytes, std::uint64_t size, std::string_view name)
      : rest_(bytes), size_(size), name_(name) {}

  ArrayHeader read() {
    const char* const begin = rest_.data();
    split();
    const auto offset = std::uint64_t(rest_.data() - begin);
    parse_dictionary();
    ArrayHeader header{.shape = *shape_, .offset = offset};
    find_type(header);
    check_size(header);
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw DataError(fmt::format("{}: {}", name_, why));
  }
  [[noreturn]] void refuse_header() const {
    refuse("its .npy header is not the dictionary that NumPy writes");
  }

  // Leaves the header in header_, and rest_ at the values.
  void split() {
    if (!take(rest_, kMagic)) refuse("is not a .npy file: it does not begin with \\x93NUMPY");
    const std::string_view version = take_bytes(2);
    const int major = static_cast<unsigned char>(version[0]);
    if ((major != 1 && major != 2) || version[1] != 0) {
      refuse(fmt::format(".npy version {}.{} is not read, only 1.0 and 2.0", major,
                         static_cast<unsigned char>(version[1])));
    }
    const std::string_view digits = take_bytes(major == 1 ? 2 : 4);
    std::uint32_t length = 0;
    std::memcpy(&length, digits.data(), digits.size());
    if (length > kMaxHeaderBytes)
      refuse(fmt::format("a .npy header of {} bytes is too long", length));
    header_ = take_bytes(length);
  }

  std::string_view take_bytes(std::size_t count) {
    if (count > rest_.size()) refuse("ends inside its .npy header: is the file truncated?");
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  static bool take(std::string_view& text, std::string_view expected) {
    if (!text.starts_with(expected)) return false;
    text.remove_prefix(expected.size());
    return true;
  }

  // The next token of the header, if it is this one.
  bool token(std::string_view expected) {
    const std::size_t begin = header_.find_first_not_of(" \n");
    header_.remove_prefix(std::min(begin, header_.size()));
    return take(header_, expected);
  }
  void need(std::string_view expected) {
    if (!token(expected)) refuse_header();
  }

  // {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }: each key once, in any order.
  void parse_dictionary() {
    need("{");
    while (!token("}")) {
      const std::string key = parse_text();
      need(":");
      if (key == "descr" && !descr_) {
        descr_ = parse_descr();
      } else if (key == "fortran_order" && !fortran_order_) {
        fortran_order_ = token("True");
        if (!*fortran_order_) need("False");
      } else if (key == "shape" && !shape_) {
        shape_ = parse_shape();
      } else {
        refuse_header();
      }
      if (!token(",")) {
        need("}");
        break;
      }
    }
    static_cast<void>(token(""));  // the spaces that fill the header up
    if (!header_.empty() || !descr_ || !fortran_order_ || !shape_) refuse_header();
    if (*fortran_order_) {
      refuse("is stored column by column: save np.ascontiguousarray(a) instead of a");
    }
  }

  std::string parse_text() {
    for (const std::string_view quote : {"'", "\""}) {
      if (!token(quote)) continue;
      const std::size_t end = header_.find_first_of("'\"\\");
      if (end == std::string_view::npos || header_[end] != quote[0]) break;
      const std::string text(header_.substr(0, end));
      header_.remove_prefix(end + 1);
      return text;
    }
    refuse_header();
  }

  std::string parse_descr() {
    if (token("[")) refuse("holds records of several fields: save an array of plain numbers");
    return parse_text();
  }

  std::vector<std::int64_t> parse_shape() {
    std::vector<std::int64_t> shape;
    need("(");
    while (!token(")")) {
      std::int64_t dim = 0;
      static_cast<void>(token(""));
      const auto [end, error] =
          std::from_chars(header_.data(), header_.data() + header_.size(), dim);
      if (error == std::errc::result_out_of_range) refuse("a dimension in its header is too large");
      if (error != std::errc() || dim < 0) refuse_header();
      header_.remove_prefix(std::size_t(end - header_.data()));
      shape.push_back(dim);
      if (shape.size() > kMaxRank) refuse(fmt::format("has more than {} dimensions", kMaxRank));
      if (!token(",")) {
        need(")");
        break;
      }
    }
    return shape;
  }

  void find_type(ArrayHeader& header) const {
    if (!descr_->empty() && std::string_view("<>|=").find((*descr_)[0]) != std::string_view::npos) {
      for (const auto& [type, name] : kDescr) {
        if (std::string_view(*descr_).substr(1) != name) continue;
        header.type = type;
        header.big_endian = (*descr_)[0] == '>';
        return;
      }
    }
    const std::string shown =
        descr_->size() <= 8 && std::all_of(descr_->begin(), descr_->end(),
                                           [](char ch) { return ch > ' ' && ch < '\x7f'; })
            ? fmt::format("type {}", *descr_)
            : "its type";
    refuse(
        fmt::format("{} is not a number: save it with np.save(file, a.astype(np.float32))", shown));
  }

  void check_size(const ArrayHeader& header) const {
    const std::size_t each = size_of(header.type);
    const std::uint64_t follow = size_ - header.offset;
    const auto count = value_count(header.shape, follow / each);
    const std::string shape = fmt::format("{}", fmt::join(header.shape, " x "));
    if (!count) {
      refuse(
          fmt::format("its header promises {} values of {} bytes, and {} bytes follow: is the "
                      "file truncated?",
                      shape, each, follow));
    }
    if (*count * each != follow)
      refuse(fmt::format("continues after the {} values that its header promises", shape));
  }

  std::string_view rest_;
  std::uint64_t size_;
  std::string_view name_, header_;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

}  // namespace

bool is_npy(std::string_view first_bytes) { return first_bytes.starts_with(kMagic); }

ArrayHeader parse_npy_header(std::string_view first_bytes, std::uint64_t size,
                             std::string_view name) {
  return HeaderReader(first_bytes, size, name).read();
}

ArrayFile open_npy(const SharedSource& source, std::uint64_t first, std::uint64_t size) {
  std::string head(std::size_t(std::min<std::uint64_t>(kHeadBytes, size)), '\0');
  source->read(first, std::as_writable_bytes(std::span(head)));
  ArrayHeader header = parse_npy_header(head, size, source->name());
  header.offset += first;
  return {source, std::move(header)};
}

ArrayFile open_npy(const SharedSource& source) { return open_npy(source, 0, source->size()); }

ArrayFile open_npy(const std::filesystem::path& path) {
  return open_npy(std::make_shared<FileSource>(path));
}

NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ArrayHeader header = parse_npy_header(text, bytes.size(), name);
  const bool is_bool = header.type == NumberType::boolean;
  if (is_bool) header.type = NumberType::u8;
  const auto found = std::find(std::begin(kWrittenTypes), std::end(kWrittenTypes), header.type);
  if (header.big_endian || found == std::end(kWrittenTypes))
    throw DataError(
        fmt::format("{}: {} is not a type that is written here", name, to_string(header.type)));
  NpyArray array{header.shape, empty_values(std::size_t(found - std::begin(kWrittenTypes)))};
  std::visit(
      [&](auto& values) {
        const auto from = bytes.subspan(std::size_t(header.offset));
        values.resize(from.size() / sizeof(values[0]));
        if (!from.empty()) std::memcpy(values.data(), from.data(), from.size());
        if (is_bool)  // any byte but zero is true
          for (auto& value : values) value = value != 0;
      },
      array.values);
  return array;
}

std::string serialize_npy(const NpyArray& array) {
  const auto bytes =
      std::visit([](const auto& values) { return std::as_bytes(std::span(values)); }, array.values);
  const std::size_t size =
      std::visit([](const auto& values) { return values.size(); }, array.values);
  if (std::any_of(array.shape.begin(), array.shape.end(), [](auto dim) { return dim < 0; }) ||
      value_count(array.shape, size) != size) {
    throw Error(fmt::format("an array of shape ({}) cannot have {} values",
                            fmt::join(array.shape, ", "), size));
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   kWritten[array.values.index()], fmt::join(array.shape, ", "),
                                   array.shape.size() == 1 ? "," : "");
  // Spaces and a newline fill it up, so that the values are aligned to 64 bytes.
  const std::size_t before = kMagic.size() + 4;
  header.append(kAlignment - 1 - (before + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string file(kMagic);
  file += {'\x01', '\x00', char(header.size() & 0xff), char(header.size() >> 8)};
  file += header;
  file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return file;
}

NpyArray read_npy(const std::filesystem::path& path) {
  const std::string file = read_file(path, kMaxFileBytes);
  return parse_npy(std::as_bytes(std::span(file)), path.string());
}

void write_npy(const std::filesystem::path& path, const NpyArray& array) {
  write_file_atomically(path, serialize_npy(array));
}

}  // namespace sfnn

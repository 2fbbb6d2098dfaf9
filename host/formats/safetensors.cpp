#include "host/formats/safetensors.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "host/base/error.hpp"
#include "host/base/function_ref.hpp"
#include "host/formats/atomic_file.hpp"

namespace sfnn {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxHeaderBytes = 4 << 20;
constexpr std::size_t kMaxRank = 8;
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kHeaderCrc = "sfnn.crc32";
constexpr std::string_view kTensorCrc = "sfnn.crc32.";
constexpr std::string_view kZeroCrc = "00000000";
// The checksum's key as in the header. Inside a JSON string the quotes would be escaped, so it
// occurs nowhere else.
constexpr std::string_view kHeaderCrcField = "\"sfnn.crc32\":\"";

std::string crc_text(std::span<const std::byte> bytes) {
  const auto crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  return fmt::format("{:08x}", std::uint32_t(crc));
}

std::span<const std::byte> as_byte_span(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// --- reading -----------------------------------------------------------------------------------

[[noreturn]] void refuse(std::string_view name, const std::string& why) {
  throw DataError(fmt::format("{}: not a sound safetensors file: {}", name, why));
}

// The header's length according to the first bytes of a file, which has file_size bytes in all.
std::size_t header_length(std::string_view first, std::size_t file_size, std::string_view name) {
  if (first.size() < kLengthBytes) refuse(name, "it is too short for a header");
  std::uint64_t length = 0;
  std::memcpy(&length, first.data(), kLengthBytes);
  const std::size_t rest = file_size - kLengthBytes;
  if (length > kMaxHeaderBytes) {
    refuse(name, length > rest ? "it does not begin with the length of a header"
                               : fmt::format("a header of {} bytes is too long", length));
  }
  if (length > rest)
    refuse(name, fmt::format("its header should have {} bytes, and {} follow", length, rest));
  return length;
}

// Checks a header before it is parsed: how deep it is, and whether a key occurs twice (a JSON
// object would keep only the last). (nlohmann's parser would call back for the same, in time
// quadratic in the number of objects.)
class HeaderWatch : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::string fault;  // why the walk was stopped, if not by a parse error

  bool start_object(std::size_t) override {
    if (!enter()) return false;
    keys_[depth_ - 1].clear();
    return true;
  }
  bool key(string_t& name) override {
    if (keys_[depth_ - 1].insert(name).second) return true;
    return broken(fmt::format("'{:.60}' occurs twice", name));
  }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  static constexpr int kMaxDepth = 3;  // header, tensor, shape

  bool enter() { return ++depth_ <= kMaxDepth || broken("its header is nested too deeply"); }
  bool leave() { return --depth_, true; }
  bool broken(std::string why) { return fault = std::move(why), false; }

  int depth_ = 0;
  std::set<std::string> keys_[kMaxDepth];
};

// Reads the header alone: it says how long the file must be, before memory is allocated for the
// rest.
class Reader {
 public:
  Reader(std::string_view header, std::size_t data_size, std::string_view name, Checksums checksums)
      : header_(header), data_size_(data_size), name_(name), checksums_(checksums) {
    const nlohmann::json json = parse_header();
    if (json.contains(kMetadata)) metadata_ = read_metadata(json[std::string(kMetadata)]);
    check_header_crc();
    entries_ = read_entries(json);
  }

  // read_next(bytes) fills them with the data that follow what it gave before.
  TensorFile read(FunctionRef<void(std::span<std::byte>)> read_next) const {
    TensorFile file;
    file.metadata = metadata_;
    for (const Entry& entry : entries_) {
      NamedTensor tensor{entry.name, entry.shape, {}};
      tensor.values.resize((entry.end - entry.begin) / sizeof(float));
      const auto bytes = std::as_writable_bytes(std::span(tensor.values));
      read_next(bytes);
      check_tensor_crc(entry.name, bytes);
      file.tensors.push_back(std::move(tensor));
    }
    std::erase_if(file.metadata,
                  [](const auto& item) { return item.first.starts_with(kHeaderCrc); });
    return file;
  }

 private:
  struct Entry {
    std::string name;
    std::vector<std::int64_t> shape;
    std::size_t begin = 0, end = 0;  // in the data
  };

  [[noreturn]] void refuse(const std::string& why) const { sfnn::refuse(name_, why); }

  nlohmann::json parse_header() const {
    HeaderWatch watch;
    if (!nlohmann::json::sax_parse(header_, &watch)) {
      refuse(watch.fault.empty() ? "its header is not JSON" : watch.fault);
    }
    nlohmann::json header = nlohmann::json::parse(header_);
    if (!header.is_object()) refuse("its header is not a JSON object");
    return header;
  }

  std::map<std::string, std::string> read_metadata(const nlohmann::json& json) const {
    std::map<std::string, std::string> metadata;
    if (!json.is_object()) refuse("its metadata is not an object");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) refuse(fmt::format("metadata '{:.60}' is not a text", key));
      metadata[key] = value.get<std::string>();
    }
    return metadata;
  }

  // All tensors by the position of their data, which they must fill to the last byte.
  std::vector<Entry> read_entries(const nlohmann::json& header) const {
    std::vector<Entry> entries;
    for (const auto& [tensor, json] : header.items()) {
      if (tensor != kMetadata) entries.push_back(read_entry(tensor, json));
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    std::size_t end = 0;
    for (const Entry& entry : entries) {
      if (entry.begin != end) {
        refuse(fmt::format("the data of '{:.60}' {}", entry.name,
                           entry.begin < end ? "overlaps with another's" : "comes after a hole"));
      }
      end = entry.end;
    }
    if (end < data_size_) refuse(fmt::format("{} bytes follow its last tensor", data_size_ - end));
    return entries;
  }

  Entry read_entry(const std::string& tensor, const nlohmann::json& json) const {
    const auto bad = [&](const std::string& why) {
      refuse(fmt::format("tensor '{:.60}' {}", tensor, why));
    };
    const auto numbers = [&](const char* key) {
      const auto list = json.find(key);
      if (list == json.end() || !list->is_array() || list->size() > kMaxRank)
        bad(fmt::format("has no proper {}", key));
      std::vector<std::uint64_t> values;
      for (const nlohmann::json& item : *list) {
        if (!item.is_number_unsigned())
          bad(fmt::format("has a {} that is not a list of whole numbers", key));
        values.push_back(item.get<std::uint64_t>());
      }
      return values;
    };
    if (!json.is_object() || json.size() != 3)
      bad("is not described by dtype, shape and data_offsets");
    const auto dtype = json.find("dtype");
    if (dtype == json.end() || !dtype->is_string()) bad("has no dtype");
    if (*dtype != "F32")
      bad(fmt::format("is of type {:.60}, and only F32 is read", dtype->get<std::string>()));

    Entry entry{tensor, {}, 0, 0};
    std::uint64_t size = sizeof(float);
    bool overflow = false;
    for (const std::uint64_t extent : numbers("shape")) {
      overflow |= extent > std::uint64_t(std::numeric_limits<std::int64_t>::max()) ||
                  __builtin_mul_overflow(size, extent, &size);
      entry.shape.push_back(std::int64_t(extent));
    }
    if (overflow) bad("has a shape beyond all bounds");
    const auto offsets = numbers("data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1])
      bad("has data_offsets that are not a begin and an end");
    if (offsets[1] > data_size_) bad(fmt::format("ends at byte {} of {}", offsets[1], data_size_));
    if (offsets[1] - offsets[0] != size)
      bad(fmt::format("has {} bytes of data, and its shape needs {}", offsets[1] - offsets[0],
                      size));
    entry.begin = offsets[0];
    entry.end = offsets[1];
    return entry;
  }

  void check_header_crc() const {
    const auto stated = metadata_.find(std::string(kHeaderCrc));
    if (stated == metadata_.end()) {
      if (checksums_ == Checksums::required) refuse("its header has no checksum");
      return;
    }
    std::string zeroed(header_);
    const std::size_t field = zeroed.find(kHeaderCrcField);
    if (field == std::string::npos || stated->second.size() != kZeroCrc.size())
      refuse("its checksum cannot be read");
    zeroed.replace(field + kHeaderCrcField.size(), kZeroCrc.size(), kZeroCrc);
    if (crc_text(as_byte_span(zeroed)) != stated->second)
      refuse("its header is damaged (checksum)");
  }

  void check_tensor_crc(const std::string& tensor, std::span<const std::byte> data) const {
    const auto stated = metadata_.find(std::string(kTensorCrc) + tensor);
    if (stated == metadata_.end()) {
      if (checksums_ == Checksums::required)
        refuse(fmt::format("tensor '{:.60}' has no checksum", tensor));
      return;
    }
    if (crc_text(data) != stated->second)
      refuse(fmt::format("tensor '{:.60}' is damaged (checksum)", tensor));
  }

  std::string_view header_;
  std::size_t data_size_;
  std::string_view name_;
  Checksums checksums_;
  std::map<std::string, std::string> metadata_;
  std::vector<Entry> entries_;  // by the position of their data
};

void check_tensor(const TensorView& tensor) {
  std::int64_t size = 1;
  for (const std::int64_t extent : tensor.shape) size *= extent;
  if (tensor.name == kMetadata || size != std::int64_t(tensor.values.size())) {
    throw Error(fmt::format("tensor '{}' with {} values cannot be written", tensor.name,
                            tensor.values.size()));
  }
}

// What comes before the data: the header's length and the header.
std::string beginning_of(const TensorFileView& file) {
  nlohmann::ordered_json header;
  auto& metadata = header[std::string(kMetadata)] = nlohmann::ordered_json::object();
  for (const auto& [key, value] : file.metadata) metadata[key] = value;
  metadata[std::string(kHeaderCrc)] = kZeroCrc;
  std::size_t begin = 0;
  for (const TensorView& tensor : file.tensors) {
    check_tensor(tensor);
    if (header.contains(tensor.name))
      throw Error(fmt::format("tensor '{}' occurs twice", tensor.name));
    const std::size_t end = begin + tensor.values.size_bytes();
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    header[std::string(kMetadata)][std::string(kTensorCrc) + tensor.name] =
        crc_text(std::as_bytes(tensor.values));
    begin = end;
  }

  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data is aligned to 8 bytes
  if (text.size() > kMaxHeaderBytes)
    throw Error(fmt::format("a header of {} bytes is too long", text.size()));
  const std::string crc = crc_text(as_byte_span(text));
  text.replace(text.find(kHeaderCrcField) + kHeaderCrcField.size(), crc.size(), crc);

  std::string bytes(kLengthBytes, '\0');
  const std::uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, kLengthBytes);
  return bytes.append(text);
}

std::string_view text_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

const NamedTensor* TensorFile::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const NamedTensor& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

TensorFileView::TensorFileView(const TensorFile& file) : metadata(file.metadata) {
  for (const NamedTensor& tensor : file.tensors)
    tensors.push_back({tensor.name, tensor.shape, tensor.values});
}

std::string serialize(const TensorFileView& file) {
  std::string bytes = beginning_of(file);
  for (const TensorView& tensor : file.tensors) bytes += text_of(tensor.values);
  return bytes;
}

TensorFile parse_safetensors(std::span<const std::byte> bytes, std::string_view name,
                             Checksums checksums) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t length = header_length(text.substr(0, kLengthBytes), bytes.size(), name);
  auto rest = bytes.subspan(kLengthBytes + length);
  const Reader reader(text.substr(kLengthBytes, length), rest.size(), name, checksums);
  return reader.read([&](std::span<std::byte> next) {
    std::ranges::copy(rest.first(next.size()), next.begin());
    rest = rest.subspan(next.size());
  });
}

TensorFile read_safetensors(const std::filesystem::path& path, Checksums checksums) {
  const std::string name = path.string();
  InputFile file(path);
  const std::string first = file.read(std::min(file.size(), kLengthBytes));
  const std::string header = file.read(header_length(first, file.size(), name));
  const Reader reader(header, file.size() - kLengthBytes - header.size(), name, checksums);
  return reader.read([&](std::span<std::byte> next) { file.read_into(next); });
}

void write_safetensors(const std::filesystem::path& path, const TensorFileView& file) {
  const std::string beginning = beginning_of(file);
  std::vector<std::string_view> pieces{beginning};
  for (const TensorView& tensor : file.tensors) pieces.push_back(text_of(tensor.values));
  write_file_atomically(path, pieces);
}

}  // namespace sfnn

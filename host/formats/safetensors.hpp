// Files of named float tensors in the safetensors format: 8 bytes of header length (little-endian),
// a JSON header, the data. Any safetensors reader reads our files, and we read theirs.
//
// The format has no checksums and allows no trailing bytes, so ours live in its __metadata__: a
// CRC-32 of each tensor's bytes ("sfnn.crc32.<name>") and one of the header ("sfnn.crc32", read as
// eight zeros while it is computed), both as zlib.crc32 computes them in Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sfnn {

struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major

  friend bool operator==(const NamedTensor&, const NamedTensor&) = default;
};

struct TensorFile {
  std::vector<NamedTensor> tensors;             // in the order of their data
  std::map<std::string, std::string> metadata;  // without the checksums

  const NamedTensor* find(std::string_view name) const;  // null: absent
  friend bool operator==(const TensorFile&, const TensorFile&) = default;
};

// What is to be written: values that lie elsewhere and must outlive it.
struct TensorView {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};

struct TensorFileView {
  TensorFileView() = default;
  TensorFileView(const TensorFile&);  // NOLINT(google-explicit-constructor): a file is its view

  std::vector<TensorView> tensors;
  std::map<std::string, std::string> metadata;
};

// How to treat a file without our checksums: as another program's, or as a damaged one of ours.
enum class Checksums { where_present, required };

// Throws Error if names repeat or a shape does not fit its values.
std::string serialize(const TensorFileView&);

// Trusts nothing: throws DataError, with `name` in it, for anything but a well-formed file whose
// tensors are all F32 and whose checksums hold. Takes no more memory than the file's size and 64
// times its header, which is at most 4 MiB.
TensorFile parse_safetensors(std::span<const std::byte> bytes, std::string_view name,
                             Checksums checksums = Checksums::where_present);

// The same for a file. Its size is compared with its header before anything else is read, and what
// is read is not held twice.
TensorFile read_safetensors(const std::filesystem::path&,
                            Checksums checksums = Checksums::where_present);
// Atomically, and from where the values lie.
void write_safetensors(const std::filesystem::path&, const TensorFileView&);

}  // namespace sfnn

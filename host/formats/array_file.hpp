// An array of numbers in a file, whatever its format: one example per row, read as rows are asked
// for. A file that is not packed is never held in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/names.hpp"
#include "host/formats/byte_source.hpp"

namespace sfnn {

enum class NumberType { boolean, u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64 };
inline constexpr Names<NumberType, 12> kNumberTypes{{{NumberType::boolean, "bool"},
                                                     {NumberType::u8, "uint8"},
                                                     {NumberType::i8, "int8"},
                                                     {NumberType::u16, "uint16"},
                                                     {NumberType::i16, "int16"},
                                                     {NumberType::u32, "uint32"},
                                                     {NumberType::i32, "int32"},
                                                     {NumberType::u64, "uint64"},
                                                     {NumberType::i64, "int64"},
                                                     {NumberType::f16, "float16"},
                                                     {NumberType::f32, "float32"},
                                                     {NumberType::f64, "float64"}}};
constexpr const auto& names_of(NumberType) { return kNumberTypes; }

std::size_t size_of(NumberType);
constexpr bool is_float(NumberType type) {
  return type == NumberType::f16 || type == NumberType::f32 || type == NumberType::f64;
}

// What a parser finds out: where the numbers lie, and how.
struct ArrayHeader {
  NumberType type = NumberType::f32;
  bool big_endian = false;
  std::vector<std::int64_t> shape;  // empty: a single number; no product of dimensions overflows
  std::uint64_t offset = 0;         // of the first number, the last dimension fastest
};

class ArrayFile {
 public:
  // The source must hold all that the header promises.
  ArrayFile(SharedSource source, ArrayHeader header);

  const std::string& name() const { return source_->name(); }
  [[noreturn]] void fail(const std::string& why) const { source_->fail(why); }

  const std::vector<std::int64_t>& shape() const { return header_.shape; }
  NumberType type() const { return header_.type; }
  std::int64_t rows() const { return header_.shape.empty() ? 1 : header_.shape[0]; }
  std::int64_t cols() const { return cols_; }
  bool in_memory() const { return source_->in_memory(); }
  const ByteSource& source() const { return *source_; }

  // Rows are given as bytes if these are what the file holds (bool: 0 or 1), else as floats.
  bool holds_bytes() const {
    return header_.type == NumberType::u8 || header_.type == NumberType::boolean;
  }
  std::size_t row_bytes() const {  // as they are given
    return std::size_t(cols_) * (holds_bytes() ? 1 : sizeof(float));
  }
  // `count` rows from `first` on, one after another. Any thread may call it. Throws DataError if
  // the file was cut.
  void read(std::int64_t first, std::int64_t count, std::byte* to) const;

  void will_need(std::int64_t first, std::int64_t count) const;
  void require_unchanged() const { source_->require_unchanged(); }

 private:
  std::uint64_t stored_row() const { return std::uint64_t(cols_) * size_of(header_.type); }
  std::uint64_t place(std::int64_t row) const {
    return header_.offset + std::uint64_t(row) * stored_row();
  }

  SharedSource source_;
  ArrayHeader header_;
  std::int64_t cols_ = 1;
};

}  // namespace sfnn

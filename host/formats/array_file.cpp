#include "host/formats/array_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

static_assert(std::endian::native == std::endian::little, "bytes of the other order are reversed");

// IEEE half precision: 1 sign bit, 5 of exponent, 10 of mantissa.
struct Half {
  std::uint16_t bits;

  explicit operator float() const {
    const int exponent = bits >> 10 & 0x1f;
    const auto mantissa = float(bits & 0x3ff);
    float value = exponent == 0      ? std::ldexp(mantissa, -24)
                  : exponent == 0x1f ? (mantissa == 0 ? HUGE_VALF : NAN)
                                     : std::ldexp(mantissa + 1024, exponent - 25);
    return bits & 0x8000 ? -value : value;
  }
};

template <class T>
T stored(const std::byte* bytes, bool big_endian) {
  std::array<std::byte, sizeof(T)> ordered{};
  std::copy_n(bytes, sizeof(T), ordered.begin());
  if (big_endian) std::ranges::reverse(ordered);
  return std::bit_cast<T>(ordered);
}

template <class T>
void convert(const std::byte* from, std::size_t count, bool big_endian, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(stored<T>(from + i * sizeof(T), big_endian));
    std::memcpy(to + i * sizeof(float), &value, sizeof(value));
  }
}

void convert(const ArrayHeader& header, const std::byte* from, std::size_t count, std::byte* to) {
  const bool big = header.big_endian;
  switch (header.type) {
    case NumberType::boolean:  // any byte but zero is true
      for (std::size_t i = 0; i < count; ++i) to[i] = std::byte(from[i] != std::byte(0));
      return;
    case NumberType::u8:
      std::memcpy(to, from, count);
      return;
    case NumberType::i8:
      return convert<std::int8_t>(from, count, big, to);
    case NumberType::u16:
      return convert<std::uint16_t>(from, count, big, to);
    case NumberType::i16:
      return convert<std::int16_t>(from, count, big, to);
    case NumberType::u32:
      return convert<std::uint32_t>(from, count, big, to);
    case NumberType::i32:
      return convert<std::int32_t>(from, count, big, to);
    case NumberType::u64:
      return convert<std::uint64_t>(from, count, big, to);
    case NumberType::i64:
      return convert<std::int64_t>(from, count, big, to);
    case NumberType::f16:
      return convert<Half>(from, count, big, to);
    case NumberType::f32:
      return convert<float>(from, count, big, to);
    case NumberType::f64:
      return convert<double>(from, count, big, to);
  }
}

// Are the stored bytes the ones that are given?
bool is_given_as_stored(const ArrayHeader& header) {
  return header.type == NumberType::u8 || (header.type == NumberType::f32 && !header.big_endian);
}

}  // namespace

std::size_t size_of(NumberType type) {
  switch (type) {
    case NumberType::boolean:
    case NumberType::u8:
    case NumberType::i8:
      return 1;
    case NumberType::u16:
    case NumberType::i16:
    case NumberType::f16:
      return 2;
    case NumberType::u32:
    case NumberType::i32:
    case NumberType::f32:
      return 4;
    case NumberType::u64:
    case NumberType::i64:
    case NumberType::f64:
      return 8;
  }
  return 1;
}

ArrayFile::ArrayFile(SharedSource source, ArrayHeader header)
    : source_(std::move(source)), header_(std::move(header)) {
  for (std::size_t d = 1; d < header_.shape.size(); ++d) cols_ *= header_.shape[d];
  if (rows() > 0 && place(rows()) > source_->size()) fail("is shorter than its header says");
}

void ArrayFile::read(std::int64_t first, std::int64_t count, std::byte* to) const {
  const std::uint64_t values = std::uint64_t(count) * std::uint64_t(cols_);
  if (is_given_as_stored(header_)) {
    source_->read(place(first), {to, std::size_t(values) * size_of(header_.type)});
    return;
  }
  constexpr std::size_t kChunk = 2048;  // values; on the stack, as several threads may read
  std::array<std::byte, 8 * kChunk> chunk;
  const std::size_t from_size = size_of(header_.type), to_size = holds_bytes() ? 1 : sizeof(float);
  for (std::uint64_t done = 0; done < values; done += kChunk) {
    const auto part = std::size_t(std::min<std::uint64_t>(kChunk, values - done));
    source_->read(place(first) + done * from_size, {chunk.data(), part * from_size});
    convert(header_, chunk.data(), part, to + done * to_size);
  }
}

void ArrayFile::will_need(std::int64_t first, std::int64_t count) const {
  source_->will_need(place(first), std::uint64_t(count) * stored_row());
}

}  // namespace sfnn

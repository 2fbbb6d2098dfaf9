// What an unsigned byte in a file of one's own means: a number as it is, a bit, or a grey value
// (255 is 1). Fixed at training time and stored in the checkpoint.
#pragma once

#include <cstdint>
#include <string_view>

#include "host/base/names.hpp"

namespace sfnn {

// What the user says of bytes (data.bytes). Automatic: bits if the training file has none above 1,
// else grey values.
enum class BytesAre { automatic, grey, number };
inline constexpr Names<BytesAre, 3> kBytesAre{
    {{BytesAre::automatic, "auto"}, {BytesAre::grey, "grey"}, {BytesAre::number, "number"}}};
constexpr const auto& names_of(BytesAre) { return kBytesAre; }

// How a network was trained to read them. Pixels: bits drawn from grey pictures; a file with a byte
// above 1 holds grey values, any other bits.
enum class ByteEncoding { numbers, bits, grey, pixels };
inline constexpr Names<ByteEncoding, 4> kByteEncodings{{{ByteEncoding::numbers, "numbers"},
                                                        {ByteEncoding::bits, "bits"},
                                                        {ByteEncoding::grey, "grey"},
                                                        {ByteEncoding::pixels, "pixels"}}};
constexpr const auto& names_of(ByteEncoding) { return kByteEncodings; }

constexpr float kGreyScale = 1.0f / 255.0f;
static_assert(255.0f * kGreyScale == 1.0f, "a white pixel is certain");

// For people.
constexpr std::string_view describe(ByteEncoding bytes) {
  switch (bytes) {
    case ByteEncoding::numbers:
      return "numbers as they are";
    case ByteEncoding::bits:
      return "bits, 0 or 1";
    case ByteEncoding::grey:
      return "grey bytes, divided by 255";
    case ByteEncoding::pixels:
      return "pixels drawn as bits, 0 or 1";
  }
  return "";
}

// Of the training file, whose largest byte is known.
constexpr ByteEncoding encoding_of(BytesAre said, std::uint8_t largest) {
  switch (said) {
    case BytesAre::automatic:
      return largest > 1 ? ByteEncoding::grey : ByteEncoding::bits;
    case BytesAre::grey:
      return ByteEncoding::grey;
    case BytesAre::number:
      break;
  }
  return ByteEncoding::numbers;
}

// Of another file that the network is given.
constexpr float scale_of(ByteEncoding bytes, std::uint8_t largest) {
  const bool grey = bytes == ByteEncoding::grey || (bytes == ByteEncoding::pixels && largest > 1);
  return grey ? kGreyScale : 1.0f;
}

}  // namespace sfnn

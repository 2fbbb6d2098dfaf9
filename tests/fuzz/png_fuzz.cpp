#include <algorithm>
#include <span>

#include "host/formats/png_reader.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace sfnn;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kPixels = 1032 * 8;  // per byte: the most that deflate unpacks, as bits
  const std::size_t pixel_bytes = std::min<std::size_t>(64 << 20, 3 * kPixels * size);
  const auto picture = fuzz::load_within<DataError>((4 << 20) + 4 * pixel_bytes, [&] {
    return parse_png(std::as_bytes(std::span(data, size)), fuzz::kName);
  });
  if (!picture) return 0;
  fuzz::demand(
      std::int64_t(picture->pixels.size()) == picture->height * picture->width * picture->channels,
      "every pixel is there");
  const std::string written = encode_png(*picture);
  fuzz::demand(parse_png(std::as_bytes(std::span(written)), fuzz::kName).pixels == picture->pixels,
               "what was loaded can be written and loaded again");
  return 0;
}

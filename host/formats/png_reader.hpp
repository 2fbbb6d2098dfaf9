// Pictures as data: a folder of PNG files, in the order of their names, all of one size and either
// grey or in colour; or one such file. 8 bits per colour; what is transparent is black.
//
// Damaged or lying files give a DataError. Reading one picture takes at most 4 MiB and four times
// its pixels' bytes, of which there are no more than deflate could have packed into the file, and
// 64 MiB. A folder takes its pictures' bytes twice beside that.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "host/formats/array_file.hpp"
#include "host/formats/png.hpp"

namespace sfnn {

Picture parse_png(std::span<const std::byte> bytes, std::string_view name);

// [pictures, height, width], or [pictures, height, width, 3] in colour; bytes.
ArrayFile open_png(const std::filesystem::path&);

}  // namespace sfnn

// NumPy's .npz files: a ZIP archive of .npy files, stored (np.savez) or deflated
// (np.savez_compressed).
//
// Of a stored array the values stay in the file. A deflated one is unpacked, at most kMaxUnpacked
// bytes; whatever the archive says, that takes the array's size beside 1 MiB and the size of the
// directory. Encrypted archives, other methods and more than 4096 members are refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "host/formats/array_file.hpp"

namespace sfnn {

struct NpzMember {
  std::string name;  // without .npy
  std::uint64_t header = 0, packed = 0, size = 0;
  std::uint32_t crc = 0;
  bool deflated = false;
};

bool is_npz(std::string_view first_bytes);
std::vector<NpzMember> npz_members(const ByteSource&);
ArrayFile open_npz(const SharedSource&, const NpzMember&);

// The array of that name or, if there is only one, that one. Throws DataError that lists them.
ArrayFile open_npz(const std::filesystem::path&, std::string_view name);
ArrayFile open_npz(const std::filesystem::path&);  // the only one

}  // namespace sfnn

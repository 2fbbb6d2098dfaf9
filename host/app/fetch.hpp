// Downloads the files of a public data set to a folder on the search path.
//
// A file arrives under NAME.part and gets its name only when the sha256 of what it unpacks to is
// right, so that whatever has its final name is whole. The next call continues a .part that a
// signal or a lost connection left behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sfnn {

struct PublicFile {
  std::string name;     // unpacked; mirrors have it as NAME.gz
  std::uint64_t bytes;  // size of the unpacked file
  std::string sha256;   // of the unpacked file: mirrors compress differently
};

struct PublicData {
  std::string set;                   // name of the set and of its folder
  std::vector<std::string> mirrors;  // URLs of folders, tried in this order
  std::vector<PublicFile> files;
};

// The sets that `sfnn data` knows.
const std::vector<PublicData>& public_data();

struct FetchOptions {
  std::string from;                             // a folder or a URL instead of the mirrors
  std::filesystem::path to;                     // files go to its subfolder with the set's name
  std::function<void(const std::string&)> say;  // one line per file
  // Called often while a file arrives, with the bytes so far and in total.
  std::function<void(const std::string& name, std::int64_t bytes, std::int64_t all)> show =
      [](const std::string&, std::int64_t, std::int64_t) {};
  std::function<bool()> stop = [] { return false; };  // checked regularly
};

enum class Fetched { all, stopped };

// Throws ConfigError (`from` is neither a folder nor a URL), DataError (no mirror has it, it is not
// what it should be) or Error (it cannot be written).
Fetched fetch(const PublicData&, const FetchOptions&);

}  // namespace sfnn

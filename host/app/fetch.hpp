// The files of a public data set, fetched to where the search path finds them.
//
// A file arrives under NAME.part and gets its name only when the sha256 of what it unpacks to is
// right, so that whatever has its final name is whole. A .part that is left behind, by a signal or
// a lost connection, is where the next call goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sfnn {

struct PublicFile {
  std::string name;     // unpacked; mirrors have it as NAME.gz
  std::uint64_t bytes;  // unpacked, as is
  std::string sha256;   // this one: mirrors compress differently
};

struct PublicData {
  std::string set;                   // its name, and its folder's
  std::vector<std::string> mirrors;  // URLs of folders, tried in this order
  std::vector<PublicFile> files;
};

// Those that `sfnn data` knows.
const std::vector<PublicData>& public_data();

struct FetchOptions {
  std::string from;                             // a folder or a URL in place of the mirrors
  std::filesystem::path to;                     // files go to its folder of the set's name
  std::function<void(const std::string&)> say;  // a line on each file
  // Called often while a file arrives, with the bytes that are there and those that will be.
  std::function<void(const std::string& name, std::int64_t bytes, std::int64_t all)> show =
      [](const std::string&, std::int64_t, std::int64_t) {};
  std::function<bool()> stop = [] { return false; };  // asked now and then
};

enum class Fetched { all, stopped };

// Throws ConfigError (`from` is neither a folder nor a URL), DataError (no mirror has it, it is not
// what it should be) or Error (it cannot be written).
Fetched fetch(const PublicData&, const FetchOptions&);

}  // namespace sfnn

// Where data are found. With --data, that is the only place; without it they are looked for in
//
//   SFNN_DATA, ~/.cache/sfnn (where `sfnn data` puts them), /usr/share/datasets (where Debian's
//   packages do), the current directory
//
// in this order.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "host/base/error.hpp"

namespace sfnn {

// A file that was named does not exist: exit code 2, as for other missing files.
struct MissingFileError : DataError {
  using DataError::DataError;
};

// A file and, for an archive, which of its arrays: "d.npz:train_x".
struct DataName {
  std::filesystem::path file;
  std::string member;  // empty: not said
};
DataName split_member(const std::string& name);

std::filesystem::path cache_folder();  // XDG_CACHE_HOME/sfnn, else ~/.cache/sfnn

// root: what --data says; may be empty.
std::vector<std::filesystem::path> data_roots(const std::string& root);

// True if `name` stays below them: no ".." that leaves any of them, no absolute path that leads
// elsewhere. Links made by the folders' owner are not checked.
bool lies_in_data_roots(const std::string& root, const std::filesystem::path& name);

// True if `sfnn data` knows a set of this name.
bool can_be_fetched(const std::filesystem::path& name);

// For a name that none of the places has but `folder` does: how to find it from here, an absolute
// path if it lies outside the current directory. Else the name itself.
std::filesystem::path name_beside(const std::filesystem::path& folder, const std::string& root,
                                  const std::filesystem::path& name);

// The first of the places that has `name`, a file or a folder that is not empty; an absolute name
// stands for itself.
// Throws a DataError that lists the places.
std::filesystem::path find_data(const std::string& root, const std::filesystem::path& name);

}  // namespace sfnn

#include "host/formats/data_formats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "host/base/error.hpp"
#include "host/formats/csv.hpp"
#include "host/formats/idx.hpp"
#include "host/formats/npy.hpp"
#include "host/formats/npz.hpp"
#include "host/formats/png_reader.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

bool never(std::string_view) { return false; }  // the name alone tells

constexpr DataFormat kFormats[] = {
    {"npy", ".npy", is_npy, [](const fs::path& path) { return open_npy(path); }},
    {"npz", ".npz", is_npz, [](const fs::path& path) { return open_npz(path); }},
    {"png", ".png", is_png, open_png},
    {"idx", "", is_idx, open_idx},
    {"csv", ".csv", never, open_csv},
};

// What people also have, and the Python that makes an array `a` of it.
struct Foreign {
  std::string_view ending, python;
};
constexpr Foreign kForeign[] = {
    {".h5", "a = h5py.File('{}')['NAME'][:]"},
    {".hdf5", "a = h5py.File('{}')['NAME'][:]"},
    {".mat", "a = scipy.io.loadmat('{}')['NAME']"},
    {".pt", "a = torch.load('{}').numpy()"},
    {".pth", "a = torch.load('{}').numpy()"},
    {".pkl", "a = np.asarray(pd.read_pickle('{}'))"},
    {".parquet", "a = pd.read_parquet('{}').to_numpy()"},
    {".txt", "a = np.loadtxt('{}')"},
    {".tsv", "a = np.loadtxt('{}', skiprows=1)"},
    {".jpg", "a = np.asarray(PIL.Image.open('{}'))"},
    {".jpeg", "a = np.asarray(PIL.Image.open('{}'))"},
};

[[noreturn]] void refuse(const ByteSource& source, const fs::path& path) {
  const std::string ending = path.extension().string();
  std::vector<std::string_view> names;
  for (const DataFormat& format : kFormats) names.push_back(format.name);
  std::string make = "a = ...";
  for (const Foreign& foreign : kForeign)
    if (foreign.ending == ending)
      make = fmt::format(fmt::runtime(foreign.python), path.filename().string());
  source.fail(fmt::format("is none of {}: in Python, {}; np.save('{}.npy', a)",
                          fmt::join(names, ", "), make, path.stem().string()));
}

}  // namespace

std::span<const DataFormat> data_formats() { return kFormats; }

ArrayFile open_array(const fs::path& path) {
  if (fs::is_directory(path)) return open_png(path);
  const FileSource source(path);
  const std::vector<std::byte> head = source.head(16);
  const std::string_view bytes(reinterpret_cast<const char*>(head.data()), head.size());
  for (const DataFormat& format : kFormats)
    if (format.is(bytes)) return format.open(path);
  for (const DataFormat& format : kFormats)
    if (!format.ending.empty() && path.extension() == format.ending) return format.open(path);
  refuse(source, path);
}

}  // namespace sfnn

#include "host/app/fetch.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>

#include "host/backend/error.hpp"
#include "host/data/byte_reader.hpp"

namespace sfnn {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxPackedBytes = std::int64_t(1) << 30;  // a mirror may send no more
constexpr long kConnectSeconds = 30, kStallSeconds = 60;

std::string reason() { return std::generic_category().message(errno); }

bool is_url(const std::string& place) {
  return place.starts_with("http://") || place.starts_with("https://");
}

// --- checking ----------------------------------------------------------------------------------

// Of the unpacked bytes, or what is wrong with them. No more than `file.bytes` is ever unpacked.
std::optional<std::string> fault_of(const fs::path& path, const PublicFile& file) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return "it cannot be opened";
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(),
                                                                     EVP_MD_CTX_free);
  if (!hash || EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  std::uint64_t total = 0;
  try {
    ByteReader reader(in, "it");
    std::array<std::uint8_t, 64 * 1024> chunk;
    while (const std::size_t count = reader.read(chunk)) {
      total += count;
      if (total > file.bytes) return fmt::format("it unpacks to more than {} bytes", file.bytes);
      EVP_DigestUpdate(hash.get(), chunk.data(), count);
    }
  } catch (const DataError& error) {
    return error.what();
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  EVP_DigestFinal_ex(hash.get(), digest.data(), &size);
  const std::string sha256 =
      fmt::format("{:02x}", fmt::join(digest.begin(), digest.begin() + size, ""));
  if (sha256 == file.sha256) return std::nullopt;
  return fmt::format("the sha256 of its {} unpacked bytes is {}, not {}", total, sha256,
                     file.sha256);
}

// --- writing -----------------------------------------------------------------------------------

// NAME.part: grows, can be started over, and becomes NAME.
class PartFile {
 public:
  explicit PartFile(fs::path final_path) : final_(std::move(final_path)), path_(final_) {
    path_ += ".part";
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd_ < 0) fail("be written");
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      ::close(fd_);
      throw Error(fmt::format("{}: another process is fetching it", path_.string()));
    }
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile() { ::close(fd_); }

  const fs::path& path() const { return path_; }
  std::int64_t size() const { return std::int64_t(fs::file_size(path_)); }
  void clear() {
    if (::ftruncate(fd_, 0) != 0) fail("be written");
  }
  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("be written");
      bytes.remove_prefix(std::size_t(count));
    }
  }
  void remove() { ::unlink(path_.c_str()); }
  void put_in_place() {
    if (::fsync(fd_) != 0) fail("be synced to disk");
    if (::rename(path_.c_str(), final_.c_str()) != 0) fail("be put in place");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(fmt::format("{}: cannot {}: {}", path_.string(), what, reason()));
  }

  fs::path final_, path_;
  int fd_ = -1;
};

// --- transfer ----------------------------------------------------------------------------------

enum class Transfer { whole, broken, absent, stopped };

class Download {
 public:
  Download(PartFile& part, const std::function<bool()>& stop)
      : part_(part), stop_(stop), curl_(curl_easy_init(), curl_easy_cleanup) {
    if (!curl_) throw std::bad_alloc();
  }

  // Goes on where the part ends, if the server can; else from the start.
  Transfer get(const std::string& url);
  const std::string& problem() const { return problem_; }

 private:
  static std::size_t on_bytes(char* bytes, std::size_t, std::size_t count, void* self) {
    return static_cast<Download*>(self)->take({bytes, count}) ? count : 0;
  }
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Download*>(self)->stop_() ? 1 : 0;
  }
  bool take(std::string_view bytes);
  long status() const {
    long code = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  PartFile& part_;
  const std::function<bool()>& stop_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
  bool started_ = false;
  std::exception_ptr failure_;  // of a callback, which C code stands around
  std::string problem_;
};

bool Download::take(std::string_view bytes) {
  try {
    constexpr long kPartial = 206;
    if (!started_ && status() != kPartial) part_.clear();  // the server sends all of it
    started_ = true;
    if (part_.size() + std::int64_t(bytes.size()) > kMaxPackedBytes)
      throw DataError(fmt::format("{}: the server sends more than 1 GB", part_.path().string()));
    part_.append(bytes);
    return true;
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

Transfer Download::get(const std::string& url) {
  CURL* const curl = curl_.get();
  const std::string range = fmt::format("{}-", part_.size());
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "sfnn");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  if (part_.size() > 0) curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);

  started_ = false;
  const CURLcode code = curl_easy_perform(curl);
  if (failure_) std::rethrow_exception(failure_);
  if (code == CURLE_OK) return Transfer::whole;
  if (code == CURLE_ABORTED_BY_CALLBACK) return Transfer::stopped;
  constexpr long kRangeRefused = 416;  // nothing is left to send: the part is whole, or not ours
  if (status() == kRangeRefused) return Transfer::whole;
  problem_ = fmt::format("{}: {}", url, curl_easy_strerror(code));
  if (status() >= 400) problem_ = fmt::format("{}: the server answers {}", url, status());
  return status() >= 400 && status() < 500 ? Transfer::absent : Transfer::broken;
}

// --- files -------------------------------------------------------------------------------------

// Goes on for as long as each try brings the file further; one try more from the start where what
// was there before turns out not to belong to it.
Fetched fetch_from_mirrors(const PublicFile& file, const std::vector<std::string>& mirrors,
                           PartFile& part, const FetchOptions& options) {
  Download download(part, options.stop);
  std::string problem;
  for (const std::string& mirror : mirrors) {
    const std::string url = fmt::format("{}/{}.gz", mirror, file.name);
    bool from_start = part.size() == 0;
    for (std::int64_t before = -1; part.size() > before;) {
      before = part.size();
      const Transfer end = download.get(url);
      if (end == Transfer::stopped) return Fetched::stopped;
      if (end != Transfer::whole) {
        problem = download.problem();
        if (end == Transfer::absent) break;
        continue;
      }
      const auto fault = fault_of(part.path(), file);
      if (!fault) {
        options.say(fmt::format("{}.gz: {} bytes from {}, sha256 as it should be", file.name,
                                part.size(), mirror));
        return Fetched::all;
      }
      problem = fmt::format("{}: {}", url, *fault);
      part.clear();
      if (from_start) break;
      from_start = true;
      before = -1;
    }
  }
  const std::int64_t kept = part.size();
  if (kept == 0) part.remove();
  throw DataError(kept == 0 ? problem
                            : fmt::format("{}; {} bytes are kept: the same command goes on there",
                                          problem, kept));
}

void copy_from_folder(const fs::path& source, const PublicFile& file, PartFile& part,
                      const FetchOptions& options) {
  try {
    part.clear();
    std::ifstream in(source, std::ios::binary);
    std::string chunk(1 << 20, '\0');
    while (in.read(chunk.data(), std::streamsize(chunk.size())), in.gcount() > 0)
      part.append({chunk.data(), std::size_t(in.gcount())});
    if (const auto fault = fault_of(part.path(), file))
      throw DataError(fmt::format("{}: {}", source.string(), *fault));
  } catch (...) {
    part.remove();  // a copy is quickly made again
    throw;
  }
  options.say(fmt::format("{}: {} bytes from {}, sha256 as it should be",
                          source.filename().string(), part.size(), source.parent_path().string()));
}

// Plain or packed, in the folder itself or in its folder of the set's name.
fs::path find_source(const std::string& from, const std::string& set, const std::string& name) {
  for (const fs::path& folder : {fs::path(from), fs::path(from) / set})
    for (const char* ending : {".gz", ""})
      if (const fs::path path = folder / (name + ending); fs::is_regular_file(path)) return path;
  throw DataError(fmt::format("{} has no {}, neither plain nor as .gz", from, name));
}

Fetched fetch_file(const PublicData& data, const PublicFile& file, const FetchOptions& options) {
  const fs::path folder = options.to / data.set;
  for (const char* ending : {".gz", ""}) {
    const fs::path there = folder / (file.name + ending);
    if (!fs::exists(there)) continue;
    const auto fault = fault_of(there, file);
    options.say(fault ? fmt::format("{}: {}; fetching it again", there.string(), *fault)
                      : fmt::format("{}: already there", there.string()));
    if (!fault) return Fetched::all;
  }
  const bool local = !options.from.empty() && !is_url(options.from);
  const fs::path source = local ? find_source(options.from, data.set, file.name) : "";
  PartFile part(folder / (local ? source.filename().string() : file.name + ".gz"));
  if (local) {
    copy_from_folder(source, file, part, options);
  } else {
    const auto mirrors = options.from.empty() ? data.mirrors : std::vector{options.from};
    if (fetch_from_mirrors(file, mirrors, part, options) == Fetched::stopped)
      return Fetched::stopped;
  }
  part.put_in_place();
  return Fetched::all;
}

}  // namespace

Fetched fetch(const PublicData& data, const FetchOptions& options) {
  std::error_code error;
  fs::create_directories(options.to / data.set, error);
  if (error)
    throw Error(fmt::format("cannot make the directory {}: {}", (options.to / data.set).string(),
                            error.message()));
  curl_global_init(CURL_GLOBAL_DEFAULT);
  for (const PublicFile& file : data.files) {
    if (options.stop() || fetch_file(data, file, options) == Fetched::stopped)
      return Fetched::stopped;
  }
  return Fetched::all;
}

}  // namespace sfnn

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

#include "host/base/error.hpp"
#include "host/formats/byte_reader.hpp"
#include "host/formats/file_descriptor.hpp"

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

// What is wrong with the unpacked bytes, in a sentence that calls the file `name`; none: they are
// right. Never unpacks more than `file.bytes`.
std::optional<std::string> fault_of(const fs::path& path, const PublicFile& file,
                                    const std::string& name) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return name + ": cannot be opened";
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(),
                                                                     EVP_MD_CTX_free);
  if (!hash || EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  std::uint64_t total = 0;
  try {
    ByteReader reader(in, name);
    std::array<std::uint8_t, 64 * 1024> chunk;
    while (const std::size_t count = reader.read(chunk)) {
      total += count;
      if (total > file.bytes)
        return fmt::format("{}: unpacks to more than {} bytes", name, file.bytes);
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
  return fmt::format("{}: the sha256 of its {} unpacked bytes is {}, not {}", name, total, sha256,
                     file.sha256);
}

// --- writing -----------------------------------------------------------------------------------

// NAME.part: grows, can be restarted, and becomes NAME.
class PartFile {
 public:
  explicit PartFile(fs::path final_path)
      : final_(std::move(final_path)),
        path_(fs::path(final_) += ".part"),
        file_(path_, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW) {
    if (!file_.is_open()) fail("be written");
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
      throw Error(fmt::format("{}: another process is fetching it", path_.string()));
  }

  const fs::path& path() const { return path_; }
  std::string name() const { return final_.filename().string(); }  // its final name
  std::int64_t size() const { return std::int64_t(fs::file_size(path_)); }
  void clear() {
    if (::ftruncate(file_.get(), 0) != 0) fail("be written");
  }
  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("be written");
      bytes.remove_prefix(std::size_t(count));
    }
  }
  void remove() { ::unlink(path_.c_str()); }
  void put_in_place() {
    if (::fsync(file_.get()) != 0) fail("be synced to disk");
    if (::rename(path_.c_str(), final_.c_str()) != 0) fail("be put in place");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(fmt::format("{}: cannot {}: {}", path_.string(), what, reason()));
  }

  fs::path final_, path_;
  FileDescriptor file_;
};

// --- transfer ----------------------------------------------------------------------------------

enum class Transfer { whole, broken, absent, stopped };

class Download {
 public:
  Download(PartFile& part, const FetchOptions& options)
      : part_(part), options_(options), curl_(curl_easy_init(), curl_easy_cleanup) {
    if (!curl_) throw std::bad_alloc();
  }

  // Continues at the end of the part, if the server can; else starts again.
  Transfer get(const std::string& url);
  const std::string& problem() const { return problem_; }

 private:
  static std::size_t on_bytes(char* bytes, std::size_t, std::size_t count, void* self) {
    return static_cast<Download*>(self)->take({bytes, count}) ? count : 0;
  }
  static int on_progress(void* self, curl_off_t all, curl_off_t now, curl_off_t, curl_off_t) {
    return static_cast<Download*>(self)->goes_on(all, now) ? 0 : 1;
  }
  bool goes_on(std::int64_t all, std::int64_t now) {
    const std::int64_t before = part_.size() - now;  // what an earlier transfer left
    if (all > 0 && now > 0) options_.show(part_.name(), before + now, before + all);
    return !options_.stop();
  }
  bool take(std::string_view bytes);
  long status() const {
    long code = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  PartFile& part_;
  const FetchOptions& options_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
  bool started_ = false;
  std::exception_ptr failure_;  // thrown in a callback, which is called by C code
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
  constexpr long kRangeRefused =
      416;  // nothing left to send: the part is complete, or of another file
  if (status() == kRangeRefused) return Transfer::whole;
  problem_ = fmt::format("{}: {}", url, curl_easy_strerror(code));
  if (status() >= 400) problem_ = fmt::format("{}: the server answers {}", url, status());
  return status() >= 400 && status() < 500 ? Transfer::absent : Transfer::broken;
}

// --- files -------------------------------------------------------------------------------------

// A place that may have a file, and the file's name there.
struct Source {
  std::string folder, name;

  std::string url() const { return folder + "/" + name; }
};

// Mirrors have packed files. A URL given by the user is treated like a folder.
std::vector<Source> sources_of(const PublicData& data, const PublicFile& file, std::string from) {
  while (from.ends_with('/')) from.pop_back();  // a//b is not a/b to an object store
  std::vector<Source> sources;
  for (const std::string& mirror : data.mirrors)
    if (from.empty()) sources.push_back({mirror, file.name + ".gz"});
  for (const std::string& folder : {from, from + "/" + data.set})
    for (const char* ending : {".gz", ""})
      if (!from.empty()) sources.push_back({folder, file.name + ending});
  return sources;
}

struct Attempt {
  Transfer end;
  std::string problem;  // empty: the file is whole
};

// Repeats as long as each try makes progress; one more try from the start if the bytes that were
// there before turn out to be wrong.
Attempt download_file(const Source& source, const PublicFile& file, PartFile& part,
                      const FetchOptions& options) {
  Download download(part, options);
  Attempt attempt{Transfer::broken, ""};
  bool from_start = part.size() == 0;
  for (std::int64_t before = -1; part.size() > before;) {
    before = part.size();
    attempt = {download.get(source.url()), download.problem()};
    if (attempt.end == Transfer::stopped || attempt.end == Transfer::absent) break;
    if (attempt.end == Transfer::broken) continue;
    const auto fault = fault_of(part.path(), file, source.url());
    if (!fault) {
      options.say(fmt::format("{}: {} bytes from {}, sha256 correct", source.name, part.size(),
                              source.folder));
      break;
    }
    attempt = {Transfer::broken, *fault};
    part.clear();
    if (from_start) break;
    from_start = true;
    before = -1;
  }
  return attempt;
}

// Mirrors replace each other; if the user names the place, a wrong file there ends the search. A
// file that is missing everywhere is reported for the first place.
Fetched fetch_from_sources(const PublicFile& file, const std::vector<Source>& sources,
                           const fs::path& folder, const FetchOptions& options) {
  Attempt last{Transfer::absent, ""};
  std::int64_t kept = 0;
  for (const Source& source : sources) {
    PartFile part(folder / source.name);
    const Attempt attempt = download_file(source, file, part, options);
    if (attempt.end == Transfer::stopped) return Fetched::stopped;
    if (attempt.end == Transfer::whole) {
      part.put_in_place();
      return Fetched::all;
    }
    if (last.problem.empty() || attempt.end == Transfer::broken) last = attempt;
    kept = std::max(kept, part.size());
    if (part.size() == 0) part.remove();
    if (attempt.end == Transfer::broken && !options.from.empty()) break;
  }
  throw DataError(kept == 0
                      ? last.problem
                      : fmt::format("{}; {} bytes are kept: run the same command again to continue",
                                    last.problem, kept));
}

void copy_from_folder(const fs::path& source, const PublicFile& file, PartFile& part,
                      const FetchOptions& options) {
  try {
    part.clear();
    std::ifstream in(source, std::ios::binary);
    std::string chunk(1 << 20, '\0');
    while (in.read(chunk.data(), std::streamsize(chunk.size())), in.gcount() > 0)
      part.append({chunk.data(), std::size_t(in.gcount())});
    if (const auto fault = fault_of(part.path(), file, source.string())) throw DataError(*fault);
  } catch (...) {
    part.remove();  // a copy is quickly made again
    throw;
  }
  options.say(fmt::format("{}: {} bytes from {}, sha256 correct", source.filename().string(),
                          part.size(), source.parent_path().string()));
}

// Plain or packed, in the folder itself or in its subfolder with the set's name.
fs::path find_source(const std::string& from, const std::string& set, const std::string& name) {
  if (!fs::is_directory(from))
    throw ConfigError(fmt::format("--from {}: {}", from,
                                  from.find("://") != std::string::npos
                                      ? "a URL begins with http:// or https://"
                                      : "there is no such folder"));
  for (const fs::path& folder : {fs::path(from), fs::path(from) / set})
    for (const char* ending : {".gz", ""})
      if (const fs::path path = folder / (name + ending); fs::is_regular_file(path)) return path;
  throw DataError(fmt::format("{} has no {}, neither plain nor as .gz", from, name));
}

// Is the file that a loader would read, plain before .gz, the right one? A wrong plain one would
// hide whatever is fetched, so it gets another name.
bool is_there(const fs::path& folder, const PublicFile& file, const FetchOptions& options) {
  for (const char* ending : {"", ".gz"}) {
    const fs::path path = folder / (file.name + ending);
    if (!fs::exists(path)) continue;
    const auto fault = fault_of(path, file, path.string());
    if (!fault) {
      options.say(path.string() + ": already there");
      return true;
    }
    options.say(*fault + "; fetching it again");
    if (*ending != '\0') continue;  // replaced, or hidden by a plain one
    const fs::path aside = path.string() + ".wrong";
    std::error_code error;
    fs::rename(path, aside, error);
    if (error)
      throw Error(fmt::format("{}: cannot be renamed: {}", path.string(), error.message()));
    options.say(fmt::format("what was there is now {}", aside.string()));
  }
  return false;
}

Fetched fetch_file(const PublicData& data, const PublicFile& file, const FetchOptions& options) {
  const fs::path folder = options.to / data.set;
  if (is_there(folder, file, options)) return Fetched::all;
  if (options.from.empty() || is_url(options.from))
    return fetch_from_sources(file, sources_of(data, file, options.from), folder, options);
  const fs::path source = find_source(options.from, data.set, file.name);
  PartFile part(folder / source.filename());
  copy_from_folder(source, file, part, options);
  part.put_in_place();
  return Fetched::all;
}

// Removes the set's folder if it is empty, and the folders above that were made for it.
class RemovedIfEmpty {
 public:
  explicit RemovedIfEmpty(const fs::path& folder) : folder_(folder), topmost_(folder) {  // not made
    std::error_code ignored;
    while (!topmost_.parent_path().empty() && !fs::exists(topmost_.parent_path(), ignored))
      topmost_ = topmost_.parent_path();
  }
  RemovedIfEmpty(const RemovedIfEmpty&) = delete;
  RemovedIfEmpty& operator=(const RemovedIfEmpty&) = delete;
  ~RemovedIfEmpty() {
    std::error_code ignored;
    for (fs::path at = folder_; fs::remove(at, ignored) && at != topmost_;) at = at.parent_path();
  }

 private:
  fs::path folder_, topmost_;
};

}  // namespace

Fetched fetch(const PublicData& data, const FetchOptions& options) {
  const RemovedIfEmpty folder(options.to / data.set);
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

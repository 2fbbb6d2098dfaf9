#include "host/run/records.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sfnn {
namespace {

struct ToJson {
  MetricsLine& json;

  template <class T>
  void operator()(const char* key, const std::optional<T>& value, IfEmpty if_empty) const {
    if (value) {
      json[key] = *value;
    } else if (if_empty == IfEmpty::null) {
      json[key] = nullptr;
    }
  }
  void operator()(const char* key, const std::vector<std::string>& texts, IfEmpty) const {
    if (!texts.empty()) json[key] = texts;
  }
  void operator()(const char* key, const std::vector<double>& numbers, IfEmpty) const {
    if (!numbers.empty()) json[key] = numbers;
  }
  void operator()(const char* key, bool value, IfEmpty) const {
    if (value) json[key] = true;
  }
};

std::string text_of(const MetricsLine& item) {
  return item.is_string() ? item.get<std::string>() : item.dump();
}

struct FromJson {
  const MetricsLine& json;

  void operator()(const char* key, std::optional<std::uint64_t>& count, IfEmpty) const {
    const auto found = json.find(key);
    if (found != json.end() && found->is_number_unsigned()) count = found->get<std::uint64_t>();
  }
  void operator()(const char* key, std::optional<std::int64_t>& count, IfEmpty) const {
    const auto found = json.find(key);
    if (found != json.end() && found->is_number())
      count = std::int64_t(std::clamp(found->get<double>(), 0.0, 2147483647.0));
  }
  void operator()(const char* key, std::optional<double>& number, IfEmpty) const {
    const auto found = json.find(key);
    if (found != json.end() && found->is_number()) number = found->get<double>();
  }
  void operator()(const char* key, std::optional<std::string>& text, IfEmpty) const {
    const auto found = json.find(key);
    if (found != json.end()) text = text_of(*found);
  }
  void operator()(const char* key, std::vector<std::string>& texts, IfEmpty) const {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_array()) return;
    for (const MetricsLine& item : *found) texts.push_back(text_of(item));
  }
  void operator()(const char* key, std::vector<double>& numbers, IfEmpty) const {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_array()) return;
    if (!std::ranges::all_of(*found, [](const MetricsLine& item) { return item.is_number(); }))
      return;
    for (const MetricsLine& item : *found) numbers.push_back(item.get<double>());
  }
  void operator()(const char* key, bool& value, IfEmpty) const { value = json.contains(key); }
};

template <class Record>
MetricsLine to_line(const Record& record) {
  MetricsLine line = MetricsLine::object();
  visit_record(record, ToJson{line});
  return line;
}

template <class Record>
Record from_line(const MetricsLine& line) {
  Record record;
  visit_record(record, FromJson{line});
  return record;
}

template <class Record>
std::vector<Record> parse_records(std::string_view text, std::string_view name, const Warn& warn) {
  std::vector<Record> records;
  records.reserve(std::ranges::count(text, '\n'));
  for_each_line(text, name, warn,
                [&](MetricsLine&& line) { records.push_back(from_line<Record>(line)); });
  return records;
}

}  // namespace

std::string to_text(const EpochRecord& record) { return to_line(record).dump(); }
std::string to_text(const SessionRecord& record) { return to_line(record).dump(); }

void append_record(const std::filesystem::path& path, const EpochRecord& record) {
  append_metrics(path, to_line(record));
}

void append_record(const std::filesystem::path& path, const SessionRecord& record) {
  append_metrics(path, to_line(record));
}

std::vector<EpochRecord> parse_epochs(std::string_view text, std::string_view name,
                                      const Warn& warn) {
  return parse_records<EpochRecord>(text, name, warn);
}

std::vector<EpochRecord> read_epochs(const std::filesystem::path& path, const Warn& warn) {
  return parse_epochs(text_of_lines(path), path.string(), warn);
}

std::vector<SessionRecord> read_sessions(const std::filesystem::path& path, const Warn& warn) {
  return parse_records<SessionRecord>(text_of_lines(path), path.string(), warn);
}

void take_back_epochs_after(const std::filesystem::path& path, std::uint64_t epoch,
                            const Warn& warn) {
  std::vector<MetricsLine> lines = read_metrics(path, warn);
  std::erase_if(lines, [&](const MetricsLine& line) {
    return from_line<EpochRecord>(line).epoch.value_or(0) > epoch;
  });
  rewrite_metrics(path, lines);
}

}  // namespace sfnn

#include "host/run/data_facts.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host/base/error.hpp"
#include "host/run/metrics.hpp"

namespace sfnn {
namespace {

template <class Self, class V>
void visit_facts(Self& facts, V&& v) {
  v("size", facts.size);
  v("changed", facts.changed);
  v("rows", facts.rows);
  v("crc32", facts.crc);
  v("largest", facts.largest);
}

}  // namespace

std::vector<FileFacts> read_data_facts(const RunDirectory& directory) {
  std::vector<FileFacts> known;
  for (const MetricsLine& line : read_metrics(directory.data(), [](const std::string&) {})) {
    FileFacts facts;
    bool sound = line.contains("part") && line["part"].is_string();
    if (sound) facts.part = line["part"].get<std::string>();
    visit_facts(facts, [&](const char* key, auto& value) {
      sound = sound && line.contains(key) && line[key].is_number_integer();
      if (sound) value = line[key].get<std::remove_cvref_t<decltype(value)>>();
    });
    if (sound) known.push_back(facts);
  }
  return known;
}

void write_data_facts(const RunDirectory& directory, const DataSet& data) {
  std::vector<MetricsLine> lines;
  for (const FileFacts& facts : data.files) {
    MetricsLine line{{"part", facts.part}};
    visit_facts(facts, [&](const char* key, auto value) { line[key] = value; });
    lines.push_back(std::move(line));
  }
  if (!lines.empty()) rewrite_metrics(directory.data(), lines);
}

void require_same_data(const RunDirectory& directory, const DataSet& data) {
  for (const FileFacts& before : read_data_facts(directory)) {
    for (const FileFacts& now : data.files) {
      if (now.part != before.part || (now.crc == before.crc && now.rows == before.rows)) continue;
      throw DataError(
          fmt::format("the rows of {} are not those that {} began with: put the file back as it "
                      "was, or train with --init-from and another --out",
                      now.part, directory.path().string()));
    }
  }
}

}  // namespace sfnn

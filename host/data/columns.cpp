#include "host/data/columns.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace sfnn {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t(1) << 20;

// Calls read(row of the file, count, position of the first) for runs of rows that lie side by side
// in the file.
template <class Read>
void for_each_run(const FileRows& from, const std::int32_t* order, std::int64_t first,
                  std::int64_t count, const Read& read) {
  const auto row_at = [&](std::int64_t n) {
    return std::int64_t(from.rows[std::size_t(order ? order[first + n] : first + n)]);
  };
  for (std::int64_t n = 0; n < count;) {
    const std::int64_t row = row_at(n);
    std::int64_t run = 1;
    while (n + run < count && row_at(n + run) == row + run) ++run;
    read(row, run, n);
    n += run;
  }
}

float stored_value(const std::byte* row, bool bytes, std::int64_t col) {
  if (bytes) return float(std::to_integer<int>(row[col]));
  float value = 0;
  std::memcpy(&value, row + std::size_t(col) * sizeof(float), sizeof(float));
  return value;
}

}  // namespace

std::int64_t Columns::rows() const {
  if (const FileRows* from = file_rows()) return std::int64_t(from->rows.size());
  return cols ? std::int64_t(memory().size() / row_bytes()) : 0;
}

bool Columns::holds_bytes() const {
  if (const FileRows* from = file_rows()) return from->file->holds_bytes();
  return std::holds_alternative<std::vector<std::uint8_t>>(values) ||
         std::holds_alternative<Borrowed<std::uint8_t>>(values);
}

std::span<const std::byte> Columns::memory() const {
  return std::visit(
      [](const auto& stored) -> std::span<const std::byte> {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(stored)>, FileRows>) {
          return {};
        } else {
          return std::as_bytes(std::span(stored));
        }
      },
      values);
}

float Columns::at(std::int64_t row, std::int64_t col) const {
  if (in_file()) return this->row(row)[std::size_t(col)];
  return scale * stored_value(memory().data() + std::size_t(row) * row_bytes(), holds_bytes(), col);
}

std::vector<float> Columns::row(std::int64_t row) const {
  std::vector<std::byte> stored(row_bytes());
  read_rows(*this, nullptr, row, 1, stored.data());
  std::vector<float> found(static_cast<std::size_t>(cols));
  for (std::int64_t i = 0; i < cols; ++i)
    found[std::size_t(i)] = scale * stored_value(stored.data(), holds_bytes(), i);
  return found;
}

std::vector<float> Columns::mean() const {
  std::vector<double> sum(static_cast<std::size_t>(cols));
  const bool bytes = holds_bytes();
  for_each_chunk(*this, [&](std::int64_t, std::span<const std::byte> rows) {
    for (std::size_t at = 0; at < rows.size(); at += row_bytes())
      for (std::int64_t col = 0; col < cols; ++col)
        sum[std::size_t(col)] += scale * stored_value(rows.data() + at, bytes, col);
  });
  std::vector<float> mean;
  for (const double total : sum) mean.push_back(float(total / double(rows())));
  return mean;
}

void read_rows(const Columns& from, const std::int32_t* order, std::int64_t first,
               std::int64_t count, std::byte* to) {
  const std::size_t row_bytes = from.row_bytes();
  if (const FileRows* rows = from.file_rows()) {
    for_each_run(*rows, order, first, count,
                 [&](std::int64_t row, std::int64_t run, std::int64_t n) {
                   rows->file->read(row, run, to + std::size_t(n) * row_bytes);
                 });
    return;
  }
  const std::byte* memory = from.memory().data();
  for (std::int64_t n = 0; n < count && row_bytes > 0; ++n, to += row_bytes) {
    const auto row = std::size_t(order ? order[first + n] : first + n);
    std::memcpy(to, memory + row * row_bytes, row_bytes);
  }
}

void will_need_rows(const Columns& from, const std::int32_t* order, std::int64_t first,
                    std::int64_t count) {
  const FileRows* rows = from.file_rows();
  if (rows == nullptr) return;
  for_each_run(*rows, order, first, count, [&](std::int64_t row, std::int64_t run, std::int64_t) {
    rows->file->will_need(row, run);
  });
}

void for_each_chunk(const Columns& from, const LookAtRows& look) {
  const std::int64_t count = from.rows(), row_bytes = std::int64_t(from.row_bytes());
  if (row_bytes == 0) return;
  const std::int64_t height = std::max<std::int64_t>(1, kChunkBytes / row_bytes);
  std::vector<std::byte> chunk(from.in_file() ? std::size_t(height * row_bytes) : 0);
  for (std::int64_t first = 0; first < count; first += height) {
    const std::int64_t rows = std::min(height, count - first);
    if (!from.in_file()) {
      look(first,
           from.memory().subspan(std::size_t(first * row_bytes), std::size_t(rows * row_bytes)));
      continue;
    }
    read_rows(from, nullptr, first, rows, chunk.data());
    look(first, {chunk.data(), std::size_t(rows * row_bytes)});
  }
}

Columns in_memory(const ArrayFile& file, std::span<const std::int32_t> rows) {
  // A view of the file, which is not kept.
  const std::shared_ptr<const ArrayFile> view(std::shared_ptr<void>(), &file);
  const Columns from{FileRows{view, {rows.begin(), rows.end()}}, file.cols()};
  const auto read = [&](auto values) {
    values.resize(rows.size() * std::size_t(file.cols()));
    read_rows(from, nullptr, 0, std::int64_t(rows.size()),
              reinterpret_cast<std::byte*>(values.data()));
    return Columns{std::move(values), file.cols()};
  };
  return file.holds_bytes() ? read(std::vector<std::uint8_t>()) : read(std::vector<float>());
}

namespace {

template <class T>
std::vector<T> first_of(const std::vector<T>& from, std::int64_t size) {
  return {from.begin(), from.begin() + size};
}
template <class T>
Borrowed<T> first_of(const Borrowed<T>& from, std::int64_t size) {
  return {from.values.first(std::size_t(size)), from.owner};
}

}  // namespace

Columns first_of(const Columns& columns, std::int64_t count) {
  Columns first{.cols = columns.cols, .scale = columns.scale};
  std::visit(
      [&](const auto& from) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(from)>, FileRows>) {
          first.values = FileRows{from.file, first_of(from.rows, count)};
        } else {
          first.values = first_of(from, count * columns.cols);
        }
      },
      columns.values);
  return first;
}

}  // namespace sfnn

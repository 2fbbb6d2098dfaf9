// The few pieces of HTML that a report is made of. Whatever comes from a file goes through
// escape().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sfnn {

constexpr std::string_view kMinus =
    "\u2212";  // as wide as a digit, and never separated by a line break

// Safe as text and as a quoted attribute. Bytes that are not printable UTF-8 are shown as U+FFFD.
std::string escape(std::string_view text);

std::string base64(std::string_view bytes);

// A picture inside the page.
std::string png_data_uri(std::string_view png);

// Cells are HTML already. The first column names the row.
struct Table {
  struct Row {
    std::vector<std::string> cells;
    bool highlighted = false;
    bool is_heading = false;  // one cell, over the whole width
  };
  std::vector<std::string> head;
  std::vector<Row> rows;
  std::size_t text_columns = std::string::npos;  // those after them are numbers, flush right
};
std::string to_html(const Table&);

}  // namespace sfnn

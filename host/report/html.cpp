#include "host/report/html.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "host/base/utf8.hpp"

namespace sfnn {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) {
      return std::uint32_t(at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0);
    };
    const std::uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string escape(std::string_view text) {
  const bool sound = is_printable_utf8(text);
  std::string result;
  for (const char ch : text) {
    const auto byte = static_cast<unsigned char>(ch);
    if (!sound && (byte < 0x20 || byte >= 0x7F)) {
      result += kReplacement;
      continue;
    }
    switch (ch) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += ch;
    }
  }
  return result;
}

std::string png_data_uri(std::string_view png) { return "data:image/png;base64," + base64(png); }

std::string to_html(const Table& table) {
  const auto cell = [&](std::string_view tag, std::size_t column, const std::string& content,
                        std::string_view scope = "") {
    return fmt::format("<{0}{1}{2}>{3}</{0}>", tag, scope,
                       column < table.text_columns ? "" : " class=\"number\"", content);
  };
  std::string html = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (std::size_t i = 0; i < table.head.size(); ++i)
    html += cell("th", i, table.head[i], " scope=\"col\"");
  html += "</tr></thead>\n<tbody>\n";
  for (const Table::Row& row : table.rows) {
    if (row.is_heading) {
      html +=
          fmt::format("<tr class=\"heading\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
                      table.head.size(), row.cells.at(0));
      continue;
    }
    html += row.highlighted ? "<tr class=\"differs\">" : "<tr>";
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      html += i == 0 ? cell("th", i, row.cells[i], " scope=\"row\"") : cell("td", i, row.cells[i]);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace sfnn

#include "host/report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/base/utf8.hpp"
#include "host/report/html.hpp"
#include "host/report/style.hpp"

namespace sfnn {
namespace {

// In units of the view box: pixels if the page shows a chart at its natural size.
constexpr double kWidth = 560, kPlotHeight = 240;
constexpr double kLeft = 62, kRight = 18, kTitle = 26, kLegendRow = 20, kAbove = 22, kBelow = 46;
constexpr double kMark = 2.6;  // a point's radius
constexpr double kTitleLetter = 8.2;
constexpr double kLetter = 7.6;        // average width of a letter in the legend, on a phone
constexpr std::size_t kMaxMarks = 60;  // with more points, a line is clearer

// Twice the largest is still finite.
bool drawable(const Axis& axis, double value) {
  return std::abs(value) < 1e300 && (!axis.logarithmic || value > 0);
}

// Maps values to positions along one side of the plot.
class Scale {
 public:
  Scale(const Axis& axis, double low, double high, double begin, double end)
      : axis_(axis), low_(low), high_(high), begin_(begin), end_(end) {}

  double at(double value) const {
    return begin_ + (end_ - begin_) * (place(value) - place(low_)) / (place(high_) - place(low_));
  }
  bool shows(double value) const { return drawable(axis_, value); }
  bool holds(double value) const { return shows(value) && value >= low_ && value <= high_; }
  std::vector<double> marks(int about) const {
    std::vector<double> values =
        axis_.logarithmic ? log_ticks(low_, high_) : ticks(low_, high_, about);
    if (axis_.whole)
      std::erase_if(values, [](double v) { return std::abs(v - std::round(v)) > 1e-9; });
    return values;
  }

 private:
  double place(double value) const { return axis_.logarithmic ? std::log10(value) : value; }

  const Axis& axis_;
  double low_, high_, begin_, end_;
};

struct Range {
  double low = std::numeric_limits<double>::infinity(),
         high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

Range range_of(const Chart& chart, const Axis& axis, double Point::*coordinate) {
  Range range;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      const double value = point.*coordinate;
      if (drawable(axis, value)) range.add(value);
    }
    if (coordinate == &Point::x) continue;
    for (const auto& [low, high] : series.band)
      for (const double value : {low, high})
        if (drawable(axis, value)) range.add(value);
  }
  if (range.low > range.high) range = {axis.logarithmic ? 1.0 : 0.0, axis.logarithmic ? 10.0 : 1.0};
  range.low = axis.low.value_or(range.low);
  range.high = axis.high.value_or(range.high);
  if (range.high - range.low > 1e-6 * std::abs(range.low)) return range;
  // Only one value, up to rounding: leave room on both sides.
  double room = axis.logarithmic ? range.low / 2 : std::abs(range.low) / 50;
  if (room == 0) room = 0.5;
  return {range.low - room, range.low + room};
}

// Some space, so that lines do not run along the frame.
Range with_air(Range range, const Axis& axis) {
  constexpr double kAir = 0.05;  // share of the plot's height
  if (axis.logarithmic) {
    const double factor = std::pow(range.high / range.low, kAir);
    return {axis.low ? range.low : range.low / factor,
            axis.high ? range.high : range.high * factor};
  }
  const double air = kAir * (range.high - range.low);
  if (!axis.low) range.low -= air;
  if (!axis.high) range.high += air;
  return range;
}

std::string class_of(const Series& series) {
  const bool other_dashes = series.color / kColors % 2 == 1;
  return fmt::format("c{}{}", series.color % kColors,
                     series.dashed ? " dashed" : (other_dashes ? " dotted" : ""));
}

std::string shortened(const std::string& text, std::size_t most) {
  if (letters(text) <= most) return text;
  std::size_t end = 0;
  for (std::size_t kept = 0; kept < most - 3; ++kept) {
    do ++end;
    while (end < text.size() && continues_letter(text[end]));
  }
  return text.substr(0, end) + "...";
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart),
        top_(kTitle + legend_height() + kAbove),
        x_(scale_of(chart.x, &Point::x, kLeft, kWidth - kRight)),
        y_(scale_of(chart.y, &Point::y, top_ + kPlotHeight, top_)) {}

  double height() const { return bottom() + kBelow; }

  std::string svg() {
    return fmt::format(
        "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
        kWidth, height(), escape(chart_.title), content());
  }

  std::string content() {
    out_ = fmt::format("<text class=\"title\" x=\"0\" y=\"16\">{}</text>\n",
                       escape(shortened(chart_.title, std::size_t(kWidth / kTitleLetter))));
    draw_legend();
    draw_axes();
    // Nested, so that everything outside the plot is cut off: a clip path would need a unique name.
    // A little wider than the plot, for the marks at its sides.
    out_ += fmt::format(
        "<svg x=\"{0}\" y=\"{1:.1f}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1:.1f} {2} "
        "{3}\">\n",
        kLeft - kMark, top_, kWidth - kLeft - kRight + 2 * kMark, kPlotHeight);
    for (const Series& series : chart_.series) draw(series);
    return out_ + "</svg>\n";
  }

 private:
  double bottom() const { return top_ + kPlotHeight; }

  Scale scale_of(const Axis& axis, double Point::*coordinate, double begin, double end) const {
    Range range = range_of(chart_, axis, coordinate);
    if (coordinate == &Point::y) range = with_air(range, axis);
    return {axis, range.low, range.high, begin, end};
  }

  // --- the legend: entries side by side, in as many rows as they need

  struct Entry {
    std::string text;
    double x = 0;
    int row = 0;
  };

  std::vector<Entry> legend() const {
    std::vector<Entry> entries;
    if (chart_.series.size() < 2 && !chart_.names_one) return entries;
    double x = 0;
    int row = 0;
    for (const Series& series : chart_.series) {
      std::string text = shortened(series.name, std::size_t((kWidth - 40) / kLetter));
      const double width = 30 + kLetter * double(letters(text)) + 16;
      if (x > 0 && x + width > kWidth) {
        x = 0;
        ++row;
      }
      entries.push_back({std::move(text), x, row});
      x += width;
    }
    return entries;
  }
  double legend_height() const {
    const auto entries = legend();
    return entries.empty() ? 0 : kLegendRow * (entries.back().row + 1);
  }

  void draw_legend() {
    const auto entries = legend();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const double y = kTitle + 10 + kLegendRow * entries[i].row;
      out_ += fmt::format(
          "<path class=\"line {}\" d=\"M{:.1f} {:.1f}h22\"/><text class=\"legend\" x=\"{:.1f}\" "
          "y=\"{:.1f}\">{}</text>\n",
          class_of(chart_.series[i]), entries[i].x, y, entries[i].x + 28, y + 4,
          escape(entries[i].text));
    }
  }

  void draw_axes() {
    for (const double value : y_.marks(5)) {
      out_ += fmt::format(
          "<path class=\"grid\" d=\"M{} {:.1f}H{}\"/><text class=\"tick right\" x=\"{}\" "
          "y=\"{:.1f}\">{}</text>\n",
          kLeft, y_.at(value), kWidth - kRight, kLeft - 8, y_.at(value) + 4, number_text(value));
    }
    for (const double value : x_.marks(7)) {
      out_ += fmt::format(
          "<path class=\"axis\" d=\"M{:.1f} {:.1f}v5\"/><text class=\"tick middle\" x=\"{:.1f}\" "
          "y=\"{:.1f}\">{}</text>\n",
          x_.at(value), bottom(), x_.at(value), bottom() + 19, number_text(value));
    }
    out_ += fmt::format(
        "<path class=\"axis\" d=\"M{0} {1:.1f}H{2}\"/>\n"
        "<text class=\"label\" x=\"0\" y=\"{3:.1f}\">{4}</text>\n"
        "<text class=\"label right\" x=\"{2}\" y=\"{5:.1f}\">{6}</text>\n",
        kLeft, bottom(), kWidth - kRight, top_ - 9, escape(chart_.y.label), bottom() + 38,
        escape(chart_.x.label));
    if (!chart_.note.empty())
      out_ += fmt::format("<text class=\"label right\" x=\"{}\" y=\"{:.1f}\">{}</text>\n",
                          kWidth - kRight, top_ - 9, escape(chart_.note));
  }

  // --- the series

  void draw(const Series& series) {
    const std::string path =
        series.shape == Series::Shape::steps ? steps_path(series) : line_path(series);
    if (path.empty()) return;
    const std::string name = escape(series.name);
    if (series.shape == Series::Shape::steps && !series.dashed) {
      out_ += fmt::format("<path class=\"area {}\" d=\"{}V{:.1f}H{:.1f}Z\"/>\n", class_of(series),
                          path, y_.at(0), x_.at(series.points.front().x));
    }
    if (!series.band.empty()) {
      out_ += fmt::format("<path class=\"area c{}\" d=\"{}\"/>\n", series.color % kColors,
                          band_path(series));
    }
    out_ += fmt::format("<path class=\"line {}\" d=\"{}\"><title>{}</title></path>\n",
                        class_of(series), path, name);
    if (series.shape == Series::Shape::steps || series.points.size() > kMaxMarks) return;
    for (const Point& point : series.points) {
      if (!x_.holds(point.x) || !y_.holds(point.y)) continue;
      out_ += fmt::format(
          "<circle class=\"mark {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}: {} {}, {} "
          "{}</title></circle>\n",
          class_of(series), x_.at(point.x), y_.at(point.y), kMark, name, escape(chart_.x.label),
          number_text(point.x), escape(chart_.y.label), number_text(point.y));
    }
  }

  std::string line_path(const Series& series) const {
    std::string path;
    bool pen_down = false;
    for (const Point& point : series.points) {
      const bool shown = x_.shows(point.x) && y_.shows(point.y);
      if (shown)
        path +=
            fmt::format("{}{:.1f} {:.1f}", pen_down ? 'L' : 'M', x_.at(point.x), y_.at(point.y));
      pen_down = shown;
    }
    return path;
  }

  // Along the upper edge and back along the lower one.
  std::string band_path(const Series& series) const {
    std::string path;
    const auto add = [&](std::size_t i, double y) {
      if (!x_.shows(series.points[i].x) || !y_.shows(y)) return;
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x_.at(series.points[i].x),
                          y_.at(y));
    };
    for (std::size_t i = 0; i < series.band.size(); ++i) add(i, series.band[i].high);
    for (std::size_t i = series.band.size(); i-- > 0;) add(i, series.band[i].low);
    return path + 'Z';
  }

  std::string steps_path(const Series& series) const {
    std::string path;
    for (std::size_t i = 0; i + 1 < series.points.size(); ++i) {
      const double y = y_.at(series.points[i].y);
      if (i == 0) path = fmt::format("M{:.1f} {:.1f}", x_.at(series.points[0].x), y);
      path += fmt::format("V{:.1f}H{:.1f}", y, x_.at(series.points[i + 1].x));
    }
    return path;
  }

  const Chart& chart_;
  double top_;
  Scale x_, y_;
  std::string out_;
};

// Among programs that show SVG, only browsers support variables.
std::string in_light_colors(std::string css) {
  for (std::size_t at; (at = css.find("var(")) != css.npos;) {
    const std::size_t end = css.find(')', at);
    const std::string name = css.substr(at + 4, end - at - 4) + ":";  // "--text:"
    const std::size_t value = kLightColors.find(name) + name.size();
    css.replace(at, end + 1 - at,
                kLightColors.substr(value, kLightColors.find(';', value) - value));
  }
  return css;
}

}  // namespace

std::vector<double> ticks(double low, double high, int about) {
  const double raw = (high - low) / about, decade = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * decade;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * decade >= raw * (1 - 1e-9)) {
      step = factor * decade;
      break;
    }
  }
  std::vector<double> values;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= 3 * about && (first + i) * step <= high + 1e-9 * step; ++i)
    values.push_back((first + i) * step + 0.0);  // + 0.0: zero has no sign
  return values;
}

std::vector<double> log_ticks(double low, double high) {
  const bool few = std::log10(high / low) <= 3;
  std::vector<double> values;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high * (1 + 1e-9);
       decade *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = decade * factor;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9) && (few || factor == 1))
        values.push_back(value);
    }
  }
  return values;
}

std::string to_svg(const Chart& chart) { return Drawing(chart).svg(); }

std::string to_svg_file(const std::vector<Chart>& charts, int columns) {
  constexpr double kGap = 28;
  std::string content;
  double y = kGap, row_height = 0;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const auto column = int(i) % columns;
    if (column == 0 && i > 0) {
      y += row_height + kGap;
      row_height = 0;
    }
    Drawing drawing(charts[i]);
    row_height = std::max(row_height, drawing.height());
    content += fmt::format("<g transform=\"translate({} {:.1f})\">\n{}</g>\n",
                           kGap + column * (kWidth + kGap), y, drawing.content());
  }
  const double width = kGap + std::min(columns, int(charts.size())) * (kWidth + kGap);
  const double height = y + row_height + kGap;
  return svg_file(width, height, content);
}

std::string svg_file(double width, double height, const std::string& content) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" "
      "height=\"{1:.0f}\">\n<style>\nsvg{{font-family:Arial,Helvetica,sans-serif;font-size:12.5px}}"
      "{2}"
      "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{3}</svg>\n",
      width, height, in_light_colors(std::string(kChartStyle) + color_style()), content);
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

std::string to_csv(const Chart& chart) {
  const bool has_bands =
      std::ranges::any_of(chart.series, [](const Series& series) { return !series.band.empty(); });
  std::string text = fmt::format("series,{},{}{}\n", csv_cell(chart.x.label),
                                 csv_cell(chart.y.label), has_bands ? ",low,high" : "");
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      text +=
          fmt::format("{},{},{}", csv_cell(series.name), series.points[i].x, series.points[i].y);
      if (has_bands)
        text += i < series.band.size()
                    ? fmt::format(",{},{}", series.band[i].low, series.band[i].high)
                    : ",,";
      text += '\n';
    }
  }
  return text;
}

std::string color_style() {
  std::string css;
  for (int c = 0; c < kColors; ++c) {
    css += fmt::format(
        "svg .line.c{0}{{stroke:var(--c{0})}}svg .area.c{0},svg .mark.c{0},svg .cell.c{0}"
        "{{fill:var(--c{0})}}"
        ".b{0}{{background:var(--c{0})}}\n",
        c);
  }
  return css;
}

std::string color_scheme() {
  return fmt::format(
      ":root{{color-scheme:light dark;{}}}\n@media screen{{:root{{--page:#f6f7f9}}}}\n"
      "@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}",
      kLightColors, kDarkColors);
}

std::string number_text(double value) {
  std::string text = fmt::format("{:.6g}", value);
  if (text.starts_with('-')) text.replace(0, 1, kMinus);
  return text;
}

}  // namespace sfnn

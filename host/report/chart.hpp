// Line charts and histograms as inline SVG: no script, no font, no other file. Colours are classes
// (c0, c1, ...) that the page's style sheet gives a light and a dark value.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sfnn {

struct Point {
  double x = 0, y = 0;  // a value that is not finite leaves a gap
};

struct Series {
  enum class Shape { line, steps };  // steps: a histogram; y holds from its x to the next one's

  std::string name;
  std::vector<Point> points;  // x ascending
  int color = 0;
  bool dashed = false;
  Shape shape = Shape::line;
  // A shaded band around the line, one at each of its points; empty: none.
  struct Spread {
    double low = 0, high = 0;
  };
  std::vector<Spread> band = {};
};

struct Axis {
  std::string label;
  bool logarithmic = false;                   // values above zero only
  std::optional<double> low = {}, high = {};  // empty: from the data
  bool whole = false;                         // ticks at whole numbers only
};

struct Chart {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  std::string note = {};   // above the plot, on the right
  bool names_one = false;  // a legend for a single series, too
};

constexpr int kColors = 12;  // later series reuse them, with other dashes

// <svg>...</svg> with a legend if there are several series, or names_one; every text in it escaped.
std::string to_svg(const Chart&);

// A file of its own: charts row by row, with the style sheet inside.
std::string to_svg_file(const std::vector<Chart>&, int columns);
// The same of any drawing that uses the classes of the style sheet.
std::string svg_file(double width, double height, const std::string& content);

// The numbers of a chart: one line per point, "series,x,y" and, if there are bands, "low,high".
std::string to_csv(const Chart&);
std::string csv_cell(const std::string& text);  // in quotes if it has to be

std::string color_style();   // what the classes c0, c1, ... look like
std::string color_scheme();  // values of the colours, light or dark as the screen asks

// Round numbers within [low, high], about `count` of them.
std::vector<double> ticks(double low, double high, int about);
std::vector<double> log_ticks(double low, double high);  // 1, 2, 5, 10, ... or whole decades

std::string number_text(double value);  // as a person writes it: "-0.25", "1200", "1e-05"

}  // namespace sfnn

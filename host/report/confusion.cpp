// Which classes a network takes for which: a matrix per run, with the most frequent mistakes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/report/html.hpp"
#include "host/report/sections.hpp"

namespace sfnn {
namespace {

constexpr int kRight = 0, kWrong = 6;     // colours
constexpr std::size_t kMostNumbers = 20;  // classes: with more, cells are too small for them
constexpr std::size_t kMostMistakes = 5;  // that are listed
constexpr double kWidth = 560, kTop = 46, kLeft = 52, kMostCell = 48;
constexpr double kFullest = 0.6;  // opacity: the number must stay legible

struct Confusion {
  explicit Confusion(const std::vector<double>& given)
      : classes(std::size_t(std::lround(std::sqrt(double(given.size()))))), counts(given) {}

  double at(std::size_t i, std::size_t j) const { return counts[i * classes + j]; }
  double examples_of(std::size_t i) const {
    double sum = 0;
    for (std::size_t j = 0; j < classes; ++j) sum += at(i, j);
    return sum;
  }
  double share(std::size_t i, std::size_t j) const {
    const double all = examples_of(i);
    return all > 0 ? at(i, j) / all : 0;
  }

  std::size_t classes;
  const std::vector<double>& counts;
};

struct Mistake {
  std::size_t wanted, said;
  double count;
};

std::vector<Mistake> mistakes(const Confusion& matrix) {
  std::vector<Mistake> found;
  for (std::size_t i = 0; i < matrix.classes; ++i)
    for (std::size_t j = 0; j < matrix.classes; ++j)
      if (i != j && matrix.at(i, j) > 0) found.push_back({i, j, matrix.at(i, j)});
  std::ranges::stable_sort(found, std::greater(), &Mistake::count);
  return found;
}

std::string count_text(double count) { return fmt::format("{:.4g}", count); }

struct Drawing {
  std::string content;
  double height = 0;
};

// Rows: what it is; columns: what it was taken for. A mistake is the darker, the larger the share
// of its row, as compared with the most frequent one.
Drawing draw(const Confusion& matrix) {
  const std::size_t n = matrix.classes;
  const double cell = std::min(kMostCell, (kWidth - kLeft) / double(n));
  const double font = std::min(12.5, 0.36 * cell);
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (i != j) worst = std::max(worst, matrix.share(i, j));
  Drawing drawing;
  std::string& out = drawing.content;
  out = fmt::format(
      "<text class=\"label\" x=\"{}\" y=\"14\">taken for class</text>\n"
      "<text class=\"label\" x=\"0\" y=\"{}\">class</text>\n",
      kLeft, kTop - 8);
  const std::size_t every = (n + kMostNumbers - 1) / kMostNumbers;  // labels
  for (std::size_t i = 0; i < n; ++i) {
    const double x = kLeft + cell * double(i), y = kTop + cell * double(i);
    if (i % every == 0) {
      out += fmt::format(
          "<text class=\"tick middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>"
          "<text class=\"tick right\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
          x + cell / 2, kTop - 8, i, kLeft - 8, y + cell / 2 + 4, i);
    }
    for (std::size_t j = 0; j < n; ++j) {
      const double share =
          i == j ? matrix.share(i, j) : (worst > 0 ? matrix.share(i, j) / worst : 0);
      const double left = kLeft + cell * double(j);
      out += fmt::format(
          "<rect class=\"cell c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
          "fill-opacity=\"{:.3f}\"><title>class {} taken for {}: {} of {}</title></rect>",
          i == j ? kRight : kWrong, left, y, cell, cell, kFullest * share, i, j,
          count_text(matrix.at(i, j)), count_text(matrix.examples_of(i)));
      if (n <= kMostNumbers && matrix.at(i, j) > 0)
        out += fmt::format(
            "<text class=\"legend middle\" x=\"{:.1f}\" y=\"{:.1f}\" "
            "font-size=\"{:.1f}\">{}</text>",
            left + cell / 2, y + cell / 2 + 0.36 * font, font, count_text(matrix.at(i, j)));
    }
    out += '\n';
  }
  drawing.height = kTop + cell * double(n) + 2;
  return drawing;
}

std::string list_of(const Confusion& matrix) {
  std::vector<Mistake> found = mistakes(matrix);
  if (found.empty()) return "<p>No mistakes.</p>\n";
  if (found.size() > kMostMistakes) found.resize(kMostMistakes);
  std::string items;
  for (const Mistake& mistake : found)
    items +=
        fmt::format("<li>{} taken for {}: {} of {} ({:.1f} %)</li>\n", mistake.wanted, mistake.said,
                    count_text(mistake.count), count_text(matrix.examples_of(mistake.wanted)),
                    100 * matrix.share(mistake.wanted, mistake.said));
  return fmt::format("<p>Most frequent mistakes:</p>\n<ul>\n{}</ul>\n", items);
}

// None: not tested on classes, or not for this page.
const std::vector<double>* counts_of(const ReportRun& run) {
  return run.measured && !run.measured->test.confusion.empty() ? &run.measured->test.confusion
                                                               : nullptr;
}

std::string csv_of(const Confusion& matrix) {
  std::string text = "class";
  for (std::size_t j = 0; j < matrix.classes; ++j) text += fmt::format(",taken for {}", j);
  for (std::size_t i = 0; i < matrix.classes; ++i) {
    text += fmt::format("\n{}", i);
    for (std::size_t j = 0; j < matrix.classes; ++j) text += fmt::format(",{}", matrix.at(i, j));
  }
  return text + "\n";
}

}  // namespace

std::string confusion_section(const Runs& runs) {
  std::string html;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const std::vector<double>* counts = counts_of(runs[r]);
    if (counts == nullptr) continue;
    const Confusion matrix(*counts);
    const Drawing drawing = draw(matrix);
    html += fmt::format(
        "<figure><figcaption>{}</figcaption><svg class=\"chart\" viewBox=\"0 0 {} {:.0f}\" "
        "role=\"img\" aria-label=\"Confusion matrix of {}\">\n{}</svg>\n{}</figure>\n",
        named(runs, r), kWidth, drawing.height, escape(runs[r].name), drawing.content,
        list_of(matrix));
  }
  if (html.empty()) return "";
  return section("Classes taken for others",
                 "Test examples by their class (row) and by the class of highest probability "
                 "(column). Numbers are examples; on the diagonal the answer was right.",
                 fmt::format("<div class=\"figures\">\n{}</div>\n", html));
}

std::vector<ConfusionFile> confusion_files(const Runs& runs) {
  std::vector<ConfusionFile> files;
  for (const ReportRun& run : runs) {
    const std::vector<double>* counts = counts_of(run);
    if (counts == nullptr) continue;
    const Confusion matrix(*counts);
    const Drawing drawing = draw(matrix);
    files.push_back({run.name, svg_file(kWidth, drawing.height, drawing.content), csv_of(matrix)});
  }
  return files;
}

}  // namespace sfnn

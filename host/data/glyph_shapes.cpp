// How the glyphs are drawn: strokes of a round pen on the 28x28 grid, y pointing down.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "host/data/glyphs.hpp"

namespace sfnn {
namespace {

constexpr double kPenRadius = 1.3;
constexpr double kMiddle = kGlyphSide / 2;  // the row at which the halves meet

struct Point {
  double x, y;
};
using Stroke = std::vector<Point>;  // joined by straight lines
using Drawing = std::vector<Stroke>;

Stroke line(Point from, Point to) { return {from, to}; }

// Degrees, clockwise from three o'clock.
Stroke arc(Point centre, double rx, double ry, double from, double to) {
  constexpr int kPieces = 32;
  Stroke stroke;
  for (int i = 0; i <= kPieces; ++i) {
    const double t = (from + (to - from) * i / kPieces) * std::numbers::pi / 180;
    stroke.push_back({centre.x + rx * std::cos(t), centre.y + ry * std::sin(t)});
  }
  return stroke;
}

Stroke ring(Point centre, double rx, double ry) { return arc(centre, rx, ry, 0, 360); }

double distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
  const double along = length2 > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length2 : 0;
  const double t = std::clamp(along, 0.0, 1.0);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

bool inked(const Drawing& drawing, Point p) {
  for (const Stroke& stroke : drawing)
    for (std::size_t i = 1; i < stroke.size(); ++i)
      if (distance(p, stroke[i - 1], stroke[i]) <= kPenRadius) return true;
  return false;
}

// The part of the drawing in the half that begins at row `top`.
HalfGlyph rasterize(const Drawing& drawing, double top) {
  HalfGlyph half;
  for (std::int64_t i = 0; i < kHalfGlyph; ++i)
    half[i] = inked(drawing, {i % kGlyphSide + 0.5, top + i / kGlyphSide + 0.5});
  return half;
}

struct LowerSketch {
  double probability;
  Drawing drawing;
};

struct Sketch {
  Drawing upper;
  std::vector<LowerSketch> completions;
};

// Every completion continues the strokes of its upper shape, so that all of them look right.
// Vertical and horizontal strokes run through pixel centres (.5), so that they are three pixels
// wide.
std::vector<Sketch> sketches() {
  return {
      // 8, a stem with a bar
      {{ring({13.5, 8}, 6, 4.5)},
       {{0.6, {ring({13.5, 19}, 6.5, 5.5)}},
        {0.4, {line({13.5, 13.5}, {13.5, 24.5}), line({7.5, 19.5}, {19.5, 19.5})}}}},
      // 2, 3, ?
      {{arc({13.5, 9.5}, 6.5, 6, 190, 405)},
       {{0.5, {line({18.1, 13.7}, {7.5, 24.5}), line({7.5, 24.5}, {20, 24.5})}},
        {0.3, {arc({13, 19}, 7, 5.5, -60, 155)}},
        {0.2,
         {line({18.1, 13.7}, {13.5, 17}), line({13.5, 17}, {13.5, 19.5}),
          line({13.5, 24}, {13.5, 24.5})}}}},
      // 6, C, S
      {{arc({14.5, 12}, 7, 8.5, 180, 320), line({7.5, 12}, {7.5, 13.5})},
       {{0.5, {ring({14, 19}, 6.5, 5.5), line({7.5, 13.5}, {7.5, 19})}},
        {0.3, {arc({14.5, 16}, 7, 8.5, 40, 180), line({7.5, 13.5}, {7.5, 16})}},
        {0.2, {line({7.5, 13}, {19, 17}), arc({13.5, 19.7}, 6.5, 4.8, -35, 160)}}}},
      // 5, E
      {{line({7.5, 3.5}, {19.5, 3.5}), line({7.5, 3.5}, {7.5, 13.5})},
       {{0.7, {line({7.5, 15.5}, {13, 15.5}), arc({13, 20}, 6.5, 4.5, -90, 145)}},
        {0.3,
         {line({7.5, 13.5}, {7.5, 24.5}), line({7.5, 15.5}, {17.5, 15.5}),
          line({7.5, 24.5}, {19.5, 24.5})}}}},
      // 4, U
      {{line({7.5, 3.5}, {7.5, 13.5}), line({19.5, 3.5}, {19.5, 13.5})},
       {{0.6,
         {line({7.5, 13.5}, {7.5, 16.5}), line({7.5, 16.5}, {19.5, 16.5}),
          line({19.5, 13.5}, {19.5, 24.5})}},
        {0.4,
         {line({7.5, 13.5}, {7.5, 18}), line({19.5, 13.5}, {19.5, 18}),
          arc({13.5, 18}, 6, 6.5, 0, 180)}}}},
      // 0, 9, A
      {{arc({13.5, 11}, 6, 7.5, 180, 360), line({7.5, 11}, {7.5, 13.5}),
        line({19.5, 11}, {19.5, 13.5})},
       {{0.5,
         {line({7.5, 13.5}, {7.5, 17}), line({19.5, 13.5}, {19.5, 17}),
          arc({13.5, 17}, 6, 7.5, 0, 180)}},
        {0.3,
         {arc({13.5, 13}, 6, 3.5, 0, 180), line({19.5, 13.5}, {19.5, 18}),
          arc({13, 18}, 6.5, 6.5, 0, 110)}},
        {0.2,
         {line({7.5, 13.5}, {7.5, 24.5}), line({19.5, 13.5}, {19.5, 24.5}),
          line({7.5, 17.5}, {19.5, 17.5})}}}},
  };
}

}  // namespace

const std::vector<GlyphShape>& glyph_shapes() {
  static const std::vector<GlyphShape> shapes = [] {
    std::vector<GlyphShape> made;
    for (const Sketch& sketch : sketches()) {
      GlyphShape& shape = made.emplace_back(GlyphShape{rasterize(sketch.upper, 0), {}});
      for (const auto& [probability, drawing] : sketch.completions)
        shape.completions.push_back({probability, rasterize(drawing, kMiddle)});
    }
    return made;
  }();
  return shapes;
}

}  // namespace sfnn

#include "client/cli/forms/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hpc::client {
namespace {

constexpr int kDotsAcross = 2, kDotsDown = 4;  // of a character

// A field of dots; (0, 0) is at the top left.
class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width), cells_(static_cast<size_t>(width) * static_cast<size_t>(height)) {}

  void Set(int x, int y) {
    // The bits of a braille character, column by column: its last row was added later.
    static constexpr uint8_t kBits[kDotsAcross][kDotsDown] = {{0x01, 0x02, 0x04, 0x40},
                                                              {0x08, 0x10, 0x20, 0x80}};
    const auto cell = static_cast<size_t>(y / kDotsDown * width_ + x / kDotsAcross);
    cells_[cell] |= kBits[x % kDotsAcross][y % kDotsDown];
  }

  // A straight line, the ends included.
  void Line(int x0, int y0, int x1, int y1) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) {
      const auto between = [&](int a, int b) {
        return static_cast<int>(std::lround(a + (b - a) * (static_cast<double>(i) / steps)));
      };
      Set(between(x0, x1), between(y0, y1));
    }
  }

  // U+2800 and the bits, as UTF-8.
  std::string Row(int row) const {
    std::string text;
    for (int i = 0; i < width_; ++i) {
      const uint8_t bits = cells_[static_cast<size_t>(row * width_ + i)];
      text += static_cast<char>(0xE2);
      text += static_cast<char>(0xA0 | bits >> 6);
      text += static_cast<char>(0x80 | (bits & 0x3F));
    }
    return text;
  }

 private:
  int width_;
  std::vector<uint8_t> cells_;
};

// Maps [from, to] to the dots 0 to `last`. A range without extent is in the middle.
int Dot(double value, double from, double to, int last) {
  if (from == to) return last / 2;
  // The halves do not overflow where the difference of two large numbers would.
  const double share = (value / 2 - from / 2) / (to / 2 - from / 2);
  return std::clamp(static_cast<int>(std::lround(share * last)), 0, last);
}

}  // namespace

std::string Plot(std::vector<PlotPoint> points, int width, int height) {
  std::stable_sort(points.begin(), points.end(),
                   [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (const PlotPoint& p : points) {
    if (!std::isfinite(p.y)) continue;
    least = std::min(least, p.y);
    most = std::max(most, p.y);
  }
  if (least > most) return "";
  Canvas canvas(width, height);
  const auto x_of = [&](const PlotPoint& p) {
    return Dot(p.x, points.front().x, points.back().x, width * kDotsAcross - 1);
  };
  const auto y_of = [&](const PlotPoint& p) {
    const int last = height * kDotsDown - 1;
    return last - Dot(p.y, least, most, last);
  };
  for (size_t i = 0; i < points.size(); ++i) {
    if (!std::isfinite(points[i].y)) continue;
    const bool joined = i > 0 && std::isfinite(points[i - 1].y);
    const PlotPoint& from = points[joined ? i - 1 : i];
    canvas.Line(x_of(from), y_of(from), x_of(points[i]), y_of(points[i]));
  }
  std::string out;
  for (int row = 0; row < height; ++row) {
    const std::string label = row == 0            ? absl::StrCat(most)
                              : row == height - 1 ? absl::StrCat(least)
                                                  : "";
    absl::StrAppend(&out, absl::StrFormat("%12s ", label), canvas.Row(row), "\n");
  }
  const std::string first = absl::StrCat(points.front().x), last = absl::StrCat(points.back().x);
  const int gap = std::max(1, width - static_cast<int>(first.size() + last.size()));
  absl::StrAppend(&out, std::string(13, ' '), first,
                  first == last ? "" : std::string(static_cast<size_t>(gap), ' ') + last, "\n");
  return out;
}

}  // namespace hpc::client

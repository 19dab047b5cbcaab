// Jacobi iteration without time steps: space-time is cut into pyramids and wedges that tasks
// compute independently (cache-oblivious). The two top wedges run side by side, not one after the
// other as in INNCABS, which raises work/span from 28.8 to 38.4; see Piece for the geometry. The
// file is long because one recursion has four shapes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench.hpp"

namespace {

// Two square grids of alternating time steps. Coordinates are modulo side() - 1; row and column 0
// (again in the last) are the boundary, which stays zero.
class Grids {
 public:
  explicit Grids(int log2_side)
      : period_(1 << log2_side),
        side_(static_cast<std::size_t>(period_) + 1),
        values_{std::vector<double>(side_ * side_), std::vector<double>(side_ * side_)} {}

  int period() const { return period_; }
  std::size_t side() const { return side_; }
  std::vector<double>& even() { return values_[0]; }
  std::vector<double>& odd() { return values_[1]; }

  // One time step at all points whose distances to (x, y) are at most rx and ry: reads the grid of
  // `step`'s parity, writes the other. Precondition: rx, ry < period() / 2.
  void update(int step, int x, int y, int rx, int ry) {
    const Spans rows = spans(x, rx);
    const Spans columns = spans(y, ry);
    const double* from = values_[static_cast<std::size_t>(step % 2)].data();
    double* to = values_[static_cast<std::size_t>((step + 1) % 2)].data();
    for (const Span& r : rows) {
      for (const Span& c : columns) {
        if (c.first < c.last) average(from, to, r, c);
      }
    }
  }

 private:
  struct Span {
    std::size_t first, last;  // [first, last)
  };
  using Spans = std::array<Span, 2>;  // the second is empty unless the boundary lies between

  // The interior coordinates at most `radius` from `centre`, in [0, period).
  Spans spans(int centre, int radius) const {
    const auto span = [](int first, int last) {
      return Span{static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
    };
    const int first = centre - radius;
    const int last = centre + radius + 1;
    if (first <= 0) return {span(1, last), span(std::min(first + period_, period_), period_)};
    if (last > period_) return {span(first, period_), span(1, std::max(last - period_, 1))};
    return {span(first, last), span(0, 0)};
  }

  // It is not inlined, because the loop would then differ from backend to backend.
  [[gnu::noinline]] void average(const double* from, double* to, Span rows, Span columns) const {
    for (std::size_t i = rows.first; i < rows.last; ++i) {
      const double* __restrict above = from + (i - 1) * side_;
      const double* __restrict here = above + side_;
      const double* __restrict below = here + side_;
      double* __restrict result = to + i * side_;
      for (std::size_t j = columns.first; j < columns.last; ++j) {
        result[j] = ((above[j] + below[j]) + (here[j - 1] + here[j + 1])) * 0.25;
      }
    }
  }

  int period_;
  std::size_t side_;
  std::array<std::vector<double>, 2> values_;
};

// A part of space-time with centre (x, y), odd base `size` and (size + 1) / 2 time steps:
// `pyramid` shrinks from the square of its base to a point, `inverted` grows from a point,
// `wedge_x` shrinks in x and grows in y and `wedge_y` the other way round. Pyramids side by side
// leave wedges between them and inverted pyramids at their corners.
struct Piece {
  enum class Shape { pyramid, inverted, wedge_x, wedge_y } shape;
  int step, x, y, size;
};

template <bench::Form kForm>
class Solver {
 public:
  Solver(Grids& grids, int cutoff) : grids_(grids), cutoff_(cutoff) {}

  void all() const {
    using enum Piece::Shape;
    const int half = grids_.period() / 2;
    const int size = grids_.period() - 1;
    solve({pyramid, 0, half, half, size});
    in_parallel(Piece{wedge_x, 0, half, 0, size}, Piece{wedge_y, 0, 0, half, size});
    solve({inverted, 0, 0, 0, size});
  }

  void solve(Piece p) const {
    using enum Piece::Shape;
    if (p.size < cutoff_) return direct(p);
    const int size = (p.size - 1) / 2;
    const int e = (size + 1) / 2;
    const int later = p.step + e;
    const int mask = grids_.period() - 1;
    const auto part = [=](Piece::Shape shape, int step, int dx, int dy) {
      return Piece{shape, step, (p.x + dx) & mask, (p.y + dy) & mask, size};
    };
    switch (p.shape) {
      case pyramid:
        in_parallel(part(pyramid, p.step, -e, -e), part(pyramid, p.step, -e, e),
                    part(pyramid, p.step, e, -e), part(pyramid, p.step, e, e));
        in_parallel(part(wedge_x, p.step, -e, 0), part(wedge_x, p.step, e, 0),
                    part(wedge_y, p.step, 0, -e), part(wedge_y, p.step, 0, e));
        solve(part(inverted, p.step, 0, 0));
        solve(part(pyramid, later, 0, 0));
        break;
      case inverted:
        solve(part(inverted, p.step, 0, 0));
        solve(part(pyramid, later, 0, 0));
        in_parallel(part(wedge_y, later, -e, 0), part(wedge_y, later, e, 0),
                    part(wedge_x, later, 0, -e), part(wedge_x, later, 0, e));
        in_parallel(part(inverted, later, -e, -e), part(inverted, later, -e, e),
                    part(inverted, later, e, -e), part(inverted, later, e, e));
        break;
      case wedge_x:
        in_parallel(part(wedge_x, p.step, -e, 0), part(wedge_x, p.step, e, 0));
        solve(part(inverted, p.step, 0, 0));
        solve(part(pyramid, later, 0, 0));
        in_parallel(part(wedge_x, later, 0, -e), part(wedge_x, later, 0, e));
        break;
      case wedge_y:
        in_parallel(part(wedge_y, p.step, 0, -e), part(wedge_y, p.step, 0, e));
        solve(part(inverted, p.step, 0, 0));
        solve(part(pyramid, later, 0, 0));
        in_parallel(part(wedge_y, later, -e, 0), part(wedge_y, later, e, 0));
        break;
    }
  }

 private:
  template <class... Pieces>
  void in_parallel(const Pieces&... pieces) const {
    if constexpr (kForm == bench::Form::fork_join) {
      bench::fork_join([&] { solve(pieces); }...);
    } else {
      std::tuple handles{bench::async([this, pieces] { solve(pieces); })...};
      std::apply([](auto&... handle) { (handle.get(), ...); }, handles);
    }
  }

  void direct(const Piece& p) const {
    using enum Piece::Shape;
    const int height = (p.size + 1) / 2;
    for (int t = 0; t < height; ++t) {
      const int shrinking = height - 1 - t;
      const int rx = p.shape == pyramid || p.shape == wedge_x ? shrinking : t;
      const int ry = p.shape == pyramid || p.shape == wedge_y ? shrinking : t;
      grids_.update(p.step + t, p.x, p.y, rx, ry);
    }
  }

  Grids& grids_;
  int cutoff_;
};

class Pyramids final : public bench::Instance {
 public:
  explicit Pyramids(const bench::Arguments& arguments)
      : grids_(static_cast<int>(arguments["p"])), cutoff_(1 << arguments["cut"]) {}

  void clear() override {
    std::fill(grids_.even().begin(), grids_.even().end(), 0.0);
    std::fill(grids_.odd().begin(), grids_.odd().end(), 0.0);
    const std::size_t centre = grids_.side() / 2;
    grids_.even()[centre * grids_.side() + centre] = 1;
  }

  void run(bench::Form form) override {
    if (form == bench::Form::futures) {
      Solver<bench::Form::futures>(grids_, cutoff_).all();
    } else {
      Solver<bench::Form::fork_join>(grids_, cutoff_).all();
    }
  }

  // The steps are those of a random walk, whose two diagonals are independent: after m steps the
  // value at (x, y) from the centre is w(x + y) w(x - y), with w(k) = C(m, (m + k) / 2) / 2^m.
  // The walk reaches the boundary with the last step only.
  bench::Check check() override {
    const int m = grids_.period() / 2;
    std::vector<double> w(static_cast<std::size_t>(2 * m + 1));  // w(k) for odd k stays 0
    w[0] = 1;
    for (int i = 1; i <= m / 2; ++i) w[0] *= (2 * i - 1) / (2.0 * i);
    for (int k = 0; k < m; k += 2) {
      w[static_cast<std::size_t>(k + 2)] = w[static_cast<std::size_t>(k)] * (m - k) / (m + k + 2);
    }
    const std::vector<double>& grid = grids_.even();
    std::size_t wrong = 0;
    for (int i = 0; i <= 2 * m; ++i) {
      for (int j = 0; j <= 2 * m; ++j) {
        const bool boundary = i % (2 * m) == 0 || j % (2 * m) == 0;
        const double expected = boundary ? 0
                                         : w[static_cast<std::size_t>(std::abs(i + j - 2 * m))] *
                                               w[static_cast<std::size_t>(std::abs(i - j))];
        const double value =
            grid[static_cast<std::size_t>(i) * grids_.side() + static_cast<std::size_t>(j)];
        // Every step rounds five times and loses up to 5e-324, the least positive number.
        if (!(std::abs(value - expected) <= 1e-11 * expected + 1e-300)) ++wrong;
      }
    }
    char answer[64];
    std::snprintf(answer, sizeof answer, "centre %.12e",
                  grid[static_cast<std::size_t>(m) * grids_.side() + static_cast<std::size_t>(m)]);
    return {.ok = wrong == 0,
            .answer = answer,
            .reason = std::to_string(wrong) + " points differ from the exact solution",
            .tasks = tasks()};
  }

 private:
  std::uint64_t tasks() const {
    std::uint64_t pyramid = 0, inverted = 0, wedge = 0;
    for (int size = cutoff_; size < grids_.period(); size *= 2) {
      std::tie(pyramid, inverted, wedge) =
          std::tuple{8 + 5 * pyramid + inverted + 4 * wedge, 8 + pyramid + 5 * inverted + 4 * wedge,
                     4 + pyramid + inverted + 4 * wedge};
    }
    return pyramid + inverted + 2 * wedge + 2;
  }

  Grids grids_;
  int cutoff_;
};

}  // namespace

BENCH_PROGRAM(
        .name = "pyramids", .summary = "Jacobi iteration on a grid, in pyramids of space-time",
        .structure = "recursive balanced", .granularity = "coarse", .synchronisation = "none",
        .origin = "new",
        .parameters = {{.name = "p",
                        .meaning = "log2 of the intervals along a side of the "
                                   "grid; half as many steps as intervals",
                        .min = 3,
                        .max = 12,
                        .smoke = 8,
                        .quick = 9,
                        .full = 11},
                       {.name = "cut",
                        .meaning = "log2 of the base of the pyramids that are "
                                   "computed directly",
                        .min = 1,
                        .max = 12,
                        .smoke = 6,
                        .quick = 6,
                        .full = 6}},
        .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<Pyramids>(arguments);
        })

// Places cells of given shapes on a 64 x 64 board, each beside or below earlier ones, so that the
// box around all is smallest: branch and bound, one task per candidate. As in the suite each copies
// the board, but as 64 words of bits and only if it fits; fork_join starts only candidates that
// fit. The bound is shared, so the work depends on timing: nodes (candidates) are counted. This
// file is long because the list of cells is input, and the check does not use the search's code.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "incumbent.hpp"
#include "numbers.hpp"
#include "small_vector.hpp"

namespace {

constexpr int kBoard = 64;
constexpr std::size_t kMaxCells = 31;  // bounds the recursion and a layout's size
constexpr int kNone = -1;              // no neighbour on this side

struct Shape {
  int rows, columns;
};

struct Cell {
  std::vector<Shape> shapes;
  int left, above;  // earlier cells that it touches; 0 is the board's corner
};

struct Problem {
  std::vector<Cell> cells;  // cells[0] is not used, so that numbers are those of the file
  std::int64_t optimum = 0;
  bool optimum_from_file = false;
};

const std::vector<Cell>& built_in_cells() {
  static const std::vector<Cell> cells{
      {{}, kNone, kNone},
      {{{3, 10}, {6, 5}}, 0, kNone},
      {{{2, 12}, {3, 8}, {4, 6}}, kNone, 1},
      {{{5, 12}, {6, 10}}, 2, 1},
      {{{3, 8}, {4, 6}, {8, 3}}, kNone, 3},
      {{{4, 10}, {5, 8}, {8, 5}, {10, 4}}, kNone, 2},
      {{{3, 3}}, kNone, 5},
      {{{2, 16}, {4, 8}, {8, 4}}, 6, 5},
      {{{2, 6}, {3, 4}, {4, 3}}, kNone, 4},
      {{{3, 3}}, 8, 4},
      {{{5, 6}, {6, 5}}, 9, 4},
      {{{4, 4}}, kNone, 6},
      {{{2, 12}, {4, 6}, {6, 4}, {12, 2}}, 7, 8},
      {{{4, 9}, {6, 6}, {9, 4}}, kNone, 9},
      {{{3, 9}}, 13, 10},
      {{{3, 22}, {6, 11}}, 11, 13},
      {{{3, 8}, {4, 6}, {6, 4}, {8, 3}}, kNone, 14},
      {{{4, 10}, {5, 8}}, kNone, 15},
      {{{2, 6}, {6, 2}, {3, 4}, {4, 3}}, 17, 15},
      {{{3, 8}, {2, 12}}, 18, 15},
      {{{5, 5}}, kNone, 16},
  };
  return cells;
}

// Optima of the leading cells of that list, index = number of cells.
constexpr std::array<std::int64_t, 21> kOptima{0,   30,  60,  144, 192, 216, 252,
                                               270, 270, 285, 323, 361, 380, 460,
                                               540, 713, 736, 837, 837, 837, 896};

Problem built_in(std::size_t n) {
  const auto& all = built_in_cells();
  return {.cells = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n) + 1},
          .optimum = kOptima[n]};
}

Problem parse(std::string_view text) {
  bench::Numbers numbers(text);
  const auto integer = [&](std::string_view what, int min, int max) {
    return static_cast<int>(numbers.integer(what, min, max));
  };
  Problem p{.cells = {Cell{.shapes = {}, .left = kNone, .above = kNone}},
            .optimum_from_file = true};
  const int n = integer("the number of cells", 1, kMaxCells);
  for (int c = 1; c <= n; ++c) {
    Cell cell{};
    for (int shapes = integer("the number of a cell's shapes", 1, 64); shapes > 0; --shapes) {
      const int rows = integer("a shape's number of rows", 1, kBoard);
      cell.shapes.push_back(
          {.rows = rows, .columns = integer("a shape's number of columns", 1, kBoard)});
    }
    cell.left = integer("a cell's left neighbour (an earlier cell, or -1)", kNone, c - 1);
    cell.above = integer("a cell's upper neighbour (an earlier cell, or -1)", kNone, c - 1);
    if (cell.left == kNone && cell.above == kNone)
      numbers.fail("every cell needs a left or an upper neighbour");
    const int next = c == n ? 0 : c + 1;
    integer(c == n ? "the number after the last cell" : "the number of the next cell", next, next);
    p.cells.push_back(std::move(cell));
  }
  p.optimum = numbers.integer("the smallest area", 1, kBoard * kBoard);
  numbers.end();
  return p;
}

struct Position {
  int top, left;
};

struct Rectangle {  // inclusive
  std::int8_t top, bottom, left, right;
};

// The cells up to `last` on the board. A bit of `rows` is a square that is taken.
struct Layout {
  std::array<std::uint64_t, kBoard> rows{};
  std::array<Rectangle, kMaxCells + 1> cells{{{.top = 0, .bottom = 0, .left = -1, .right = -1}}};
  std::int32_t height = 0, width = 0;  // of the box around all, from the corner
  std::uint32_t last = 0;

  bool has_room(Shape s, Position p) const {
    if (p.top + s.rows > kBoard || p.left + s.columns > kBoard) return false;
    std::uint64_t taken = 0;
    for (int row = p.top; row < p.top + s.rows; ++row) taken |= rows[static_cast<std::size_t>(row)];
    return (taken & columns(s, p)) == 0;
  }

  // Precondition: has_room(s, p).
  Layout with_next(Shape s, Position p) const {
    Layout layout = *this;
    layout.cells[++layout.last] = {.top = static_cast<std::int8_t>(p.top),
                                   .bottom = static_cast<std::int8_t>(p.top + s.rows - 1),
                                   .left = static_cast<std::int8_t>(p.left),
                                   .right = static_cast<std::int8_t>(p.left + s.columns - 1)};
    for (int row = p.top; row < p.top + s.rows; ++row)
      layout.rows[static_cast<std::size_t>(row)] |= columns(s, p);
    layout.height = std::max(height, p.top + s.rows);
    layout.width = std::max(width, p.left + s.columns);
    return layout;
  }

  std::int64_t area() const { return std::int64_t{height} * width; }

 private:
  static std::uint64_t columns(Shape s, Position p) {
    return (~std::uint64_t{0} >> (kBoard - s.columns)) << p.left;
  }
};

// The places of a shape next to its neighbours: `count` of them from `first` on, downwards or to
// the right.
struct Candidates {
  Position first{};
  bool downwards = false;
  int count = 0;

  Position operator[](int i) const {
    return downwards ? Position{first.top + i, first.left} : Position{first.top, first.left + i};
  }
};

Candidates candidates(const Layout& layout, const Cell& cell, Shape s) {
  if (cell.above == kNone) {
    const Rectangle& left = layout.cells[static_cast<std::size_t>(cell.left)];
    const int top = std::max(left.top - s.rows + 1, 0);
    return {.first = {top, left.right + 1}, .downwards = true, .count = left.bottom - top + 1};
  }
  const Rectangle& above = layout.cells[static_cast<std::size_t>(cell.above)];
  if (cell.left == kNone) {
    const int column = std::max(above.left - s.columns + 1, 0);
    return {
        .first = {above.bottom + 1, column}, .downwards = false, .count = above.right - column + 1};
  }
  // One place; as in the suite it may touch its neighbours at a corner only.
  const Rectangle& left = layout.cells[static_cast<std::size_t>(cell.left)];
  const Position p{above.bottom + 1, left.right + 1};
  const bool touches = p.top <= left.bottom && p.top + s.rows >= left.top &&
                       p.left <= above.right && p.left + s.columns >= above.left;
  return {.first = p, .downwards = true, .count = touches};
}

struct Search {
  const Problem& problem;
  bench::Incumbent<Layout>& best;
};

// Whether the next cell must be placed; takes the layout as a solution if it is whole.
bool is_open(const Search& search, const Layout& layout) {
  if (layout.last + 1 == search.problem.cells.size()) {
    search.best.offer(layout.area(), layout);
    return false;
  }
  return layout.area() < search.best.bound();
}

// Calls visit(shape, position) for all candidates of the layout's next cell; `count` of them in
// all.
template <class Visit>
void for_each_candidate(const Cell& cell, const Layout& layout, Visit&& visit) {
  for (const Shape s : cell.shapes) {
    const Candidates all = candidates(layout, cell, s);
    for (int i = 0; i < all.count; ++i) visit(s, all[i]);
  }
}

std::size_t count_candidates(const Cell& cell, const Layout& layout) {
  int count = 0;
  for (const Shape s : cell.shapes) count += std::max(candidates(layout, cell, s).count, 0);
  return static_cast<std::size_t>(count);
}

constexpr std::size_t kUsualCandidates = 16;  // more go to the heap

struct Counts {
  std::uint64_t tasks = 0;
  std::uint64_t nodes = 0;  // candidates
};

// Returns the number of candidates below the layout: each is a task.
std::uint64_t expand_futures(const Search* search, const Layout& layout) {
  const auto visit =
      +[](const Search* s, const Layout* parent, Shape shape, Position position) -> std::uint64_t {
    if (!parent->has_room(shape, position)) return 0;
    const Layout child = parent->with_next(shape, position);
    return is_open(*s, child) ? expand_futures(s, child) : 0;
  };
  const Cell& cell = search->problem.cells[layout.last + 1];
  bench::small_vector<bench::handle<decltype(visit), const Search*, const Layout*, Shape, Position>,
                      kUsualCandidates>
      children(count_candidates(cell, layout));
  for_each_candidate(cell, layout, [&](Shape shape, Position position) {
    children.emplace_from([&] { return bench::async(visit, search, &layout, shape, position); });
  });
  std::uint64_t count = children.size();
  for (auto& child : children) count += child.get();
  return count;
}

Counts expand_fork_join(const Search& search, const Layout& layout) {
  const Cell& cell = search.problem.cells[layout.last + 1];
  const std::size_t candidates = count_candidates(cell, layout);
  bench::small_vector<Counts, kUsualCandidates> below(candidates);
  {
    bench::scope children;
    for_each_candidate(cell, layout, [&](Shape shape, Position position) {
      if (!layout.has_room(shape, position)) return;
      Counts& counts = below.emplace_from([] { return Counts{}; });
      children.spawn([&search, &layout, &counts, shape, position] {
        const Layout child = layout.with_next(shape, position);
        if (is_open(search, child)) counts = expand_fork_join(search, child);
      });
    });
    children.wait();
  }
  Counts sum{.tasks = below.size(), .nodes = candidates};
  for (const Counts& counts : below) {
    sum.tasks += counts.tasks;
    sum.nodes += counts.nodes;
  }
  return sum;
}

class Floorplan final : public bench::Instance {
 public:
  explicit Floorplan(Problem problem) : problem_(std::move(problem)) {}

  void clear() override {
    best_.reset();
    counts_ = {};
  }
  void run(bench::Form form) override {
    const Search search{problem_, best_};
    if (form == bench::Form::futures) {
      const std::uint64_t count = expand_futures(&search, {});
      counts_ = {.tasks = count, .nodes = count};
    } else {
      counts_ = expand_fork_join(search, {});
    }
  }
  bench::Check check() override {
    const std::string reason = what_is_wrong();
    return {.ok = reason.empty(),
            .answer = std::to_string(best_.cost()),
            .reason = reason,
            .tasks = counts_.tasks,
            .nodes = counts_.nodes};
  }

 private:
  std::string what_is_wrong() const {
    if (best_.cost() == bench::Incumbent<Layout>::kNone) return "no layout was found";
    const std::string broken = broken_rule(best_.solution());
    if (!broken.empty()) return "the layout found breaks a rule: " + broken;
    if (best_.cost() == problem_.optimum) return "";
    const std::string optimum = std::to_string(problem_.optimum);
    if (!problem_.optimum_from_file || best_.cost() > problem_.optimum)
      return "expected " + optimum;
    return "the input file states the smallest area " + optimum + ", but a layout found has " +
           std::to_string(best_.cost()) + ": correct the file's last number";
  }

  // From the rules of the problem and the rectangles alone, not from the board or the candidates.
  std::string broken_rule(const Layout& layout) const {
    int bottom = -1;
    int right = -1;
    for (std::size_t c = 1; c < problem_.cells.size(); ++c) {
      const Cell& cell = problem_.cells[c];
      const Rectangle& r = layout.cells[c];
      const std::string name = "cell " + std::to_string(c);
      const auto has_size = [&](Shape s) {
        return r.bottom - r.top + 1 == s.rows && r.right - r.left + 1 == s.columns;
      };
      if (std::none_of(cell.shapes.begin(), cell.shapes.end(), has_size))
        return name + " has a wrong shape";
      if (r.top < 0 || r.left < 0 || r.bottom >= kBoard || r.right >= kBoard)
        return name + " leaves the board";
      for (std::size_t other = 1; other < c; ++other) {
        const Rectangle& o = layout.cells[other];
        if (r.top <= o.bottom && o.top <= r.bottom && r.left <= o.right && o.left <= r.right) {
          return name + " overlaps cell " + std::to_string(other);
        }
      }
      const int slack = cell.left != kNone && cell.above != kNone ? 1 : 0;  // a corner is enough
      if (cell.left != kNone) {
        const Rectangle& o = layout.cells[static_cast<std::size_t>(cell.left)];
        if (r.left != o.right + 1 || r.top > o.bottom || r.bottom + slack < o.top)
          return name + " misses its left neighbour";
      }
      if (cell.above != kNone) {
        const Rectangle& o = layout.cells[static_cast<std::size_t>(cell.above)];
        if (r.top != o.bottom + 1 || r.left > o.right || r.right + slack < o.left)
          return name + " misses its upper neighbour";
      }
      bottom = std::max<int>(bottom, r.bottom);
      right = std::max<int>(right, r.right);
    }
    return (bottom + 1) * (right + 1) == best_.cost() ? "" : "its box has another area";
  }

  Problem problem_;
  bench::Incumbent<Layout> best_;
  Counts counts_;
};

}  // namespace

BENCH_PROGRAM(
        .name = "floorplan",
        .summary = "smallest box around cells with neighbours, by branch and bound",
        .structure = "recursive unbalanced", .granularity = "fine",
        .synchronisation = "atomic/pruning", .origin = "AKM",
        // Name, meaning, min, max, smoke, quick, full.
        .parameters = {{"cells", "how many of the list's twenty cells are placed", 1, 20, 5, 13,
                        15}},
        .input =
            "INNCABS floorplan: cells with shapes and neighbours, then the smallest area; it "
            "replaces cells",
        .locks = true, .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<Floorplan>(
              arguments.input() ? parse(*arguments.input())
                                : built_in(static_cast<std::size_t>(arguments["cells"])));
        })

// Local alignment of all pairs of protein sequences: one coarse task per pair, all independent.
// A task finds the best score and where it ends, the start by going backwards, and the path by
// Myers and Miller's division (Optimal alignments in linear space, CABIOS 1988): linear space.
// The file is long because it holds the scores, the input's reader and generator, and the check.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "random.hpp"

namespace {

constexpr std::string_view kLetters = "ABCDEFGHIKLMNPQRSTUVWXYZ-";
constexpr std::uint8_t kGap = kLetters.size() - 1;

// Residues as positions in kLetters.
using Sequence = std::vector<std::uint8_t>;
constexpr std::size_t kMaxSequences = 1000;
constexpr std::size_t kMaxLength = 100'000;  // keeps scores far below kDead

using Scores = std::array<std::array<int, kLetters.size()>, kLetters.size()>;

// Gonnet's PAM250 matrix in hundredths; what it does not name scores 0.
constexpr Scores make_scores() {
  constexpr std::string_view order = "ARNDCQEGHILKMFPSTWYV";
  constexpr std::array tenths{
      // lower triangle
      24,  -6,  47,  -3,  3,   38,  -3,  -3,  22,  47,  5,   -22, -18, -32, 115, -2,  15,  7,
      9,   -24, 27,  0,   4,   9,   27,  -30, 17,  36,  5,   -10, 4,   1,   -20, -10, -8,  66,
      -8,  6,   12,  4,   -13, 12,  4,   -14, 60,  -8,  -24, -28, -38, -11, -19, -27, -45, -22,
      40,  -12, -22, -30, -40, -15, -16, -28, -44, -19, 28,  40,  -4,  27,  8,   5,   -28, 15,
      12,  -11, 6,   -21, -21, 32,  -7,  -17, -22, -30, -9,  -10, -20, -35, -13, 25,  28,  -14,
      43,  -23, -32, -31, -45, -8,  -26, -39, -52, -1,  10,  20,  -33, 16,  70,  3,   -9,  -9,
      -7,  -31, -2,  -5,  -16, -11, -26, -23, -6,  -24, -38, 76,  11,  -2,  9,   5,   1,   2,
      2,   4,   -2,  -18, -21, 1,   -14, -28, 4,   22,  6,   -2,  5,   0,   -5,  0,   -1,  -11,
      -3,  -6,  -13, 1,   -6,  -22, 1,   15,  25,  -36, -16, -36, -52, -10, -27, -43, -40, -8,
      -18, -7,  -35, -10, 36,  -50, -33, -35, 142, -22, -18, -14, -28, -5,  -17, -27, -40, 22,
      -7,  0,   -21, -2,  51,  -31, -19, -19, 41,  78,  1,   -20, -22, -29, 0,   -15, -19, -33,
      -20, 31,  18,  -17, 16,  1,   -18, -10, 0,   -26, -11, 34};
  static_assert(tenths.size() == order.size() * (order.size() + 1) / 2);
  Scores scores{};
  std::size_t next = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const std::size_t a = kLetters.find(order[i]);
      const std::size_t b = kLetters.find(order[j]);
      scores[a][b] = scores[b][a] = 10 * tenths[next++];
    }
  }
  return scores;
}
constexpr Scores kScores = make_scores();

// A gap of k residues costs open + k * kExtend.
constexpr int kExtend = 10;

int gap_open(const Sequence& a, const Sequence& b) {
  constexpr int kAverage = 82;  // of the matrix' mismatches, negated
  const double shorter = static_cast<double>(std::min(a.size(), b.size()));
  return static_cast<int>(2 * kAverage * (10 + std::log(shorter)));
}

// Residues a[i + k] and b[j + k] for k < length face each other; gaps lie between runs.
struct Run {
  std::size_t i, j, length;
};

struct Alignment {
  int score = -1;
  int percent = -1;  // identical residues, of the shorter sequence
  std::vector<Run> path;
};

int larger(int x, int y) { return x > y ? x : y; }

struct Cell {
  std::size_t i = 0, j = 0;  // counted from 1
};

constexpr std::size_t kBlock = 32;  // columns

// One row of scores, `here`, from the row `up`, with gaps that go `down`; its best score. Vector
// code, in blocks: gaps along the row wait for the end of the block, and most blocks have no score
// that could pay for one. It is not inlined, because the loop would then differ from backend to
// backend.
[[gnu::noinline]] int score_row(const int* __restrict score, const int* __restrict up,
                                int* __restrict here, int* __restrict down, std::size_t width,
                                int first) {
  int row_best = 0;
  int across = 0;
  for (std::size_t block = 0; block < width; block += kBlock) {
    int block_best = 0;
    for (std::size_t j = block; j < block + kBlock; ++j) {
      const int gap = larger(down[j] - kExtend, up[j + 1] - first);
      const int value = larger(larger(up[j] + score[j], 0), gap);
      down[j] = gap;
      here[j + 1] = value;
      block_best = larger(block_best, value);
    }
    if (across > 0 || block_best > first) {
      for (std::size_t j = block + 1; j <= block + kBlock; ++j) {
        here[j] = larger(here[j], across);
        across = larger(across - kExtend, here[j] - first);
      }
    }
    row_best = larger(row_best, block_best);  // a gap never leads to more than it started from
  }
  return row_best;
}

// The best score of a local alignment and the first cell, row by row, where one ends.
std::pair<int, Cell> find_end(const Sequence& a, const Sequence& b, int open) {
  const std::size_t width = (b.size() + kBlock - 1) / kBlock * kBlock;
  std::array<std::vector<int>, kLetters.size()> profile;  // scores of a letter against all of b
  for (const std::uint8_t letter : a) {
    if (!profile[letter].empty()) continue;
    profile[letter].resize(width);  // beyond b 0, which beats no score in b
    std::transform(b.begin(), b.end(), profile[letter].begin(),
                   [&](std::uint8_t other) { return kScores[letter][other]; });
  }
  std::vector<int> above(width + 1), row(width + 1), vertical(width);
  const int first = open + kExtend;
  int best = 0;
  Cell end;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int row_best =
        score_row(profile[a[i]].data(), above.data(), row.data(), vertical.data(), width, first);
    if (row_best > best) {
      best = row_best;
      const auto column = std::find(row.begin() + 1, row.end(), best) - row.begin();
      end = {i + 1, static_cast<std::size_t>(column)};
    }
    std::swap(above, row);
  }
  return {best, end};
}

// The first cell, going backwards row by row from `end`, whose alignment up to `end` has the score
// `best`. Only scores above 0 are followed: the rest of the best alignment would be better without
// a part that has none, so no path to the start is lost and few columns are alive at a time.
Cell find_start(const Sequence& a, const Sequence& b, int open, int best, Cell end) {
  constexpr int kDead = -(1 << 29);
  const int first = open + kExtend;
  std::vector<int> row(end.j + 2, kDead), vertical(end.j + 2, kDead);
  row[end.j + 1] = 0;  // the corner from which the row of `end` starts
  std::size_t low = end.j + 1, high = end.j;
  for (std::size_t i = end.i; i > 0; --i) {
    std::size_t new_low = end.j + 1, new_high = 0;
    int across = kDead, right = kDead, diagonal = row[high + 1];
    for (std::size_t j = high; j > 0 && (j + 1 >= low || across > 0 || right > first); --j) {
      const int gap = larger(vertical[j] - kExtend, row[j] - first);
      across = larger(across - kExtend, right - first);
      const int value = larger(larger(diagonal + kScores[a[i - 1]][b[j - 1]], gap), across);
      if (value == best) return {i, j};
      diagonal = row[j];
      vertical[j] = gap;
      row[j] = right = value > 0 ? value : kDead;
      if (value <= 0) continue;
      new_low = j;
      new_high = std::max(new_high, j);
    }
    row[end.j + 1] = kDead;
    low = new_low;
    high = new_high;
  }
  throw std::logic_error("alignment: no start found");
}

// How INNCABS differs from Myers and Miller: where a division falls inside a gap in b, it lets a
// gap in a that meets it open for nothing, so that the path of a few pairs is not quite the best.
enum class Rule { as_published, exact };

// The path of the best global alignment of a[i0, i0 + m) and b[j0, j0 + n).
class Divider {
 public:
  Divider(const Sequence& a, const Sequence& b, int open, Rule rule, std::size_t width)
      : a_(a),
        b_(b),
        open_(open),
        rule_(rule),
        forward_(width + 1),
        forward_gap_(width + 1),
        backward_(width + 1),
        backward_gap_(width + 1) {}

  // `top` and `bottom`: what it costs to open a gap in b at either end.
  void divide(std::size_t i0, std::size_t m, std::size_t j0, std::size_t n, int top, int bottom) {
    if (m == 0 || n == 0) return;
    if (m == 1) return place(i0, j0, n, top, bottom);
    const std::size_t half = m / 2;
    sweep(forward_, forward_gap_, half, n, top,
          [&](std::size_t i, std::size_t j) { return kScores[a_[i0 + i]][b_[j0 + j]]; });
    sweep(backward_, backward_gap_, m - half, n, bottom, [&](std::size_t i, std::size_t j) {
      return kScores[a_[i0 + m - 1 - i]][b_[j0 + n - 1 - j]];
    });
    // Between two rows; among equals a column where a gap in a begins right after is preferred.
    int best = forward_[0] + backward_[n];
    std::size_t split = 0;
    for (std::size_t j = 0; j <= n; ++j) {
      const int sum = forward_[j] + backward_[n - j];
      const bool better_tie =
          forward_[j] != forward_gap_[j] && backward_[n - j] == backward_gap_[n - j];
      if (sum > best || (sum == best && better_tie)) {
        best = sum;
        split = j;
      }
    }
    // Or inside a gap, whose opening both sides have paid.
    bool inside_gap = false;
    for (std::size_t j = n + 1; j-- > 0;) {
      const int sum = forward_gap_[j] + backward_gap_[n - j] + open_;
      if (sum <= best) continue;
      best = sum;
      split = j;
      inside_gap = true;
    }
    const std::size_t skipped = inside_gap ? 1 : 0;
    const int facing = inside_gap ? 0 : open_;
    divide(i0, half - skipped, j0, split, top, facing);
    divide(i0 + half + skipped, m - half - skipped, j0 + split, n - split, facing, bottom);
  }

  std::vector<Run> take_path() { return std::move(path_); }

 private:
  static int gap(int open, std::size_t length) {
    return length == 0 ? 0 : open + kExtend * static_cast<int>(length);
  }
  // What it costs to open a gap in a at an end where one in b costs `open`.
  int open_across(int open) const { return rule_ == Rule::exact ? open_ : open; }

  // One residue of a against n of b: the first best place, or none.
  void place(std::size_t i0, std::size_t j0, std::size_t n, int top, int bottom) {
    const int left = open_across(top);
    const int right = open_across(bottom);
    int best = larger(-gap(top, 1) - gap(right, n), -gap(bottom, 1) - gap(left, n));
    std::size_t at = n;
    for (std::size_t j = 0; j < n; ++j) {
      const int score = kScores[a_[i0]][b_[j0 + j]] - gap(left, j) - gap(right, n - 1 - j);
      if (score <= best) continue;
      best = score;
      at = j;
    }
    if (at == n) return;
    const std::size_t j = j0 + at;
    if (!path_.empty() && path_.back().i + path_.back().length == i0 &&
        path_.back().j + path_.back().length == j) {
      ++path_.back().length;
    } else {
      path_.push_back({i0, j, 1});
    }
  }

  // The best scores of the first `rows` rows against 0..n columns: of all alignments, and of those
  // that end in a gap in b. score(i, j) compares residues i and j of the direction it looks in.
  template <class Score>
  void sweep(std::vector<int>& value, std::vector<int>& down, std::size_t rows, std::size_t n,
             int edge_open, Score score) const {
    value[0] = 0;
    for (std::size_t j = 1; j <= n; ++j) {
      value[j] = -gap(open_across(edge_open), j);
      down[j] = value[j] - open_;
    }
    const int first = open_ + kExtend;
    for (std::size_t i = 0; i < rows; ++i) {
      int diagonal = value[0];
      int left = value[0] = -gap(edge_open, i + 1);
      int across = left - open_;
      for (std::size_t j = 1; j <= n; ++j) {
        across = larger(across - kExtend, left - first);
        down[j] = larger(down[j] - kExtend, value[j] - first);
        left = larger(larger(diagonal + score(i, j - 1), across), down[j]);
        diagonal = value[j];
        value[j] = left;
      }
    }
    down[0] = value[0];
  }

  const Sequence& a_;
  const Sequence& b_;
  int open_;
  Rule rule_;
  std::vector<int> forward_, forward_gap_, backward_, backward_gap_;
  std::vector<Run> path_;
};

std::size_t residues(const Sequence& s) {
  return s.size() - static_cast<std::size_t>(std::count(s.begin(), s.end(), kGap));
}

int percent_identical(const Sequence& a, const Sequence& b, const std::vector<Run>& path) {
  std::size_t equal = 0;
  for (const Run& run : path) {
    for (std::size_t k = 0; k < run.length; ++k) {
      equal += a[run.i + k] == b[run.j + k] && a[run.i + k] != kGap;
    }
  }
  return static_cast<int>(100 * equal / std::min(residues(a), residues(b)));
}

Alignment align(const Sequence* a, const Sequence* b, Rule rule) {
  const int open = gap_open(*a, *b);
  const auto [score, end] = find_end(*a, *b, open);
  if (score == 0) return {0, 0, {}};
  const Cell start = find_start(*a, *b, open, score, end);
  Divider divider(*a, *b, open, rule, end.j - start.j + 1);
  divider.divide(start.i - 1, end.i - start.i + 1, start.j - 1, end.j - start.j + 1, 0, 0);
  std::vector<Run> path = divider.take_path();
  const int percent = percent_identical(*a, *b, path);
  return {score, percent, std::move(path)};
}

// The textbook recurrence, cell by cell in the other direction of the matrix: the check's own way
// to the score. Quadratic time and nothing else to be fast.
int reference_score(const Sequence& a, const Sequence& b) {
  const int open = gap_open(a, b);
  std::vector<int> column(a.size() + 1), along(a.size() + 1, -open);
  int best = 0;
  for (const std::uint8_t letter : b) {
    int diagonal = 0;
    int down = -open - kExtend;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      along[i] = std::max(along[i], column[i] - open) - kExtend;
      const int not_down = std::max({0, diagonal + kScores[letter][a[i - 1]], along[i]});
      diagonal = column[i];
      column[i] = std::max(not_down, down);
      best = std::max(best, column[i]);
      down = std::max(down, not_down - open) - kExtend;  // to go on is cheaper than to open again
    }
  }
  return best;
}

// What a path is worth, residue by residue and gap by gap; `as_published` where gaps in both
// sequences that meet open once. Nothing if it is no path.
struct Worth {
  int exact, as_published;
};
std::optional<Worth> worth(const Sequence& a, const Sequence& b, const std::vector<Run>& path) {
  const int open = gap_open(a, b);
  Worth sum{0, 0};
  const Run* before = nullptr;
  for (const Run& run : path) {
    if (run.i + run.length > a.size() || run.j + run.length > b.size()) return {};
    int score = 0;
    for (std::size_t k = 0; k < run.length; ++k) score += kScores[a[run.i + k]][b[run.j + k]];
    int gaps = 0;
    if (before) {
      const std::size_t i = before->i + before->length;
      const std::size_t j = before->j + before->length;
      if (run.i < i || run.j < j) return {};
      gaps = (run.i > i) + (run.j > j);
      score -= kExtend * static_cast<int>(run.i - i + run.j - j);
    }
    sum.exact += score - gaps * open;
    sum.as_published += score - std::min(gaps, 1) * open;
    before = &run;
  }
  return sum;
}

// Sequences of the lengths and residue frequencies of INNCABS' largest input, so they cost the
// same.
std::vector<Sequence> generate(std::size_t count, std::uint64_t seed) {
  constexpr std::array<std::uint16_t, 100> lengths{
      97,   716,  681,  249, 971,  1369, 350,  844,  164,  579,  450, 756,  850,  462, 888,
      928,  1841, 404,  103, 446,  307,  648,  2067, 343,  385,  373, 218,  1354, 396, 520,
      593,  308,  1388, 270, 189,  1378, 308,  578,  2069, 307,  335, 548,  848,  708, 1190,
      1206, 625,  1238, 532, 210,  1238, 265,  198,  222,  397,  592, 619,  1648, 290, 806,
      1649, 842,  739,  185, 249,  722,  495,  172,  604,  1058, 532, 1173, 192,  440, 612,
      766,  779,  952,  360, 1154, 1430, 502,  272,  329,  822,  89,  311,  457,  520, 670,
      243,  349,  148,  806, 451,  320,  1114, 443,  479,  474};
  constexpr std::string_view letters = "ACDEFGHIKLMNPQRSTVWY";
  constexpr std::array<std::uint32_t, letters.size()> per_mille{
      66, 22, 51, 69, 38, 64, 25, 46, 56, 97, 24, 40, 63, 47, 55, 81, 53, 64, 13, 28};
  std::string urn;
  for (std::size_t l = 0; l < letters.size(); ++l) urn.append(per_mille[l], letters[l]);
  bench::Random random(seed);
  std::vector<Sequence> sequences(count);
  for (std::size_t s = 0; s < count; ++s) {
    sequences[s].resize(lengths[s]);
    for (std::uint8_t& residue : sequences[s]) {
      const char letter = urn[random.below(static_cast<std::uint32_t>(urn.size()))];
      residue = static_cast<std::uint8_t>(kLetters.find(letter));
    }
  }
  return sequences;
}

// "Number of sequences is K", then K records of a line with '>' and lines of residues.
std::vector<Sequence> parse(std::string_view text) {
  std::size_t line_number = 0;
  const auto fail = [&](const std::string& sentence) {
    throw bench::BadInput("input file, line " + std::to_string(line_number) + ": " + sentence);
  };
  const auto next_line = [&] {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++line_number;
    const auto strange = [](char c) { return (c < ' ' || c > '~') && c != '\t'; };
    if (std::any_of(line.begin(), line.end(), strange)) fail("holds a byte that is no text");
    return line;
  };
  std::string_view title = next_line();
  constexpr std::string_view kTitle = "Number of sequences is ";
  std::size_t count = 0;
  if (title.starts_with(kTitle)) {
    title.remove_prefix(kTitle.size());
    while (title.ends_with(' ')) title.remove_suffix(1);
    const auto [end, error] = std::from_chars(title.data(), title.data() + title.size(), count);
    if (error != std::errc() || end != title.data() + title.size()) count = 0;
  }
  if (count < 2 || count > kMaxSequences) {
    fail("must say 'Number of sequences is K' with K from 2 to " + std::to_string(kMaxSequences));
  }
  std::vector<Sequence> sequences;
  const auto finish_record = [&] {
    if (!sequences.empty() && residues(sequences.back()) == 0) {
      fail("sequence " + std::to_string(sequences.size()) + ", which ends here, has no residues");
    }
  };
  while (!text.empty()) {
    const std::string_view line = next_line();
    if (line.starts_with('>')) {
      finish_record();
      if (sequences.size() == count) fail("starts one sequence more than the first line announces");
      sequences.emplace_back();
      continue;
    }
    for (const char c : line) {
      const std::size_t code = kLetters.find(c);
      if (code == std::string_view::npos) continue;  // by definition of the format
      if (sequences.empty()) fail("has residues before the first line with '>'");
      if (sequences.back().size() == kMaxLength) {
        fail("makes a sequence longer than " + std::to_string(kMaxLength) + " residues");
      }
      sequences.back().push_back(static_cast<std::uint8_t>(code));
    }
  }
  finish_record();
  if (sequences.size() < count) {
    fail("the file ends after " + std::to_string(sequences.size()) + " of " +
         std::to_string(count) + " sequences");
  }
  return sequences;
}

// Results that INNCABS' program gives for its own files, recognised by a hash of the residues.
struct Published {
  std::uint64_t hash;
  std::int64_t sum;
  std::int64_t weighted;  // sum of percent * i * j, counted from 1; -1: not known
};
constexpr std::array kPublished{Published{0x0fa8ecd8fed214c0, 848, -1},
                                Published{0x91369f9378eaa969, 19297, 48928672}};

// FNV-1a over all residues and ends of sequences.
std::uint64_t hash(const std::vector<Sequence>& sequences) {
  std::uint64_t value = 0xcbf29ce484222325;
  const auto add = [&](std::uint8_t byte) { value = (value ^ byte) * 0x100000001b3; };
  for (const Sequence& sequence : sequences) {
    for (const std::uint8_t residue : sequence) add(residue);
    add(0xff);
  }
  return value;
}

class AllPairs final : public bench::Instance {
 public:
  explicit AllPairs(const bench::Arguments& arguments)
      : sequences_(arguments.input() ? parse(*arguments.input())
                                     : generate(static_cast<std::size_t>(arguments["sequences"]),
                                                arguments.seed())),
        rule_(arguments["exact"] ? Rule::exact : Rule::as_published),
        seed_(arguments.seed()) {}

  void prepare() override {
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      for (std::size_t j = i + 1; j < sequences_.size(); ++j) pairs_.emplace_back(i, j);
    }
    results_.resize(pairs_.size());
    // In a random order, which is the seed's, until the budget is spent.
    std::vector<std::size_t> order(pairs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    bench::Random random(seed_);
    std::uint64_t cells = 0;
    for (std::size_t rest = order.size(); rest > 0 && cells < kReferenceCells; --rest) {
      std::swap(order[random.below(static_cast<std::uint32_t>(rest))], order[rest - 1]);
      const std::size_t p = order[rest - 1];
      references_.emplace_back(p, reference_score(first(p), second(p)));
      cells += std::uint64_t{first(p).size()} * second(p).size();
    }
    for (const Published& p : kPublished) {
      if (rule_ == Rule::as_published && p.hash == hash(sequences_)) published_ = p;
    }
  }

  void clear() override { std::fill(results_.begin(), results_.end(), Alignment{}); }

  void run(bench::Form form) override {
    if (form == bench::Form::fork_join) {
      bench::scope scope;
      for (std::size_t p = 0; p < pairs_.size(); ++p) {
        scope.spawn([this, p] { results_[p] = align(&first(p), &second(p), rule_); });
      }
      scope.wait();
      return;
    }
    std::vector<bench::handle<decltype(&align), const Sequence*, const Sequence*, Rule>> handles;
    handles.reserve(pairs_.size());
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      handles.push_back(bench::async(&align, &first(p), &second(p), rule_));
    }
    for (std::size_t p = 0; p < pairs_.size(); ++p) results_[p] = handles[p].get();
  }

  // Every path must be worth the score that was found (by the rule of its gaps) and hold the
  // identical residues reported, so no score is too high. That none is too low is shown by another
  // algorithm: for all pairs at sizes smoke and quick, beyond kReferenceCells for a sample that the
  // seed draws; and by the published sums of two files.
  bench::Check check() override {
    std::int64_t sum = 0;
    std::int64_t weighted = 0;
    std::size_t not_best = 0;
    std::string reason;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const Alignment& found = results_[p];
      const auto [i, j] = pairs_[p];
      sum += found.percent;
      weighted += found.percent * static_cast<std::int64_t>((i + 1) * (j + 1));
      const std::optional<Worth> path = worth(first(p), second(p), found.path);
      const bool exact = path && path->exact == found.score;
      const bool close = path && path->exact < found.score && found.score <= path->as_published;
      if (!exact) ++not_best;
      if (!(exact || (close && rule_ == Rule::as_published)) ||
          found.percent != percent_identical(first(p), second(p), found.path)) {
        reason = "the path of " + name(p) + " is not worth its score";
      }
    }
    for (const auto& [p, score] : references_) {
      if (results_[p].score == score) continue;
      reason = "the score of " + name(p) + " is " + std::to_string(results_[p].score) + ", not " +
               std::to_string(score);
    }
    if (published_ && (sum != published_->sum ||
                       (published_->weighted >= 0 && weighted != published_->weighted))) {
      reason = "the published sum is " + std::to_string(published_->sum);
    }
    return {.ok = reason.empty(),
            .answer = "sum " + std::to_string(sum) + ", weighted " + std::to_string(weighted) +
                      ", " + std::to_string(not_best) + " paths not the best",
            .reason = reason,
            .tasks = pairs_.size()};
  }

 private:
  // Cells of matrices that prepare() spends on references. Quick has 49 million, which take up to
  // twice the time of its run.
  static constexpr std::uint64_t kReferenceCells = 50'000'000;

  const Sequence& first(std::size_t pair) const { return sequences_[pairs_[pair].first]; }
  const Sequence& second(std::size_t pair) const { return sequences_[pairs_[pair].second]; }
  std::string name(std::size_t pair) const {
    return "sequences " + std::to_string(pairs_[pair].first + 1) + " and " +
           std::to_string(pairs_[pair].second + 1);
  }

  std::vector<Sequence> sequences_;
  Rule rule_;
  std::uint64_t seed_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
  std::vector<Alignment> results_;
  std::vector<std::pair<std::size_t, int>> references_;  // pair, expected score
  std::optional<Published> published_;
};

}  // namespace

BENCH_PROGRAM(
        .name = "alignment", .summary = "local alignment of all pairs of protein sequences",
        .structure = "loop-like", .granularity = "coarse", .synchronisation = "none",
        .origin = "AKM",
        .parameters = {{.name = "sequences",
                        .meaning = "sequences to generate; not used "
                                   "with an input file",
                        .min = 2,
                        .max = 100,
                        .smoke = 6,
                        .quick = 12,
                        .full = 100},
                       {.name = "exact",
                        .meaning = "1: the best path of every pair; 0: as "
                                   "published, which misses a few",
                        .min = 0,
                        .max = 1,
                        .smoke = 0,
                        .quick = 0,
                        .full = 0}},
        .input =
            "text: 'Number of sequences is K', then K records of a line starting with "
            "'>' and lines of residues in capital letters",
        .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<AllPairs>(arguments);
        })

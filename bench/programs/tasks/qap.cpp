// Quadratic assignment by branch and bound: the search puts facility after facility on a free
// place, and gives up a partial assignment that costs as much as the best whole one. As in the
// suite a node starts one task per place, taken or not, so most are empty (fork_join: free places
// only), and the bound is shared, so the work depends on timing: nodes are counted. Flows of zero
// are left out. This file is long because three instances are built in and the reference is another
// algorithm.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "incumbent.hpp"
#include "numbers.hpp"
#include "small_vector.hpp"

namespace {

constexpr std::size_t kMaxSize = 31;
constexpr std::int64_t kMaxEntry = 1 << 24;  // 31 * 31 products of two entries fit in 63 bits
constexpr std::size_t kMaxExact = 12;        // the reference's tables have 2^n columns

struct Flow {
  std::size_t other;  // an earlier facility
  std::int64_t there, back;
};

struct Problem {
  std::size_t n = 0;
  std::vector<std::int64_t> flow = {}, distance = {};  // n rows of n
  // For each facility its flows with those before it, without zeros.
  std::vector<std::vector<Flow>> earlier = {};
  std::optional<std::int64_t> stated = {};  // the optimum that the file claims
};

// The instances of N. Christofides and E. Benavent (QAPLIB chr12a, b, c): a tree of flows on twelve
// facilities (to which earlier one each of the others is tied, counted from 1), and one matrix of
// distances for all three, here what is above its diagonal.
constexpr std::size_t kBuiltIn = 12;
constexpr std::array<std::array<std::size_t, kBuiltIn - 1>, 3> kParents{{
    {1, 1, 1, 1, 2, 3, 3, 6, 8, 9, 10},
    {1, 1, 1, 1, 1, 3, 3, 5, 5, 5, 5},
    {1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
}};
constexpr std::array<std::int64_t, kBuiltIn - 1> kFlows{90, 10, 23, 43, 88, 26, 16, 1, 96, 29, 37};
constexpr std::array<std::int64_t, kBuiltIn*(kBuiltIn - 1) / 2> kDistances{
    36, 54, 26, 59, 72, 9,  34, 79, 17, 46, 95, 73, 35, 90, 58, 30, 78, 35, 44, 79, 36, 21,
    10, 97, 58, 66, 69, 61, 54, 63, 93, 12, 46, 40, 37, 48, 68, 85, 64, 5,  29, 76, 16, 5,
    76, 96, 55, 38, 54, 0,  34, 83, 35, 11, 56, 37, 44, 12, 15, 80, 64, 39, 33, 70, 86, 18};

void find_earlier_flows(Problem& p) {
  p.earlier.assign(p.n, {});
  for (std::size_t k = 0; k < p.n; ++k) {
    for (std::size_t j = 0; j < k; ++j) {
      const Flow f{.other = j, .there = p.flow[k * p.n + j], .back = p.flow[j * p.n + k]};
      if (f.there != 0 || f.back != 0) p.earlier[k].push_back(f);
    }
  }
}

Problem built_in(std::size_t instance, std::size_t n) {
  Problem p{.n = n,
            .flow = std::vector<std::int64_t>(n * n),
            .distance = std::vector<std::int64_t>(n * n)};
  const auto& parents = kParents[instance];
  for (std::size_t k = 1; k < n; ++k) {
    const std::size_t parent = parents[k - 1] - 1;
    p.flow[k * n + parent] = p.flow[parent * n + k] = kFlows[k - 1];
  }
  std::size_t next = 0;
  for (std::size_t row = 0; row < kBuiltIn; ++row) {
    for (std::size_t column = row + 1; column < kBuiltIn; ++column, ++next) {
      if (column < n)
        p.distance[row * n + column] = p.distance[column * n + row] = kDistances[next];
    }
  }
  find_earlier_flows(p);
  return p;
}

Problem parse(std::string_view text) {
  bench::Numbers numbers(text);
  Problem p{.n = static_cast<std::size_t>(numbers.integer("the size n", 1, kMaxSize))};
  for (auto* matrix : {&p.flow, &p.distance}) {
    for (std::size_t i = 0; i < p.n * p.n; ++i)
      matrix->push_back(numbers.integer("an entry of a matrix", 0, kMaxEntry));
  }
  p.stated = numbers.integer("the optimum", 0, std::numeric_limits<std::int64_t>::max());
  numbers.end();
  find_earlier_flows(p);
  return p;
}

// The exact optimum where the flows are a tree (or a forest), else nothing. By dynamic programming
// over sets of places, not by search: best[k][place][set] is the least cost of k's subtree on
// exactly this set with k on this place.
std::optional<std::int64_t> exact_optimum(const Problem& p) {
  const auto has_parent_at_most = [](const std::vector<Flow>& flows) { return flows.size() <= 1; };
  if (p.n > kMaxExact || !std::all_of(p.earlier.begin(), p.earlier.end(), has_parent_at_most))
    return {};
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max() / 4;
  const std::size_t sets = std::size_t{1} << p.n;
  std::vector<std::vector<std::size_t>> sets_of_size(p.n + 1);
  for (std::size_t set = 0; set < sets; ++set)
    sets_of_size[static_cast<std::size_t>(std::popcount(set))].push_back(set);

  std::vector<std::vector<std::int64_t>> best(p.n);
  std::vector<std::size_t> size(p.n, 1);
  const auto make_leaf = [&](std::size_t k) {
    best[k].assign(p.n * sets, none);
    for (std::size_t i = 0; i < p.n; ++i)
      best[k][i * sets + (std::size_t{1} << i)] = p.flow[k * p.n + k] * p.distance[i * p.n + i];
  };
  for (std::size_t k = p.n; k-- > 0;) {
    if (best[k].empty()) make_leaf(k);
    if (k == 0) break;
    const Flow edge =
        p.earlier[k].empty() ? Flow{.other = 0, .there = 0, .back = 0} : p.earlier[k].front();
    if (best[edge.other].empty()) make_leaf(edge.other);
    std::vector<std::int64_t> merged(p.n * sets, none);
    for (std::size_t i = 0; i < p.n; ++i) {
      for (const std::size_t child_set : sets_of_size[size[k]]) {
        if (child_set >> i & 1) continue;
        std::int64_t child = none;
        for (std::size_t q = 0; q < p.n; ++q) {
          child =
              std::min(child, best[k][q * sets + child_set] + edge.there * p.distance[q * p.n + i] +
                                  edge.back * p.distance[i * p.n + q]);
        }
        for (const std::size_t own_set : sets_of_size[size[edge.other]]) {
          if ((own_set & child_set) != 0 || !(own_set >> i & 1)) continue;
          std::int64_t& cell = merged[i * sets + (own_set | child_set)];
          cell = std::min(cell, best[edge.other][i * sets + own_set] + child);
        }
      }
    }
    size[edge.other] += size[k];
    best[edge.other] = std::move(merged);
    best[k] = {};
  }
  std::int64_t optimum = none;
  for (std::size_t i = 0; i < p.n; ++i) optimum = std::min(optimum, best[0][i * sets + sets - 1]);
  return optimum;
}

using Places = std::array<std::uint8_t, kMaxSize>;  // of the facilities so far

struct Node {
  std::int64_t cost = 0;
  std::uint32_t used = 0;
  std::uint8_t placed = 0;
  Places places{};
};

struct Counts {
  std::uint64_t tasks = 0;
  std::uint64_t nodes = 0;
  Counts& operator+=(const Counts& other) {
    tasks += other.tasks;
    nodes += other.nodes;
    return *this;
  }
};

struct Search {
  const Problem& problem;
  bench::Incumbent<Places>& best;
};

bool is_free(const Node& node, std::size_t place) { return (node.used >> place & 1) == 0; }

// The node with the next facility on `place`, which is free.
Node extended(const Problem& p, const Node& parent, std::size_t place) {
  Node node = parent;
  const std::size_t k = node.placed++;
  node.places[k] = static_cast<std::uint8_t>(place);
  node.used |= std::uint32_t{1} << place;
  node.cost += p.flow[k * p.n + k] * p.distance[place * p.n + place];
  for (const Flow& f : p.earlier[k]) {
    const std::size_t other = node.places[f.other];
    node.cost +=
        f.there * p.distance[place * p.n + other] + f.back * p.distance[other * p.n + place];
  }
  return node;
}

// Whether the node must be expanded; takes it as a solution if it is whole.
bool is_open(const Search& search, const Node& node) {
  if (node.placed == search.problem.n) {
    search.best.offer(node.cost, node.places);
    return false;
  }
  return node.cost < search.best.bound();
}

Counts expand_futures(const Search* search, const Node& node) {
  if (!is_open(*search, node)) return {};
  const auto visit = +[](const Search* s, const Node* parent, std::size_t place) -> Counts {
    if (!is_free(*parent, place)) return {};
    Counts counts{.tasks = 0, .nodes = 1};
    return counts += expand_futures(s, extended(s->problem, *parent, place));
  };
  const std::size_t n = search->problem.n;
  bench::small_vector<bench::handle<decltype(visit), const Search*, const Node*, std::size_t>,
                      kMaxSize>
      children(n);
  for (std::size_t i = 0; i < n; ++i)
    children.emplace_from([&] { return bench::async(visit, search, &node, i); });
  Counts counts{.tasks = n, .nodes = 0};
  for (auto& child : children) counts += child.get();
  return counts;
}

Counts expand_fork_join(const Search& search, const Node& node) {
  if (!is_open(search, node)) return {};
  const std::size_t n = search.problem.n;
  std::array<Counts, kMaxSize> of_children;
  {
    bench::scope children;
    for (std::size_t i = 0; i < n; ++i) {
      if (!is_free(node, i)) continue;
      children.spawn([&search, &node, &counts = of_children[i], i] {
        counts = expand_fork_join(search, extended(search.problem, node, i));
      });
    }
    children.wait();
  }
  const std::size_t free = n - node.placed;
  Counts counts{.tasks = free, .nodes = free};
  for (std::size_t i = 0; i < n; ++i) counts += of_children[i];
  return counts;
}

class Qap final : public bench::Instance {
 public:
  explicit Qap(Problem problem) : problem_(std::move(problem)) {}

  void prepare() override { exact_ = exact_optimum(problem_); }
  void clear() override {
    best_.reset();
    counts_ = {};
  }
  void run(bench::Form form) override {
    const Search search{problem_, best_};
    counts_ =
        form == bench::Form::futures ? expand_futures(&search, {}) : expand_fork_join(search, {});
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
  // The cost by definition: all pairs, the whole matrices. Nothing if it is no permutation.
  std::optional<std::int64_t> cost_by_definition(const Places& places) const {
    const std::size_t n = problem_.n;
    std::uint32_t used = 0;
    for (std::size_t k = 0; k < n; ++k) used |= std::uint32_t{1} << places[k];
    if (used != (std::uint32_t{1} << n) - 1) return {};
    std::int64_t cost = 0;
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j)
        cost += problem_.flow[k * n + j] * problem_.distance[places[k] * n + places[j]];
    }
    return cost;
  }

  std::string what_is_wrong() const {
    const std::int64_t cost = best_.cost();
    if (cost_by_definition(best_.solution()) != cost)
      return "the assignment found does not have this cost";
    if (exact_ && cost != *exact_) return "expected " + std::to_string(*exact_);
    if (!problem_.stated || cost == *problem_.stated) return "";
    const std::string stated =
        "the input file states the optimum " + std::to_string(*problem_.stated);
    if (cost > *problem_.stated && !exact_) return stated;
    return stated + ", but an assignment found costs " + std::to_string(cost) +
           (exact_ ? ", which is optimal" : "") + ": correct the file's last number";
  }

  Problem problem_;
  std::optional<std::int64_t> exact_;
  bench::Incumbent<Places> best_;
  Counts counts_;
};

}  // namespace

BENCH_PROGRAM(
        .name = "qap",
        .summary = "quadratic assignment by branch and bound, one task per place in each node",
        .structure = "recursive unbalanced", .granularity = "fine",
        .synchronisation = "atomic/pruning", .origin = "New",
        // Name, meaning, min, max, smoke, quick, full.
        .parameters = {{"instance", "tree of flows: 1 is chr12a, 2 is chr12b, 3 is chr12c", 1, 3, 1,
                        2, 3},
                       {"n", "facilities and places: the leading part of the matrices", 1, kBuiltIn,
                        6, 12, 12}},
        .input =
            "QAPLIB: n, n*n flows, n*n distances, then the optimum; it replaces instance and n",
        .locks = true, .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          if (arguments.input()) return std::make_unique<Qap>(parse(*arguments.input()));
          return std::make_unique<Qap>(built_in(static_cast<std::size_t>(arguments["instance"]) - 1,
                                                static_cast<std::size_t>(arguments["n"])));
        })

// Counts the nodes of an unbalanced tree of unknown shape: a node's state is the SHA-1 of its
// parent's state and its own number, and decides whether the node has children. As in the suite a
// parent hashes for its children, so most tasks are leaves without work. Threads recurse once per
// level (tiny: 6,974), so a scheduler needs stacks to match. This file is long because it hashes
// twice: once to measure, once in another way to check.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "numbers.hpp"
#include "small_vector.hpp"

namespace {

// Deeper trees are refused, before the run: its frames must fit the stack of 100 MiB that the
// harness asks for.
constexpr std::uint32_t kMaxDepth = 20'000;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 60;
constexpr std::int64_t kMaxRootChildren = 1'000'000;
constexpr std::int64_t kMaxChildren = 100;
constexpr std::int64_t kMaxSeed = 0x7fffffff;
constexpr std::int64_t kMaxGranularity = 1'000'000;

std::string too_deep() {
  return "the tree has more than " + std::to_string(kMaxDepth) +
         " levels, which the stack cannot hold; take a smaller probability";
}

using Digest = std::array<std::uint32_t, 5>;

// SHA-1 (FIPS 180-4, section 6.1.2) of one padded block of 16 big-endian words.
Digest sha1(std::array<std::uint32_t, 16> w) {
  constexpr Digest start{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  auto [a, b, c, d, e] = start;
  const auto round = [&](std::size_t t, std::uint32_t f, std::uint32_t k) {
    // The schedule needs only the last 16 words, so w is a ring.
    if (t >= 16)
      w[t % 16] = std::rotl(w[(t + 13) % 16] ^ w[(t + 8) % 16] ^ w[(t + 2) % 16] ^ w[t % 16], 1);
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[t % 16];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  };
  for (std::size_t t = 0; t < 20; ++t) round(t, d ^ (b & (c ^ d)), 0x5a827999);
  for (std::size_t t = 20; t < 40; ++t) round(t, b ^ c ^ d, 0x6ed9eba1);
  for (std::size_t t = 40; t < 60; ++t) round(t, (b & c) | (d & (b | c)), 0x8f1bbcdc);
  for (std::size_t t = 60; t < 80; ++t) round(t, b ^ c ^ d, 0xca62c1d6);
  return {a + start[0], b + start[1], c + start[2], d + start[3], e + start[4]};
}

// 20 bytes of state and 4 of the child's number; the padding is a one and the length, 192 bits.
Digest child_state(const Digest& s, std::uint32_t number) {
  return sha1({s[0], s[1], s[2], s[3], s[4], number, 0x80000000, 0, 0, 0, 0, 0, 0, 0, 0, 192});
}

// 16 zero bytes and the 4 of the seed: 160 bits.
Digest root_state(std::uint32_t seed) {
  return sha1({0, 0, 0, 0, seed, 0x80000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 160});
}

struct Shape {
  std::int64_t root_children;
  double probability;  // that a node other than the root has children
  std::int64_t children;
  std::int64_t root_seed;
  std::int64_t granularity;  // hashes per node
  bool operator==(const Shape&) const = default;
};

struct Tree {
  std::uint64_t size = 0;
  std::uint32_t depth = 0;
  std::uint64_t leaves = 0;
  std::uint32_t hash = 0;  // xor of every node's last hash: none is useless and may be left out
  bool operator==(const Tree&) const = default;

  void add(const Tree& part) {
    size += part.size;
    depth = std::max(depth, part.depth);
    leaves += part.leaves;
    hash ^= part.hash;
  }
};

struct Node {
  Digest state;
  std::uint32_t depth;
  std::uint32_t children;
  std::uint32_t hash;

  Tree alone() const { return {.size = 1, .depth = depth, .leaves = children == 0, .hash = hash}; }
};

// What all nodes share.
struct Search {
  std::uint32_t threshold;  // last words below it, less the top bit, are those of inner nodes
  std::uint32_t children;
  std::uint32_t granularity;

  Node child(const Node& parent, std::uint32_t number) const {
    const Digest state = child_state(parent.state, number);
    Digest last = state;
    for (std::uint32_t i = 1; i < granularity; ++i) last = child_state(last, number);
    const bool inner = (state[4] & 0x7fffffff) < threshold;
    return {.state = state,
            .depth = parent.depth + 1,
            .children = inner ? children : 0,
            .hash = last[4]};
  }
};

// The published trees have 2 to 8 children below the root, mostly 3; what is more goes to the heap.
constexpr std::size_t kUsualChildren = 4;

Tree count_futures(const Search* search, const Node* node) {
  Tree sum = node->alone();
  if (node->children == 0) return sum;
  bench::small_vector<Node, kUsualChildren> children(node->children);
  bench::small_vector<bench::handle<decltype(count_futures)*, const Search*, const Node*>,
                      kUsualChildren>
      handles(node->children);
  for (std::uint32_t i = 0; i < node->children; ++i) {
    const Node& child = children.emplace_from([&] { return search->child(*node, i); });
    handles.emplace_from([&] { return bench::async(count_futures, search, &child); });
  }
  for (auto& handle : handles) sum.add(handle.get());
  return sum;
}

Tree count_fork_join(const Search& search, const Node& node) {
  Tree sum = node.alone();
  if (node.children == 0) return sum;
  struct Branch {
    Node node;
    Tree tree;
  };
  bench::small_vector<Branch, kUsualChildren> branches(node.children);
  bench::scope scope;
  for (std::uint32_t i = 0; i < node.children; ++i) {
    Branch& branch = branches.emplace_from([&] { return Branch{search.child(node, i), {}}; });
    scope.spawn([&search, &branch] { branch.tree = count_fork_join(search, branch.node); });
  }
  scope.wait();
  for (const Branch& branch : branches) sum.add(branch.tree);
  return sum;
}

// The same tree for the check: without recursion, and hashed from bytes as the standard's text
// does.
namespace reference {

using State = std::array<std::uint8_t, 20>;

template <std::size_t N>
State sha1(const std::array<std::uint8_t, N>& message) {
  std::array<std::uint8_t, 64> block{};
  static_assert(N + 9 <= block.size());
  std::copy(message.begin(), message.end(), block.begin());
  block[N] = 0x80;
  block[63] = static_cast<std::uint8_t>(8 * N);
  std::array<std::uint32_t, 80> w;
  for (std::size_t t = 0; t < 16; ++t) {
    w[t] = 0;
    for (std::size_t i = 0; i < 4; ++i) w[t] = w[t] << 8 | block[4 * t + i];
  }
  for (std::size_t t = 16; t < 80; ++t)
    w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  constexpr std::array<std::uint32_t, 4> k{0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
  const std::array<std::uint32_t, 5> start{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                                           0xc3d2e1f0};
  auto [a, b, c, d, e] = start;
  for (std::size_t t = 0; t < 80; ++t) {
    const std::uint32_t f = t < 20              ? (b & c) ^ (~b & d)
                            : t >= 40 && t < 60 ? (b & c) ^ (b & d) ^ (c & d)
                                                : b ^ c ^ d;
    const std::uint32_t next = std::rotl(a, 5) + f + e + k[t / 20] + w[t];
    e = std::exchange(d, std::exchange(c, std::rotl(std::exchange(b, std::exchange(a, next)), 30)));
  }
  State result;
  const std::array<std::uint32_t, 5> sum{a + start[0], b + start[1], c + start[2], d + start[3],
                                         e + start[4]};
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<std::uint8_t>(sum[i / 4] >> (24 - 8 * (i % 4)));
  }
  return result;
}

template <std::size_t N>
State sha1_followed_by(const std::array<std::uint8_t, N>& prefix, std::uint32_t number) {
  std::array<std::uint8_t, N + 4> message;
  std::copy(prefix.begin(), prefix.end(), message.begin());
  for (std::size_t i = 0; i < 4; ++i)
    message[N + i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
  return sha1(message);
}

std::uint32_t value(const State& state) {
  return std::uint32_t{state[16]} << 24 | std::uint32_t{state[17]} << 16 |
         std::uint32_t{state[18]} << 8 | state[19];
}

// Throws BadInput when the tree is too deep, so that its own memory is bounded.
Tree walk(const Shape& shape) {
  struct Open {
    State state;
    std::uint32_t depth;
  };
  std::vector<Open> open{{sha1_followed_by(std::array<std::uint8_t, 16>{},
                                           static_cast<std::uint32_t>(shape.root_seed)),
                          0}};
  Tree tree{.hash = value(open.back().state)};
  while (!open.empty()) {
    const Open node = open.back();
    open.pop_back();
    ++tree.size;
    tree.depth = std::max(tree.depth, node.depth);
    const bool inner = (value(node.state) & 0x7fffffff) / 0x1p31 < shape.probability;
    const std::int64_t children = node.depth == 0 ? shape.root_children
                                  : inner         ? shape.children
                                                  : 0;
    if (children == 0)
      ++tree.leaves;
    else if (node.depth == kMaxDepth)
      throw bench::BadInput(too_deep());
    for (std::uint32_t i = 0; i < children; ++i) {
      const State state = sha1_followed_by(node.state, i);
      open.push_back({state, node.depth + 1});
      State last = state;
      for (std::int64_t g = 1; g < shape.granularity; ++g) last = sha1_followed_by(last, i);
      tree.hash ^= value(last);
    }
  }
  return tree;
}

}  // namespace reference

struct Known {
  Shape shape;
  Tree tree;
};

// The sample trees of UTS as their authors published them, and the trees of our sizes smoke and
// quick. What was not published (tiny's depth and leaves, medium's, our own trees, all hashes) is
// Python's (hashlib), which the tests repeat on what is small; medium's are from another walk in
// C++.
const std::array kKnown{
    Known{{2000, .333332, 3, 8, 1}, {30'399'117, 6'974, 20'266'744, 2'438'936'524}},  // tiny
    Known{{2000, .200014, 5, 7, 1}, {111'345'631, 17'844, 89'076'904, 626'997'302}},  // small
    Known{{2000, .333344, 3, 23, 1}, {1'606'963'542, 79'868, 1'071'309'694}},  // medium: too deep
    Known{{2000, .124875, 8, 42, 1}, {4'112'897, 1'572, 3'599'034, 3'811'240'897}},  // test
    Known{{2000, .33, 3, 8, 1}, {210'522, 266, 141'014, 1'903'726'142}},
    Known{{200, .3, 3, 8, 1}, {2'076, 24, 1'450, 3'613'204'694}},
};

// The first line of a sample file of UTS: eight numbers, of which the last three say what comes out
// (1: not known).
Shape read(const std::string& text, Tree& stated) {
  bench::Numbers numbers(std::string_view(text).substr(0, text.find('\n')));
  const Shape shape{
      .root_children = numbers.integer("the root's number of children", 0, kMaxRootChildren),
      .probability = numbers.real("the probability", 0, 1),
      .children = numbers.integer("the number of children", 0, kMaxChildren),
      .root_seed = numbers.integer("the root's seed", 0, kMaxSeed),
      .granularity = numbers.integer("the granularity", 1, kMaxGranularity)};
  stated.size = static_cast<std::uint64_t>(numbers.integer("the size", 1, kMaxSize));
  stated.depth = static_cast<std::uint32_t>(numbers.integer("the depth", 0, kMaxSeed));
  stated.leaves = static_cast<std::uint64_t>(numbers.integer("the number of leaves", 1, kMaxSize));
  numbers.end();
  return shape;
}

std::string to_text(const Tree& tree) {
  return "size " + std::to_string(tree.size) + ", depth " + std::to_string(tree.depth) +
         ", leaves " + std::to_string(tree.leaves) + ", hash " + std::to_string(tree.hash);
}

class Uts final : public bench::Instance {
 public:
  explicit Uts(const bench::Arguments& arguments) {
    if (arguments.input()) {
      shape_ = read(*arguments.input(), stated_);
      if (stated_.depth > kMaxDepth) throw bench::BadInput(too_deep());
      return;
    }
    // Seed 1 is the published tree; the others shift its root's seed.
    const std::uint64_t root_seed =
        static_cast<std::uint64_t>(arguments["root_seed"]) + arguments.seed() - 1;
    shape_ = {.root_children = arguments["root_children"],
              .probability = static_cast<double>(arguments["probability_ppb"]) / 1e9,
              .children = arguments["children"],
              .root_seed = static_cast<std::int64_t>(root_seed & kMaxSeed),
              .granularity = arguments["granularity"]};
  }

  void prepare() override {
    const auto known = std::find_if(kKnown.begin(), kKnown.end(),
                                    [&](const Known& k) { return k.shape == shape_; });
    expected_ = known == kKnown.end() ? reference::walk(shape_) : known->tree;
    if (expected_.depth > kMaxDepth) throw bench::BadInput(too_deep());
    if ((stated_.size > 1 && stated_.size != expected_.size) ||
        (stated_.depth > 1 && stated_.depth != expected_.depth) ||
        (stated_.leaves > 1 && stated_.leaves != expected_.leaves)) {
      throw bench::BadInput(
          "input file, line 1: it states another tree than its parameters give, which has " +
          to_text(expected_));
    }
  }
  void clear() override { tree_ = {}; }
  void run(bench::Form form) override {
    const Search search{
        .threshold = static_cast<std::uint32_t>(std::ceil(shape_.probability * 0x1p31)),
        .children = static_cast<std::uint32_t>(shape_.children),
        .granularity = static_cast<std::uint32_t>(shape_.granularity)};
    const Digest state = root_state(static_cast<std::uint32_t>(shape_.root_seed));
    const Node root{.state = state,
                    .depth = 0,
                    .children = static_cast<std::uint32_t>(shape_.root_children),
                    .hash = state[4]};
    tree_ = form == bench::Form::futures ? count_futures(&search, &root)
                                         : count_fork_join(search, root);
  }
  bench::Check check() override {
    return {.ok = tree_ == expected_,
            .answer = to_text(tree_),
            .reason = "expected " + to_text(expected_),
            .tasks = expected_.size - 1};
  }

 private:
  Shape shape_{};
  Tree stated_;  // by the input file; at most 1 where it says nothing
  Tree expected_;
  Tree tree_;
};

}  // namespace

BENCH_PROGRAM(
        .name = "uts",
        .summary =
            "unbalanced tree search: nodes of a binomial tree whose shape is a chain of hashes",
        .structure = "recursive unbalanced", .granularity = "variable", .synchronisation = "none",
        .origin = "UNC",
        .parameters = {{.name = "root_children",
                        .meaning = "children of the root",
                        .min = 0,
                        .max = kMaxRootChildren,
                        .smoke = 200,
                        .quick = 1000,
                        .full = 2000},
                       {.name = "probability_ppb",
                        .meaning = "that another node has children, in parts of 10^9",
                        .min = 0,
                        .max = 1'000'000'000,
                        .smoke = 300'000'000,
                        .quick = 330'000'000,
                        .full = 333'332'000},
                       {.name = "children",
                        .meaning = "children of a node that has any",
                        .min = 0,
                        .max = kMaxChildren,
                        .smoke = 3,
                        .quick = 3,
                        .full = 3},
                       {.name = "root_seed",
                        .meaning = "hashed for the root; --seed N adds N - 1",
                        .min = 0,
                        .max = kMaxSeed,
                        .smoke = 8,
                        .quick = 8,
                        .full = 8},
                       {.name = "granularity",
                        .meaning = "hashes per node",
                        .min = 1,
                        .max = kMaxGranularity,
                        .smoke = 1,
                        .quick = 1,
                        .full = 1}},
        .input =
            "a parameter file of UTS as in INNCABS: children of the root, probability, children, "
            "root seed, granularity; then size, depth and leaves of the tree (1: not known)",
        .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<Uts>(arguments);
        })

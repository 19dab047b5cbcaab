// Reduces an interaction net (Lafont 1990) that multiplies two unary numbers n. Every pair of cells
// that face each other with their principal ports reacts in a task of its own, which locks the two
// to see their neighbours, then all of them to rewire. Why that is right: intersim.md.
// This file is long because it has the rules of the net beside the locking and the task forms.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "bench.hpp"
#include "small_vector.hpp"

namespace {

enum class Symbol : std::uint8_t { zero, succ, add, mul, duplicator, eraser, end };

struct Cell;

// One end of a link: port 0 is the principal port of its cell, 1 and 2 are the auxiliary ones.
struct Port {
  Cell* cell = nullptr;
  std::size_t index = 0;
  bool operator==(const Port&) const = default;
};

// links[i] is the other end of the link at port i.
struct alignas(64) Cell {
  bench::mutex mutex;
  Symbol symbol{};
  std::array<Port, 3> links;

  Port port(std::size_t index) { return {this, index}; }
  bool is_number() const { return symbol == Symbol::zero || symbol == Symbol::succ; }
  std::size_t ports() const {
    switch (symbol) {
      case Symbol::succ:
        return 2;
      case Symbol::add:
      case Symbol::mul:
      case Symbol::duplicator:
        return 3;
      default:
        return 1;
    }
  }
};

// Two cells whose principal ports are linked.
struct Pair {
  Cell* number;
  Cell* reader;
};

class NewPairs {
 public:
  void add(Pair pair) { pairs_.at(size_++) = pair; }
  std::size_t size() const { return size_; }
  const Pair& operator[](std::size_t i) const { return pairs_[i]; }

 private:
  std::array<Pair, 3> pairs_;  // no rule links more than three principal ports to old cells
  std::size_t size_ = 0;
};

// What the auxiliary ports of a pair are linked to; a number and a reader have at most three.
using Neighbours = std::array<Port, 3>;

Neighbours neighbours(const Pair& pair) {
  Neighbours result;
  std::size_t count = 0;
  for (const Cell* cell : {pair.number, pair.reader}) {
    for (std::size_t i = 1; i < cell->ports(); ++i) result.at(count++) = cell->links[i];
  }
  return result;
}

// Holds the mutexes of a pair and of its neighbours, or of the pair alone.
class Locked {
 public:
  explicit Locked(const Pair& pair, const Neighbours& others = {})
      : cells_{pair.number, pair.reader} {
    for (const Port& other : others) {
      if (other.cell == nullptr) continue;
      if (std::find(cells_.begin(), cells_.end(), other.cell) != cells_.end()) {
        throw std::logic_error("two links of a pair lead to the same cell");
      }
      cells_.at(size_++) = other.cell;
    }
    const auto& [a, b, c, d, e] = cells_;
    if (size_ == 2) bench::lock(a->mutex, b->mutex);
    if (size_ == 3) bench::lock(a->mutex, b->mutex, c->mutex);
    if (size_ == 4) bench::lock(a->mutex, b->mutex, c->mutex, d->mutex);
    if (size_ == 5) bench::lock(a->mutex, b->mutex, c->mutex, d->mutex, e->mutex);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() {
    for (std::size_t i = 0; i < size_; ++i) cells_[i]->mutex.unlock();
  }

 private:
  std::array<Cell*, 5> cells_;
  std::size_t size_ = 2;
};

// Gives way to whoever changed the net meanwhile, longer each time.
void back_off(unsigned attempt) {
  for (unsigned i = 1; i < 1u << std::min(attempt, 6u); ++i) std::this_thread::yield();
}

class Net {
 public:
  // The multiplication n * n, its result linked to the end cell. Precondition: n >= 1.
  explicit Net(std::int64_t n)
      : size_(static_cast<std::size_t>(n * n + 5 * n + 5)),
        cells_(std::make_unique<Cell[]>(size_)) {
    Cell* const mul = make(Symbol::mul);
    start_ = {number(n), mul};
    end_ = make(Symbol::end);
    NewPairs none;
    link(start_.number->port(0), mul->port(0), none);
    link(mul->port(1), end_->port(0), none);
    link(mul->port(2), number(n)->port(0), none);
  }

  Pair start() const { return start_; }

  // The steps of intersim.md.
  NewPairs react(const Pair& pair) {
    for (unsigned attempt = 0;; ++attempt) {
      back_off(attempt);
      const Neighbours seen = look(pair);
      const Locked all(pair, seen);
      if (neighbours(pair) == seen) return rewire(pair);
    }
  }

  // The number linked to the end cell. Throws std::runtime_error when the net is not just that, or
  // not all cells were made. Precondition: no task is running.
  std::int64_t result() const {
    if (next_ != size_)
      throw std::runtime_error("made " + std::to_string(next_) + " cells instead of " +
                               std::to_string(size_));
    std::int64_t successors = 0;
    Port here = {end_, 0};
    for (;; ++successors) {
      const Port there = here.cell->links[here.index];
      if (there.cell == nullptr || there.index != 0 || there.cell->links[0] != here ||
          !there.cell->is_number()) {
        throw std::runtime_error("no number is linked to the end cell, at successor " +
                                 std::to_string(successors));
      }
      if (there.cell->symbol == Symbol::zero) return successors;
      if (static_cast<std::size_t>(successors) == size_)
        throw std::runtime_error("the result is a ring");
      here = there.cell->port(1);
    }
  }

 private:
  Cell* make(Symbol symbol) {
    const std::size_t place = next_.fetch_add(1);
    if (place >= size_) throw std::logic_error("more cells than the rules can make");
    Cell& cell = cells_[place];
    cell.symbol = symbol;
    return &cell;
  }

  Cell* number(std::int64_t n) {
    NewPairs none;
    Cell* result = make(Symbol::zero);
    for (std::int64_t i = 0; i < n; ++i) {
      Cell* const successor = make(Symbol::succ);
      link(successor->port(1), result->port(0), none);
      result = successor;
    }
    return result;
  }

  static Neighbours look(const Pair& pair) {
    const Locked both(pair);
    return neighbours(pair);
  }

  // Precondition: the cells of both ports are locked, or new.
  static void link(Port p, Port q, NewPairs& pairs) {
    p.cell->links[p.index] = q;
    q.cell->links[q.index] = p;
    if (p.index != 0 || q.index != 0) return;
    if (p.cell->is_number())
      pairs.add({p.cell, q.cell});
    else
      pairs.add({q.cell, p.cell});
  }

  // Precondition: the pair and all its neighbours are locked. What is not linked again has
  // vanished.
  NewPairs rewire(const Pair& pair) {
    NewPairs pairs;
    Cell* const s = pair.number;
    Cell* const r = pair.reader;
    const Port s1 = s->links[1];
    const Port r1 = r->links[1];
    const Port r2 = r->links[2];
    const bool zero = s->symbol == Symbol::zero;
    switch (r->symbol) {
      case Symbol::add:
        if (zero) {
          link(r1, r2, pairs);
        } else {
          link(r->port(0), s1, pairs);
          link(s->port(0), r1, pairs);
          link(s->port(1), r->port(1), pairs);
        }
        break;
      case Symbol::mul:
        if (zero) {
          link(s->port(0), r1, pairs);
          link(make(Symbol::eraser)->port(0), r2, pairs);
        } else {
          Cell* const sum = make(Symbol::add);
          Cell* const copy = make(Symbol::duplicator);
          link(r->port(0), s1, pairs);
          link(r->port(1), sum->port(0), pairs);
          link(r->port(2), copy->port(1), pairs);
          link(sum->port(1), r1, pairs);
          link(sum->port(2), copy->port(2), pairs);
          link(copy->port(0), r2, pairs);
        }
        break;
      case Symbol::duplicator:
        if (zero) {
          link(s->port(0), r1, pairs);
          link(make(Symbol::zero)->port(0), r2, pairs);
        } else {
          Cell* const twin = make(Symbol::succ);
          link(r->port(0), s1, pairs);
          link(r->port(1), twin->port(1), pairs);
          link(r->port(2), s->port(1), pairs);
          link(twin->port(0), r2, pairs);
          link(s->port(0), r1, pairs);
        }
        break;
      case Symbol::eraser:
        if (!zero) link(r->port(0), s1, pairs);
        break;
      default:;  // the result has come to the end cell, where it stays
    }
    return pairs;
  }

  const std::size_t size_;
  std::unique_ptr<Cell[]> cells_;
  std::atomic<std::size_t> next_ = 0;
  Pair start_{};
  Cell* end_ = nullptr;
};

struct Counts {
  std::int64_t pairs = 0;
  std::uint64_t tasks = 0;
};

// Returns the number of pairs: each is a task.
std::int64_t reduce_futures(Net* net, Pair pair) {
  const NewPairs pairs = net->react(pair);
  bench::small_vector<bench::handle<decltype(reduce_futures)*, Net*, Pair>, 3> handles(3);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    handles.emplace_from([&] { return bench::async(reduce_futures, net, pairs[i]); });
  }
  std::int64_t count = 1;
  for (auto& handle : handles) count += handle.get();
  return count;
}

// A single new pair needs no task of its own, so only forks nest.
Counts reduce_fork_join(Net& net, Pair pair) {
  for (Counts counts{.pairs = 1, .tasks = 0};; ++counts.pairs) {
    const NewPairs pairs = net.react(pair);
    std::array<Counts, 3> below;
    const auto branch = [&](std::size_t i) {
      return [&, i] { below[i] = reduce_fork_join(net, pairs[i]); };
    };
    switch (pairs.size()) {
      case 0:
        return counts;
      case 1:
        pair = pairs[0];
        continue;
      case 2:
        bench::fork_join(branch(0), branch(1));
        break;
      default:
        bench::fork_join(branch(0), branch(1), branch(2));
    }
    counts.tasks += pairs.size();
    for (const Counts& branch_counts : below) {
      counts.pairs += branch_counts.pairs;
      counts.tasks += branch_counts.tasks;
    }
    return counts;
  }
}

class Intersim final : public bench::Instance {
 public:
  explicit Intersim(const bench::Arguments& arguments) : n_(arguments["n"]) {}

  void clear() override {
    net_ = std::make_unique<Net>(n_);
    counts_ = {};
  }
  void run(bench::Form form) override {
    if (form == bench::Form::futures) {
      const std::int64_t pairs = bench::async(reduce_futures, net_.get(), net_->start()).get();
      counts_ = {.pairs = pairs, .tasks = static_cast<std::uint64_t>(pairs)};
    } else {
      counts_ = reduce_fork_join(*net_, net_->start());
    }
  }
  bench::Check check() override {
    // Every rule's reactions, counted by hand for n >= 1, and the pair of the result and the end.
    // n = 50 gives INNCABS' 63,953.
    const std::int64_t pairs = n_ * n_ * (n_ + 1) / 2 + 4 * n_ + 3;
    bench::Check check;
    check.tasks = counts_.tasks;
    try {
      const std::int64_t product = net_->result();
      check.answer = std::to_string(product) + " after " + std::to_string(counts_.pairs) + " pairs";
      check.ok = product == n_ * n_ && counts_.pairs == pairs;
      check.reason = "expected " + std::to_string(n_ * n_) + " after " + std::to_string(pairs);
    } catch (const std::runtime_error& error) {
      check.reason = error.what();
    }
    return check;
  }

 private:
  std::int64_t n_;
  std::unique_ptr<Net> net_;
  Counts counts_;
};

}  // namespace

BENCH_PROGRAM(
        .name = "intersim",
        .summary = "interaction net that multiplies unary numbers: reactions that share cells",
        .structure = "co-dependent", .granularity = "fine",
        .synchronisation = "multiple mutexes per task", .origin = "New",
        // The futures form waits n^2 + n + 1 levels deep: 22,651 for 150, at 4 KiB each what the
        // stack holds.
        .parameters = {{.name = "n",
                        .meaning = "the number that is multiplied by itself",
                        .min = 1,
                        .max = 150,
                        .smoke = 10,
                        .quick = 50,
                        .full = 50}},
        .locks = true, .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<Intersim>(arguments);
        })

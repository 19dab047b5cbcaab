// Dining philosophers after Hinnant: a round table, each philosopher a task that locks two forks,
// eats, and lays them down until it has eaten enough. Eating is a fixed number of operations, not a
// time, so a holder that is preempted makes no progress and every run does the same: kOperations
// per published millisecond (about 1 ms at 3 GHz) at size full.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench.hpp"
#include "random.hpp"

namespace {

constexpr std::int64_t kOperations = 500'000;

// One operation: Marsaglia's xorshift64 (13, 7, 17). Each needs the result of the one before, and
// nothing is saved by doing many at once.
std::uint64_t eat(std::uint64_t taste, std::int64_t operations) {
  for (std::int64_t i = 0; i < operations; ++i) {
    taste ^= taste << 13;
    taste ^= taste >> 7;
    taste ^= taste << 17;
  }
  return taste;
}

// The same for many operations without doing them, for the check: an operation is linear over the
// field of two elements, so it is a matrix of 64 x 64 bits, and a power of it is found by repeated
// squaring.
class Matrix {
 public:
  static Matrix of_operations(std::int64_t operations) {
    Matrix result;
    Matrix power;
    for (std::size_t i = 0; i < 64; ++i) {
      result.columns_[i] = std::uint64_t{1} << i;
      // A shift of a word is a bit at another place; the measured operation is not asked.
      power.columns_[i] = shifted(shifted(shifted(result.columns_[i], 13), -7), 17);
    }
    for (; operations > 0; operations /= 2) {
      if (operations % 2 != 0) result = result * power;
      power = power * power;
    }
    return result;
  }

  std::uint64_t operator*(std::uint64_t vector) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < 64; ++i) sum ^= (vector >> i & 1) * columns_[i];
    return sum;
  }
  Matrix operator*(const Matrix& other) const {
    Matrix product;
    for (std::size_t i = 0; i < 64; ++i) product.columns_[i] = *this * other.columns_[i];
    return product;
  }

 private:
  // The sum of a word and itself moved `by` places towards the upper end, bit by bit.
  static std::uint64_t shifted(std::uint64_t word, int by) {
    std::uint64_t sum = word;
    for (int from = 0; from < 64; ++from) {
      const int to = from + by;
      if (to >= 0 && to < 64) sum ^= (word >> from & 1) << to;
    }
    return sum;
  }

  std::array<std::uint64_t, 64>
      columns_{};  // column i is what becomes of a word whose only bit is i
};

// What a fork has been used for. It has no protection but the mutex, and is read before a meal and
// written after it, so two meals with one fork at the same time lose an update.
struct Use {
  std::int64_t meals = 0;
  std::int64_t operations = 0;
};

struct alignas(64) Fork {
  bench::mutex mutex;
  Use use;
};

struct Eaten {
  std::int64_t meals = 0;
  std::uint64_t taste = 0;
};

struct Philosopher {
  Fork* left;
  Fork* right;
  std::uint64_t seed;
  std::int64_t milliseconds;  // the published measure of how much to eat
  std::int64_t operations_per_ms;

  std::uint64_t first_taste() const { return seed | 1; }  // from 0 xorshift would stay at 0

  Eaten dine() const {
    bench::Random random(seed);
    Eaten eaten{.meals = 0, .taste = first_taste()};
    for (std::int64_t hunger = milliseconds; hunger > 0; ++eaten.meals) {
      const bool left_first = random.below(2) == 0;
      Fork& first = left_first ? *left : *right;
      Fork& second = left_first ? *right : *left;
      const std::int64_t portion = std::min<std::int64_t>(1 + random.below(10), hunger);
      hunger -= portion;
      const std::int64_t operations = portion * operations_per_ms;
      bench::lock(first.mutex, second.mutex);
      const std::lock_guard first_held(first.mutex, std::adopt_lock);
      const std::lock_guard second_held(second.mutex, std::adopt_lock);
      const Use first_before = first.use;
      const Use second_before = second.use;
      eaten.taste = eat(eaten.taste, operations);
      first.use = {first_before.meals + 1, first_before.operations + operations};
      second.use = {second_before.meals + 1, second_before.operations + operations};
    }
    return eaten;
  }
};

Eaten dine(const Philosopher* philosopher) { return philosopher->dine(); }

class Round final : public bench::Instance {
 public:
  explicit Round(const bench::Arguments& arguments)
      : milliseconds_(arguments["milliseconds"]),
        operations_(milliseconds_ * arguments["operations_per_ms"]),
        forks_(std::make_unique<Fork[]>(static_cast<std::size_t>(arguments["philosophers"]))) {
    const auto count = static_cast<std::size_t>(arguments["philosophers"]);
    bench::Random seeds(arguments.seed());
    for (std::size_t i = 0; i < count; ++i) {
      philosophers_.push_back({.left = &forks_[i],
                               .right = &forks_[(i + 1) % count],
                               .seed = seeds.next(),
                               .milliseconds = milliseconds_,
                               .operations_per_ms = arguments["operations_per_ms"]});
    }
  }

  void clear() override {
    for (std::size_t i = 0; i < philosophers_.size(); ++i) forks_[i].use = {};
    eaten_.assign(philosophers_.size(), {});
  }
  void run(bench::Form form) override {
    const std::size_t count = philosophers_.size();
    if (form == bench::Form::fork_join) {
      bench::scope scope;
      for (std::size_t i = 0; i < count; ++i)
        scope.spawn([this, i] { eaten_[i] = philosophers_[i].dine(); });
      scope.wait();
      return;
    }
    std::vector<bench::handle<decltype(dine)*, const Philosopher*>> handles;
    handles.reserve(count);
    for (const Philosopher& philosopher : philosophers_)
      handles.push_back(bench::async(dine, &philosopher));
    for (std::size_t i = 0; i < count; ++i) eaten_[i] = handles[i].get();
  }
  bench::Check check() override {
    bench::Check check;
    check.tasks = philosophers_.size();
    const Matrix all = Matrix::of_operations(operations_);
    std::int64_t meals = 0;
    std::int64_t meals_of_forks = 0;
    check.ok = true;
    for (std::size_t i = 0; i < philosophers_.size() && check.ok; ++i) {
      meals += eaten_[i].meals;
      meals_of_forks += forks_[i].use.meals;
      if (eaten_[i].taste != all * philosophers_[i].first_taste()) {
        check.ok = false;
        check.reason = "philosopher " + std::to_string(i) + " did not do " +
                       std::to_string(operations_) + " operations";
      } else if (forks_[i].use.operations != 2 * operations_) {
        check.ok = false;
        check.reason = "fork " + std::to_string(i) + " was held for " +
                       std::to_string(forks_[i].use.operations) + " operations, not for " +
                       std::to_string(2 * operations_);
      }
    }
    if (check.ok && meals_of_forks != 2 * meals) {
      check.ok = false;
      check.reason =
          "the forks count " + std::to_string(meals_of_forks) + " uses, not two per meal";
    }
    check.answer = std::to_string(meals) + " meals";
    return check;
  }

 private:
  std::int64_t milliseconds_;
  std::int64_t operations_;  // that each philosopher does
  std::unique_ptr<Fork[]> forks_;
  std::vector<Philosopher> philosophers_;
  std::vector<Eaten> eaten_;
};

}  // namespace

BENCH_PROGRAM(
        .name = "round",
        .summary =
            "dining philosophers: each locks two of the mutexes that it shares with its neighbours",
        .structure = "co-dependent", .granularity = "fine",
        .synchronisation = "two mutexes per task", .origin = "Hinnant",
        .parameters = {{.name = "philosophers",
                        .meaning = "tasks and forks",
                        .min = 2,
                        .max = 100'000,
                        .smoke = 16,
                        .quick = 64,
                        .full = 512},
                       {.name = "milliseconds",
                        .meaning = "how much each eats; a meal is 1 to 10",
                        .min = 1,
                        .max = 100'000,
                        .smoke = 10,
                        .quick = 10,
                        .full = 10},
                       {.name = "operations_per_ms",
                        .meaning = "operations that stand for one of these milliseconds",
                        .min = 1,
                        .max = 10'000'000,
                        .smoke = 5'000,
                        .quick = 20'000,
                        .full = kOperations}},
        .locks = true, .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<Round>(arguments);
        })

// Each contender wakes its own partner and waits for the partner's wake: the pairs are independent.
// A partner runs on the processor of its contender if contenders are pinned.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>

#include "contention.hpp"

namespace {

// A turn goes from the contender (even) to its partner (odd) and back.
template <class Condition>
struct alignas(bench::cache_line) Table {
  std::mutex mutex;
  Condition changed;
};

// What waits for a turn that is its own, and gives it away.
template <class Condition>
struct Seat {
  explicit Seat(Table<Condition>& own) : table(own) {}
  void pass_on() {
    {
      const std::lock_guard lock(table.mutex);
      ++turn;
    }
    table.changed.notify_all();
  }
  void wait_for(std::uint64_t parity) {
    std::unique_lock lock(table.mutex);
    table.changed.wait(lock, [&] { return turn % 2 == parity; });
  }
  Table<Condition>& table;
  std::uint64_t turn = 0;
};

struct AtomicSeat {
  void pass_on() {
    turn.fetch_add(1);
    turn.notify_all();
  }
  void wait_for(std::uint64_t parity) {
    for (std::uint64_t seen = turn.load(); seen % 2 != parity; seen = turn.load()) turn.wait(seen);
  }
  alignas(bench::cache_line) std::atomic<std::uint64_t> turn{0};
};

struct SemaphoreSeat {
  void pass_on() { (turn++ % 2 == 0 ? odd : even).release(); }
  void wait_for(std::uint64_t parity) { (parity == 0 ? even : odd).acquire(); }
  alignas(bench::cache_line) std::binary_semaphore even{0}, odd{0};
  std::uint64_t turn = 0;  // only who has the turn looks at it
};

// A contender with its partner. Seat: pass_on() and wait_for(parity).
template <class AnySeat>
class Pair {
 public:
  template <class... A>
  explicit Pair(A&... seat) : seat_(seat...), partner_([this] { serve(); }) {}
  ~Pair() {
    over_ = true;
    seat_.pass_on();
    partner_.join();
  }
  Pair(const Pair&) = delete;
  void run(std::uint64_t n) {
    for (; n != 0; --n) {
      ball_ = 2 * ball_ + 1;
      seat_.pass_on();
      seat_.wait_for(0);
      ++returned_;
    }
  }
  std::string check(std::uint64_t n) const {
    if (returned_ != n || served_ != n) return "another number of turns was played";
    return ball_ == 0 ? "" : "the partner has left the ball as it was";
  }

 private:
  void serve() {
    for (;;) {
      seat_.wait_for(1);
      if (over_) return;
      ball_ = ball_ == 1 ? 0 : ball_;
      ++served_;
      seat_.pass_on();
    }
  }
  AnySeat seat_;
  // Touched by who has the turn.
  bool over_ = false;
  std::uint64_t ball_ = 0, returned_ = 0, served_ = 0;
  std::thread partner_;  // last: it uses all of the above
};

template <class Condition>
struct own_condition {
  explicit own_condition(unsigned) {}
  struct contender : Table<Condition>, Pair<Seat<Condition>> {
    contender(own_condition&, unsigned)
        : Pair<Seat<Condition>>(static_cast<Table<Condition>&>(*this)) {}
  };
};

template <class AnySeat>
struct own_seat {
  explicit own_seat(unsigned) {}
  struct contender : Pair<AnySeat> {
    contender(own_seat&, unsigned) {}
  };
};

struct one_for_all {
  explicit one_for_all(unsigned) {}
  struct contender : Pair<Seat<std::condition_variable>> {
    contender(one_for_all& all, unsigned) : Pair(all.table) {}
  };
  Table<std::condition_variable> table;
};

// Notifies where nobody waits, and waits for what has happened already.
template <class Condition>
struct nobody {
  explicit nobody(unsigned) {}
  struct contender {
    contender(nobody&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        {
          const std::lock_guard lock(table.mutex);
          ready = true;
        }
        table.changed.notify_one();
        std::unique_lock lock(table.mutex);
        table.changed.wait(lock, [this] { return bench::opaque(ready); });
        ready = false;
        ++seen;
      }
    }
    std::string check(std::uint64_t n) const {
      return seen == n && !ready ? "" : "a wait ended without its condition";
    }
    Table<Condition> table;
    bool ready = false;
    std::uint64_t seen = 0;
  };
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "condition_ping",
        .summary = "pairs of threads that wake each other, each pair for itself",
        .operation = "wake the partner and wait until it has woken us",
        .origin = "Threadmark; the herd of a shared condition: Stevens, UNIX Network Programming",
        .ways = {
            bench::usual<one_for_all>("one_for_all",
                                      "one mutex and one condition_variable for all pairs"),
            bench::remedy<own_condition<std::condition_variable>>(
                "own", "a mutex and a condition_variable for each pair"),
            bench::usual<own_condition<std::condition_variable_any>>(
                "own_any", "a condition_variable_any for each pair"),
            bench::usual<own_seat<AtomicSeat>>("own_atomic",
                                               "wait and notify of an atomic for each pair"),
            bench::usual<own_seat<SemaphoreSeat>>("own_semaphore",
                                                  "two binary_semaphore for each pair"),
            bench::usual<nobody<std::condition_variable>>(
                "nobody", "own condition_variable: notify nobody, wait for what is true"),
            bench::usual<nobody<std::condition_variable_any>>("nobody_any",
                                                              "the same, condition_variable_any"),
        })

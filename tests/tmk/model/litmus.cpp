// Litmus tests: the explorer must find every outcome that C++20 allows (model.md has the exception)
// and no other. Values are read as digits: 10 is "the first load saw 1, the second 0".
#include "standard.hpp"
#include "tmk/detail/futex.hpp"
//
#include "scenario.hpp"

namespace model {
namespace {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
using Word32 = std::atomic<int>;

struct Words {
  Word32 x{0}, y{0}, z{0};
  int plain = 0;
};

void wait_for_all() { require(settle() == 0, "somebody sleeps"); }

template <class A, class B>
void two(A a, B b) {
  spawn(a);
  spawn(b);
  wait_for_all();
}

auto store_buffering(std::memory_order write, std::memory_order read, auto first, auto second) {
  return [=] {
    Words w;
    int a = 0, b = 0;
    two(
        [&, first] {
          w.x.store(1, write);
          first();
          a = w.y.load(read);
        },
        [&, second] {
          w.y.store(1, write);
          second();
          b = w.x.load(read);
        });
    observe(10 * a + b);
  };
}
void nothing() {}
void light() { light_fence(); }
void heavy() { heavy_fence(); }
void full() { full_fence(); }

auto message_passing(std::memory_order write, std::memory_order read) {
  return [=] {
    Words w;
    two(
        [&] {
          w.x.store(1, memory_order_relaxed);
          w.y.store(1, write);
        },
        [&] {
          const int flag = w.y.load(read);
          observe(10 * flag + w.x.load(memory_order_relaxed));
        });
  };
}

auto independent_reads(std::memory_order order, bool fences) {
  return [=] {
    Words w;
    int a = 0, b = 0;
    const auto reader = [&](Word32& first, Word32& second, int& seen) {
      const int one = first.load(order);
      if (fences) full_fence();
      seen = 10 * one + second.load(order);
    };
    spawn([&] { w.x.store(1, order == memory_order_acquire ? memory_order_release : order); });
    spawn([&] { w.y.store(1, order == memory_order_acquire ? memory_order_release : order); });
    spawn([&] { reader(w.x, w.y, a); });
    spawn([&] { reader(w.y, w.x, b); });
    wait_for_all();
    observe(a == 10 && b == 10);
  };
}

// A chain of three: the first writes data, the second adds to or overwrites the flag.
auto release_sequence(bool by_change) {
  return [=] {
    Words w;
    spawn([&] {
      w.plain = 1;
      w.x.store(1, memory_order_release);
    });
    spawn([&] {
      if (w.x.load(memory_order_relaxed) == 0) return;
      if (by_change) {
        w.x.fetch_add(1, memory_order_relaxed);
      } else {
        w.x.store(2, memory_order_relaxed);
      }
    });
    spawn([&] {
      if (w.x.load(memory_order_acquire) == 2) observe(w.plain);
    });
    wait_for_all();
  };
}

// Sleeps until x is 1. The right waker writes before it wakes.
auto sleeper(bool right) {
  return [=] {
    struct {
      std::atomic<std::uint32_t> x{0};
    } w;
    spawn([&] {
      while (w.x.load(memory_order_acquire) == 0) tmk::detail::futex_wait_until(w.x, 0, nullptr);
    });
    spawn([&] {
      if (!right) tmk::detail::futex_wake(w.x, 1);
      w.x.store(1, memory_order_release);
      if (right) tmk::detail::futex_wake(w.x, 1);
    });
    observe(settle() == 0 ? 1 : 0);
  };
}

// Two threads wait for a lock and one tries it. Each adds its digit, which gives their order.
std::function<void()> lock_of_three(bool one_step) {
  return [=] {
    Words w;
    const auto leave = [&](int digit) {
      w.plain = 10 * w.plain + digit;
      w.x.store(0, memory_order_release);
    };
    for (const int digit : {1, 2}) {
      spawn([&, digit] {
        if (one_step) when_zero(&w.x);
        while (w.x.load(memory_order_relaxed) != 0 || w.x.exchange(1, memory_order_acquire) != 0) {
          sched_yield();
        }
        leave(digit);
      });
    }
    spawn([&] {
      if (w.x.load(memory_order_relaxed) == 0 && w.x.exchange(1, memory_order_acquire) == 0) {
        leave(3);
      }
    });
    wait_for_all();
    observe(w.plain);
  };
}
const std::set<int> kLockOfThree{12, 21, 123, 132, 213, 231, 312, 321};

}  // namespace

std::vector<Litmus> litmus_tests() {
  return {
      {"store buffering, relaxed",
       store_buffering(memory_order_relaxed, memory_order_relaxed, nothing, nothing),
       {0, 1, 10, 11}},
      {"store buffering, acquire and release",
       store_buffering(memory_order_release, memory_order_acquire, nothing, nothing),
       {0, 1, 10, 11}},
      {"store buffering, seq_cst",
       store_buffering(memory_order_seq_cst, memory_order_seq_cst, nothing, nothing),
       {1, 10, 11}},
      {"store buffering, fences",
       store_buffering(memory_order_relaxed, memory_order_relaxed, full, full),
       {1, 10, 11}},
      {"store buffering, one fence",
       store_buffering(memory_order_relaxed, memory_order_relaxed, full, nothing),
       {0, 1, 10, 11}},
      {"store buffering, a light and a heavy fence",
       store_buffering(memory_order_relaxed, memory_order_relaxed, light, heavy),
       {1, 10, 11}},
      {"store buffering, light fences",
       store_buffering(memory_order_relaxed, memory_order_relaxed, light, light),
       {0, 1, 10, 11}},
      {"store buffering, heavy fences",
       store_buffering(memory_order_relaxed, memory_order_relaxed, heavy, heavy),
       {1, 10, 11}},
      {"store buffering, a heavy fence and none",
       store_buffering(memory_order_relaxed, memory_order_relaxed, nothing, heavy),
       {0, 1, 10, 11}},
      {"store buffering, a light and a full fence",
       store_buffering(memory_order_relaxed, memory_order_relaxed, light, full),
       {0, 1, 10, 11}},
      {"message passing, relaxed",
       message_passing(memory_order_relaxed, memory_order_relaxed),
       {0, 1, 10, 11}},
      {"message passing, only release",
       message_passing(memory_order_release, memory_order_relaxed),
       {0, 1, 10, 11}},
      {"message passing, only acquire",
       message_passing(memory_order_relaxed, memory_order_acquire),
       {0, 1, 10, 11}},
      {"message passing", message_passing(memory_order_release, memory_order_acquire), {0, 1, 11}},
      {"message passing with fences for relaxed words",
       [] {
         Words w;
         two(
             [&] {
               w.x.store(1, memory_order_relaxed);
               full_fence();
               w.y.store(1, memory_order_relaxed);
             },
             [&] {
               const int flag = w.y.load(memory_order_relaxed);
               full_fence();
               observe(10 * flag + w.x.load(memory_order_relaxed));
             });
       },
       {0, 1, 11}},
      {"message passing with light fences",
       [] {
         Words w;
         two(
             [&] {
               w.x.store(1, memory_order_relaxed);
               light_fence();
               w.y.store(1, memory_order_relaxed);
             },
             [&] {
               const int flag = w.y.load(memory_order_relaxed);
               light_fence();
               observe(10 * flag + w.x.load(memory_order_relaxed));
             });
       },
       {0, 1, 10, 11}},
      {"two loads of one word never go back",
       [] {
         Words w;
         two([&] { w.x.store(1, memory_order_relaxed); },
             [&] {
               const int first = w.x.load(memory_order_relaxed);
               observe(10 * first + w.x.load(memory_order_relaxed));
             });
       },
       {0, 1, 11}},
      {"a load that happens after another does not see less",
       [] {
         Words w;
         spawn([&] { w.x.store(1, memory_order_relaxed); });
         spawn([&] {
           if (w.x.load(memory_order_relaxed) == 1) w.y.store(1, memory_order_release);
         });
         spawn([&] {
           if (w.y.load(memory_order_acquire) == 1) observe(w.x.load(memory_order_relaxed));
         });
         wait_for_all();
       },
       {1}},
      {"independent reads, acquire", independent_reads(memory_order_acquire, false), {0, 1}},
      {"independent reads, seq_cst", independent_reads(memory_order_seq_cst, false), {0}},
      {"independent reads, fences", independent_reads(memory_order_relaxed, true), {0}},
      {"changes of one word are one after the other",
       [] {
         Words w;
         const auto add = [&] { observe(w.x.fetch_add(1, memory_order_relaxed)); };
         spawn(add);
         spawn(add);
         spawn(add);
         wait_for_all();
         require(w.x.load() == 3, "all are counted");
       },
       {0, 1, 2}},
      {"a failed compare-exchange may read what is old",
       [] {
         Words w;
         two(
             [&] {
               w.x.store(1, memory_order_relaxed);
               w.y.store(1, memory_order_relaxed);
             },
             [&] {
               if (w.y.load(memory_order_relaxed) == 0) return;
               int expected = 7;
               w.x.compare_exchange_strong(expected, 9, memory_order_relaxed);
               observe(expected);
             });
       },
       {0, 1}},
      {"a release sequence goes on through a change", release_sequence(true), {1}},
      {"a release sequence ends with another's store", release_sequence(false), {}, "data race"},
      {"a plain access that is not ordered is a race",
       [] {
         Words w;
         two([&] { w.plain = 1; }, [&] { w.plain = 2; });
       },
       {},
       "plain write"},
      {"a plain access after a relaxed flag is a race",
       [] {
         Words w;
         two(
             [&] {
               w.plain = 1;
               w.x.store(1, memory_order_relaxed);
             },
             [&] {
               if (w.x.load(memory_order_relaxed) == 1) observe(w.plain);
             });
       },
       {},
       "data race"},
      {"a plain access in a critical section is none",
       [] {
         Words w;
         const auto enter = [&] {
           while (w.x.exchange(1, memory_order_acquire) == 1) sched_yield();
           observe(++w.plain);
           w.x.store(0, memory_order_release);
         };
         two(enter, enter);
       },
       {1, 2}},
      {"a lock that is spun for, and one that is tried", lock_of_three(false), kLockOfThree},
      {"the same where waiting for it is one step", lock_of_three(true), kLockOfThree},
      {"a lock that nobody gives back is found, where waiting for it is one step",
       [] {
         Words w;
         const auto enter = [&] {
           when_zero(&w.x);
           w.x.exchange(1, memory_order_acquire);
         };
         two(enter, enter);
       },
       {},
       "somebody sleeps"},
      {"waiting for a bit brings what its release has",
       [] {
         Words w;
         two(
             [&] {
               w.plain = 5;
               w.x.fetch_or(2, memory_order_release);
               w.x.fetch_or(1, memory_order_relaxed);
             },
             [&] {
               w.x.fetch_or(4, memory_order_relaxed);
               when_set(&w.x, 3);
               observe(w.x.load(memory_order_acquire) & 3);
               observe(w.plain);
             });
       },
       {2, 3, 5}},
      {"waiting for a bit brings no more than its order does",
       [] {
         Words w;
         two(
             [&] {
               w.plain = 5;
               w.x.store(1, memory_order_release);
             },
             [&] {
               when_set(&w.x, 1);
               if (w.x.load(memory_order_relaxed) == 1) observe(w.plain);
             });
       },
       {},
       "data race"},
      {"freed memory is not to be used",
       [] {
         Words w;
         auto* const word = new Word32(0);
         two([&] { w.x.store(word->load(memory_order_relaxed)); }, [=] { delete word; });
       },
       {},
       "freed|plain write races"},
      {"an object is not to be used before it is known to be there",
       [] {
         Words w;
         std::atomic<Word32*> shared{nullptr};
         two([&] { shared.store(new Word32(1), memory_order_relaxed); },
             [&] {
               if (Word32* const word = shared.load(memory_order_relaxed)) word->load();
             });
       },
       {},
       "data race"},
      {"who waits on a futex is woken", sleeper(true), {1}},
      {"a wake before the write is lost", sleeper(false), {0, 1}},
      {"a loop that nobody ends is found",
       [] {
         Words w;
         spawn([&] {
           while (w.x.load(memory_order_relaxed) == 0) sched_yield();
         });
         wait_for_all();
       },
       {},
       "does not end"},
  };
}

}  // namespace model

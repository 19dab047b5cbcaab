// Many threads at few mutexes: no two are inside together, no thread is left behind, and neither
// the order of other locks nor the later use of a mutex matters. A hang is a time-out.
#include <tmk/mutex.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;

void run_threads(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& each : threads) each.join();
}

// Lets a holder keep a mutex for long enough that others begin to sleep.
void linger(std::chrono::microseconds time) { std::this_thread::sleep_for(time); }

TEST(MutexStress, an_unguarded_counter_loses_nothing_under_it) {
  constexpr int kRounds = 20'000;
  tmk::mutex mutex;
  std::int64_t counter = 0;
  run_threads(4, [&](std::size_t) {
    for (int i = 0; i < kRounds; ++i) {
      const std::lock_guard held(mutex);
      ++counter;
    }
  });
  EXPECT_EQ(counter, 4 * kRounds);
}

// Holders that sleep make all waiters sleep, starve and be woken; holders that count never do.
TEST(MutexStress, waiters_of_all_kinds_are_all_woken) {
  tmk::mutex mutex;
  std::int64_t counter = 0;
  run_threads(12, [&](std::size_t i) {
    for (int round = 0; round < 40; ++round) {
      mutex.lock();
      ++counter;
      if (round % 4 == 0) linger(200us * (i % 3));
      mutex.unlock();
    }
  });
  EXPECT_EQ(counter, 12 * 40);
  EXPECT_TRUE(mutex.try_lock());
}

// A holder that unlocks and locks again at once is always first, unless the mutex is kept for the
// other thread. The machine may delay that thread's wait, but not in all of the rounds.
TEST(MutexStress, a_holder_that_comes_back_at_once_does_not_pass_one_who_waited_long) {
  tmk::mutex mutex;
  std::atomic<bool> asking = false;
  int kept = 0;
  for (int round = 0; round < 20; ++round) {
    mutex.lock();
    asking = false;
    std::thread waiter([&] {
      asking = true;
      mutex.lock();
      mutex.unlock();
    });
    while (!asking) std::this_thread::yield();
    linger(15ms);
    mutex.unlock();
    if (mutex.try_lock()) {
      mutex.unlock();
    } else {
      ++kept;
    }
    waiter.join();
  }
  EXPECT_GE(kept, 5);
}

// A thread that wants two mutexes and can never have both at once begins to hold the lower one. It
// does not insist for ever, because it would deadlock with this thread. Rounds go on until both are
// seen: if a thread does not insist, or does not give way, the test does not end.
TEST(LockStress, one_who_waited_long_for_two_holds_one_for_a_while_and_then_gives_way) {
  std::array<tmk::mutex, 2> all;  // in the order of addresses
  const auto lower_is_free = [&] {
    const bool is_free = all[0].try_lock();
    if (is_free) all[0].unlock();
    return is_free;
  };
  const auto seen = [&] {
    int taken = 0;  // every lock tries the mutex for a moment, so one look is too few
    for (int looks = 0; taken < 5; ++looks) {
      if (looks == 500) return false;
      linger(100us);
      taken = lower_is_free() ? 0 : taken + 1;
    }
    while (!lower_is_free()) linger(100us);
    return true;
  };
  for (bool done = false; !done;) {
    all[1].lock();
    std::thread waiter([&] {
      tmk::lock(all[0], all[1]);
      all[0].unlock();
      all[1].unlock();
    });
    done = seen();
    all[1].unlock();
    waiter.join();
  }
}

template <class Mutex>
void expect_whole_tables(std::size_t philosophers, int meals) {
  struct alignas(64) Fork {
    Mutex mutex;
    std::int64_t uses = 0;
  };
  std::vector<Fork> forks(philosophers);
  run_threads(philosophers, [&](std::size_t i) {
    std::minstd_rand random(static_cast<unsigned>(i + 1));
    for (int meal = 0; meal < meals; ++meal) {
      Fork& a = forks[i];
      Fork& b = forks[(i + 1) % philosophers];
      const bool turned = random() / 16 % 2 == 0;
      tmk::lock((turned ? b : a).mutex, (turned ? a : b).mutex);
      ++a.uses;
      ++b.uses;
      if (meal % 50 == 0) linger(100us);
      a.mutex.unlock();
      b.mutex.unlock();
    }
  });
  for (const Fork& fork : forks) EXPECT_EQ(fork.uses, 2 * meals);
}
TEST(LockStress, everybody_eats_with_our_mutexes) { expect_whole_tables<tmk::mutex>(8, 500); }
TEST(LockStress, everybody_eats_with_those_of_the_standard) {
  expect_whole_tables<std::mutex>(8, 500);
}
TEST(LockStress, everybody_eats_with_timed_ones) { expect_whole_tables<std::timed_mutex>(4, 300); }

// Any subset of the mutexes, in any order, by all ways at once.
TEST(LockStress, sets_of_two_to_four_in_any_order_go_together) {
  std::array<tmk::mutex, 5> all;
  std::array<std::int64_t, 5> uses{};
  std::atomic<std::int64_t> expected = 0;
  run_threads(6, [&](std::size_t i) {
    std::mt19937 random(static_cast<unsigned>(i));
    std::array<std::size_t, 5> order{0, 1, 2, 3, 4};
    for (int round = 0; round < 400; ++round) {
      std::ranges::shuffle(order, random);
      const auto mutex = [&](std::size_t k) -> tmk::mutex& { return all[order[k]]; };
      const std::size_t count = 2 + random() % 3;
      if (count == 2) {
        tmk::lock(mutex(0), mutex(1));
      } else if (count == 3) {
        while (tmk::try_lock(mutex(0), mutex(1), mutex(2)) != -1) std::this_thread::yield();
      } else {
        tmk::lock(mutex(0), mutex(1), mutex(2), mutex(3));
      }
      for (std::size_t k = 0; k < count; ++k) ++uses[order[k]];
      expected += static_cast<std::int64_t>(count);
      if (round % 40 == 0) linger(100us);
      for (std::size_t k = 0; k < count; ++k) mutex(k).unlock();
    }
  });
  std::int64_t sum = 0;
  for (const std::int64_t each : uses) sum += each;
  EXPECT_EQ(sum, expected);
}

// One thread holds the upper mutex and asks for the lower one, which others want too.
TEST(LockStress, insisting_does_not_deadlock_with_locking_one_by_one_in_the_other_order) {
  std::array<tmk::mutex, 2> all;
  std::atomic<int> left = 2;
  std::thread nested([&] {
    for (int i = 0; i < 15; ++i) {
      all[1].lock();
      linger(12ms);
      all[0].lock();
      all[0].unlock();
      all[1].unlock();
    }
    --left;
  });
  std::thread busy([&] {  // keeps the lower mutex in demand
    while (left == 2) {
      all[0].lock();
      linger(1ms);
      all[0].unlock();
    }
    --left;
  });
  do {
    tmk::lock(all[0], all[1]);
    linger(1ms);
    all[0].unlock();
    all[1].unlock();
  } while (left > 0);
  nested.join();
  busy.join();
}

// The last thread that gets a mutex may destroy it while the one before is still in unlock.
TEST(MutexStress, the_last_to_get_it_may_destroy_it) {
  for (int round = 0; round < 300; ++round) {
    struct Shared {
      tmk::mutex mutex;
      int users = 3;
    };
    auto* const shared = new Shared;
    run_threads(3, [shared](std::size_t) {
      shared->mutex.lock();
      if (shared->users == 3) linger(50us);  // the others sleep by now, so unlock has to wake them
      const bool last = --shared->users == 0;
      shared->mutex.unlock();
      if (last) delete shared;
    });
  }
}

}  // namespace

// tmk::lock, try_lock and scoped_lock over mutexes of any kind, and their locks after an exception.
#include <tmk/mutex.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

namespace {

// Counts its locks, and throws or refuses at the nth request (from 1).
struct Fickle {
  int throws_at = 0;
  int refuses_at = 0;
  int asked = 0;
  int held = 0;

  void lock() {
    if (++asked == throws_at) throw std::runtime_error("not today");
    ++held;
  }
  bool try_lock() {
    if (++asked == throws_at) throw std::runtime_error("not today");
    if (asked == refuses_at) return false;
    ++held;
    return true;
  }
  void unlock() { --held; }
};

// Asks from another thread, because a request by the holder is an error.
bool is_free(auto& mutex) {
  bool got = false;
  std::thread([&] {
    got = mutex.try_lock();
    if (got) mutex.unlock();
  }).join();
  return got;
}

TEST(Mutex, is_free_when_made_held_when_locked_and_free_again) {
  tmk::mutex mutex;
  EXPECT_TRUE(is_free(mutex));
  mutex.lock();
  EXPECT_FALSE(is_free(mutex));
  mutex.unlock();
  EXPECT_TRUE(is_free(mutex));
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_FALSE(is_free(mutex));
  mutex.unlock();
}

TEST(Mutex, is_one_word_that_needs_no_code_before_main) {
  static_assert(sizeof(tmk::mutex) == 4);
  static_assert(std::is_nothrow_default_constructible_v<tmk::mutex>);
  static_assert(std::is_trivially_destructible_v<tmk::mutex>);
  static_assert(!std::is_copy_constructible_v<tmk::mutex>);
  static constinit tmk::mutex mutex;
  EXPECT_TRUE(is_free(mutex));
}

TEST(Mutex, is_given_to_one_who_waits_beyond_the_patience) {
  tmk::mutex mutex;
  int guarded = 0;
  mutex.lock();
  std::thread waiter([&] {
    mutex.lock();
    EXPECT_EQ(guarded, 1);
    guarded = 2;
    mutex.unlock();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  guarded = 1;
  mutex.unlock();
  waiter.join();
  EXPECT_EQ(guarded, 2);
  EXPECT_TRUE(is_free(mutex));
}

TEST(TryLock, takes_all_or_names_the_first_that_is_taken_and_holds_none) {
  std::array<tmk::mutex, 4> all;
  EXPECT_EQ(tmk::try_lock(all[0], all[1], all[2], all[3]), -1);
  for (tmk::mutex& each : all) EXPECT_FALSE(is_free(each));
  for (tmk::mutex& each : all) each.unlock();
  for (std::size_t taken = 0; taken < all.size(); ++taken) {
    const std::lock_guard held(all[taken]);
    std::thread([&] {
      EXPECT_EQ(tmk::try_lock(all[0], all[1], all[2], all[3]), static_cast<int>(taken));
    }).join();
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(is_free(all[i]), i != taken);
  }
}

TEST(TryLock, holds_none_after_an_exception) {
  for (int thrower = 0; thrower < 3; ++thrower) {
    std::array<Fickle, 3> all;
    all[static_cast<std::size_t>(thrower)].throws_at = 1;
    EXPECT_THROW(tmk::try_lock(all[0], all[1], all[2]), std::runtime_error);
    for (const Fickle& each : all) EXPECT_EQ(each.held, 0);
  }
}

// Every point at which two to four mutexes can throw, also after a refusal has turned the order.
TEST(Lock, holds_none_after_an_exception_wherever_it_is_thrown) {
  const auto check = [](auto lock, std::size_t count) {
    for (std::size_t refuser = 0; refuser < count; ++refuser) {
      for (std::size_t thrower = 0; thrower < count; ++thrower) {
        for (int at = 1; at <= 3; ++at) {
          std::array<Fickle, 4> all;
          all[refuser].refuses_at = 1;
          all[thrower].throws_at = at;
          bool thrown = false;
          try {
            lock(all);
          } catch (const std::runtime_error&) {
            thrown = true;
          }
          EXPECT_EQ(thrown, all[thrower].asked >= at);
          for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(all[i].held, thrown ? 0 : 1);
        }
      }
    }
  };
  check([](auto& all) { tmk::lock(all[0], all[1]); }, 2);
  check([](auto& all) { tmk::lock(all[0], all[1], all[2]); }, 3);
  check([](auto& all) { tmk::lock(all[0], all[1], all[2], all[3]); }, 4);
}

TEST(Lock, waits_for_the_one_that_was_refused_and_not_for_the_others) {
  std::array<Fickle, 3> all;
  all[2].refuses_at = 1;
  tmk::lock(all[0], all[1], all[2]);
  EXPECT_EQ(all[0].asked, 2);
  EXPECT_EQ(all[1].asked, 2);
  EXPECT_EQ(all[2].asked, 2);  // refused, then waited for: never asked a third time
  for (const Fickle& each : all) EXPECT_EQ(each.held, 1);
}

TEST(Lock, takes_mutexes_of_any_kinds_together) {
  std::mutex plain;
  std::recursive_mutex recursive;
  std::timed_mutex timed;
  std::shared_mutex shared;
  tmk::mutex ours;
  const std::lock_guard before(recursive);
  tmk::lock(plain, recursive, timed, shared, ours);
  EXPECT_FALSE(is_free(plain));
  EXPECT_FALSE(is_free(timed));
  EXPECT_FALSE(is_free(shared));
  EXPECT_FALSE(is_free(ours));
  plain.unlock();
  recursive.unlock();
  timed.unlock();
  shared.unlock();
  ours.unlock();
  EXPECT_FALSE(is_free(recursive));  // the lock before holds it still
}

TEST(Lock, takes_unique_locks_and_leaves_them_owning) {
  tmk::mutex first;
  std::mutex second;
  std::unique_lock a(first, std::defer_lock);
  std::unique_lock b(second, std::defer_lock);
  tmk::lock(a, b);
  EXPECT_TRUE(a.owns_lock());
  EXPECT_TRUE(b.owns_lock());
  EXPECT_FALSE(is_free(first));
}

TEST(ScopedLock, holds_any_number_until_its_end) {
  std::array<tmk::mutex, 3> all;
  {
    const tmk::scoped_lock none;
    const tmk::scoped_lock one(all[0]);
    const tmk::scoped_lock others(all[1], all[2]);
    for (tmk::mutex& each : all) EXPECT_FALSE(is_free(each));
  }
  for (tmk::mutex& each : all) EXPECT_TRUE(is_free(each));
}

TEST(ScopedLock, adopts_what_is_held_already) {
  tmk::mutex first;
  std::mutex second;
  tmk::lock(first, second);
  {
    const tmk::scoped_lock adopted(std::adopt_lock, first, second);
    EXPECT_FALSE(is_free(first));
  }
  EXPECT_TRUE(is_free(first));
  EXPECT_TRUE(is_free(second));
  first.lock();
  {
    const tmk::scoped_lock adopted(std::adopt_lock, first);
  }
  EXPECT_TRUE(is_free(first));
}

TEST(ScopedLock, ends_what_it_holds_when_an_exception_passes) {
  tmk::mutex first;
  tmk::mutex second;
  try {
    const tmk::scoped_lock held(first, second);
    throw std::runtime_error("on the way");
  } catch (const std::runtime_error&) {
    EXPECT_TRUE(is_free(first));
    EXPECT_TRUE(is_free(second));
  }
}

TEST(ScopedLock, names_the_type_of_its_only_mutex) {
  static_assert(std::is_same_v<tmk::scoped_lock<tmk::mutex>::mutex_type, tmk::mutex>);
  static_assert(!std::is_copy_constructible_v<tmk::scoped_lock<tmk::mutex>>);
  static_assert(!std::is_move_constructible_v<tmk::scoped_lock<tmk::mutex, std::mutex>>);
}

}  // namespace

// [thread.lock.scoped]: the class template scoped_lock.
#include <mutex>
#include <type_traits>
#include <vector>

#include "subject.hpp"

namespace conformance {
namespace {

using ThreadLockScoped = Clause;
using subject::scoped_lock;

// Counts its calls; BasicLockable, which is enough for a single mutex.
struct Basic {
  int locks = 0, unlocks = 0;
  void lock() { ++locks; }
  void unlock() { ++unlocks; }
};
struct Lockable : Basic {
  bool try_lock() {
    lock();
    return true;
  }
};
struct Throws : Lockable {
  void lock() { throw 1; }
  bool try_lock() { throw 1; }
};

template <class L>
constexpr bool has_mutex_type = requires { typename L::mutex_type; };

// p1, synopsis
TEST_F(ThreadLockScoped, mutex_type_is_there_when_there_is_one_mutex) {
  EXPECT_TRUE((std::is_same_v<typename scoped_lock<std::mutex>::mutex_type, std::mutex>));
  EXPECT_FALSE(has_mutex_type<scoped_lock<>>);
  EXPECT_FALSE((has_mutex_type<scoped_lock<std::mutex, std::mutex>>));
}
template <class L>
void check_not_copied() {
  EXPECT_FALSE(std::is_copy_constructible_v<L>);
  EXPECT_FALSE(std::is_move_constructible_v<L>);
  EXPECT_FALSE(std::is_copy_assignable_v<L>);
  EXPECT_FALSE(std::is_move_assignable_v<L>);
}
TEST_F(ThreadLockScoped, it_cannot_be_copied_or_moved) {
  check_not_copied<scoped_lock<>>();
  check_not_copied<scoped_lock<std::mutex>>();
  check_not_copied<scoped_lock<std::mutex, std::recursive_mutex>>();
}
TEST_F(ThreadLockScoped, its_constructors_are_explicit) {
  using One = scoped_lock<Basic>;
  using Two = scoped_lock<Lockable, Lockable>;
  EXPECT_TRUE((std::is_constructible_v<One, Basic&>));
  EXPECT_FALSE((std::is_convertible_v<Basic&, One>));
  EXPECT_TRUE((std::is_constructible_v<One, std::adopt_lock_t, Basic&>));
  EXPECT_TRUE((std::is_constructible_v<Two, Lockable&, Lockable&>));
  EXPECT_TRUE((std::is_constructible_v<Two, std::adopt_lock_t, Lockable&, Lockable&>));
  EXPECT_FALSE((std::is_constructible_v<One, Basic>));
  EXPECT_FALSE((std::is_constructible_v<Two, Lockable&>));
  const auto implicitly = []<class L>(L* /*of*/) {
    return requires(void (*take)(L), Lockable& m) { take({m, m}); };
  };
  EXPECT_FALSE(implicitly(static_cast<Two*>(nullptr)));
}

// deduced from the constructors
TEST_F(ThreadLockScoped, its_mutexes_are_deduced) {
  std::mutex a;
  std::recursive_mutex b;
  {
    const scoped_lock none;
    const scoped_lock one(a);
    const scoped_lock also_one(std::adopt_lock, b);
    b.lock();
    EXPECT_TRUE((std::is_same_v<decltype(none), const scoped_lock<>>));
    EXPECT_TRUE((std::is_same_v<decltype(one), const scoped_lock<std::mutex>>));
    EXPECT_TRUE((std::is_same_v<decltype(also_one), const scoped_lock<std::recursive_mutex>>));
  }
  const scoped_lock both(a, b);
  EXPECT_TRUE(
      (std::is_same_v<decltype(both), const scoped_lock<std::mutex, std::recursive_mutex>>));
}

// the constructor and the destructor
TEST_F(ThreadLockScoped, each_mutex_is_locked_until_it_ends) {
  Basic one;
  {
    const scoped_lock lock(one);
    EXPECT_EQ(one.locks, 1);
    EXPECT_EQ(one.unlocks, 0);
  }
  EXPECT_EQ(one.locks, 1);
  EXPECT_EQ(one.unlocks, 1);
  Lockable a, b, c;
  {
    const scoped_lock lock(a, b, c);
    for (const Lockable* each : {&a, &b, &c}) EXPECT_EQ(each->locks - each->unlocks, 1);
  }
  for (const Lockable* each : {&a, &b, &c}) EXPECT_EQ(each->locks, each->unlocks);
}
TEST_F(ThreadLockScoped, adopted_mutexes_are_only_unlocked) {
  Basic one;
  {
    const scoped_lock lock(std::adopt_lock, one);
  }
  EXPECT_EQ(one.locks, 0);
  EXPECT_EQ(one.unlocks, 1);
  Lockable a, b;
  {
    const scoped_lock lock(std::adopt_lock, a, b);
  }
  EXPECT_EQ(a.locks + b.locks, 0);
  EXPECT_EQ(a.unlocks, 1);
  EXPECT_EQ(b.unlocks, 1);
}
TEST_F(ThreadLockScoped, when_a_mutex_throws_none_is_held) {
  Lockable a, c;
  Throws b;
  EXPECT_THROW(const scoped_lock lock(a, b, c), int);
  EXPECT_EQ(a.locks, a.unlocks);
  EXPECT_EQ(c.locks, c.unlocks);
  EXPECT_EQ(b.unlocks, 0);
  EXPECT_THROW(const scoped_lock lock(b), int);
  EXPECT_EQ(b.unlocks, 0);
}
TEST_F(ThreadLockScoped, scopes_that_lock_in_different_orders_exclude_each_other) {
  subject::mutex a, b, c;
  int guarded = 0;  // plain
  std::vector<std::thread> threads;
  for (int way = 0; way < 4; ++way) {
    threads.emplace_back([&, way] {
      for (int i = 0; i < 300; ++i) {
        if (way == 0) {
          const scoped_lock lock(a, b, c);
          ++guarded;
        } else if (way == 1) {
          const scoped_lock lock(c, b, a);
          ++guarded;
        } else if (way == 2) {
          const scoped_lock lock(b, a);
          ++guarded;
        } else {
          const scoped_lock lock(a);
          ++guarded;
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(guarded, 4 * 300);
}

}  // namespace
}  // namespace conformance

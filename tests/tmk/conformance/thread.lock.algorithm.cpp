// [thread.lock.algorithm]: the function templates try_lock and lock.
#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "subject.hpp"

namespace conformance {
namespace {

using ThreadLockAlgorithm = Clause;

// The record of a series of calls, and the plan for each call.
struct Script {
  std::string calls;     // l or t and the mutex, for lock and try_lock; u for unlock
  int attempts = 0;      // calls of lock and try_lock
  int throwing = -1;     // the attempt that throws
  unsigned refused = 0;  // bit i: the i-th call of try_lock returns false
  int tries = 0;         // calls of try_lock
  bool misused = false;  // locked twice, or unlocked without a lock
};

// Lockable, and nothing more. For one thread: the script decides whether a mutex can be taken.
class Scripted {
 public:
  Scripted(Script& script, char name) : script_(script), name_(name) {}
  Scripted(const Scripted&) = delete;
  void lock() {
    attempt('l');
    take();
  }
  bool try_lock() {
    attempt('t');
    if ((script_.refused >> script_.tries++ & 1) != 0) return false;
    take();
    return true;
  }
  void unlock() {
    script_.calls += {'u', name_};
    if (!held_) script_.misused = true;
    held_ = false;
  }
  bool held() const { return held_; }
  void operator&() const = delete;  // NOLINT: Lockable says nothing of it

 private:
  void attempt(char what) {
    script_.calls += {what, name_};
    if (script_.attempts++ == script_.throwing) throw 1;
  }
  void take() {
    if (held_) script_.misused = true;
    held_ = true;
  }
  Script& script_;
  const char name_;
  bool held_ = false;
};

// ---- try_lock ----

TEST_F(ThreadLockAlgorithm, try_lock_tries_in_order_and_returns_minus_one_when_it_has_all) {
  Script script;
  Scripted a(script, 'a'), b(script, 'b'), c(script, 'c'), d(script, 'd');
  EXPECT_EQ(subject::try_lock(a, b), -1);
  EXPECT_EQ(script.calls, "tatb");
  EXPECT_TRUE(a.held() && b.held());
  EXPECT_EQ(subject::try_lock(d, c), -1);
  EXPECT_EQ(script.calls, "tatbtdtc");
  EXPECT_TRUE((std::is_same_v<decltype(subject::try_lock(a, b, c, d)), int>));
}
TEST_F(ThreadLockAlgorithm, try_lock_stops_at_the_first_that_it_does_not_get_and_gives_back) {
  for (int failing = 0; failing < 5; ++failing) {
    Script script;
    script.refused = 1u << failing;
    Scripted a(script, 'a'), b(script, 'b'), c(script, 'c'), d(script, 'd'), e(script, 'e');
    EXPECT_EQ(subject::try_lock(a, b, c, d, e), failing);
    EXPECT_EQ(script.tries, failing + 1) << script.calls;
    EXPECT_EQ(std::count(script.calls.begin(), script.calls.end(), 'u'), failing) << script.calls;
    EXPECT_EQ(script.calls.find('l'), std::string::npos) << script.calls;
    EXPECT_FALSE(a.held() || b.held() || c.held() || d.held() || e.held());
    EXPECT_FALSE(script.misused);
  }
  for (int failing = 0; failing < 2; ++failing) {
    Script script;
    script.refused = 1u << failing;
    Scripted a(script, 'a'), b(script, 'b');
    EXPECT_EQ(subject::try_lock(a, b), failing);
    EXPECT_FALSE(a.held() || b.held() || script.misused);
  }
}
TEST_F(ThreadLockAlgorithm, when_one_throws_try_lock_gives_back_what_it_has) {
  for (int throwing = 0; throwing < 4; ++throwing) {
    Script script;
    script.throwing = throwing;
    Scripted a(script, 'a'), b(script, 'b'), c(script, 'c'), d(script, 'd');
    EXPECT_THROW(subject::try_lock(a, b, c, d), int);
    EXPECT_EQ(script.attempts, throwing + 1) << script.calls;
    EXPECT_FALSE(a.held() || b.held() || c.held() || d.held() || script.misused);
  }
}
TEST_F(ThreadLockAlgorithm, try_lock_takes_lockables_of_different_types) {
  subject::mutex a;
  std::recursive_mutex b;
  std::timed_mutex c;
  std::mutex under;
  std::unique_lock d(under, std::defer_lock);
  const auto try_all = [&] { return subject::try_lock(a, b, c, d); };
  EXPECT_EQ(try_all(), -1);
  EXPECT_TRUE(d.owns_lock());
  a.unlock();
  b.unlock();
  c.unlock();
  d.unlock();
  a.lock();
  std::thread([&] { EXPECT_EQ(try_all(), 0); }).join();
  a.unlock();
  c.lock();
  std::thread([&] { EXPECT_EQ(try_all(), 2); }).join();
  EXPECT_TRUE(a.try_lock()) << "given back";
  a.unlock();
  c.unlock();
}

// ---- lock ----

// After all attempts all mutexes are held, or one attempt threw and none is held.
template <class LockAll, class HoldsAll, class HoldsAny>
void follow(Script& script, const LockAll& lock_all, const HoldsAll& all, const HoldsAny& any) {
  bool threw = false;
  try {
    lock_all();
  } catch (int) {
    threw = true;
  }
  EXPECT_EQ(threw, script.throwing >= 0 && script.attempts > script.throwing) << script.calls;
  EXPECT_TRUE(threw ? !any() : all()) << script.calls;
  EXPECT_FALSE(script.misused) << script.calls;
  EXPECT_FALSE(threw && script.attempts != script.throwing + 1) << script.calls;
}
TEST_F(ThreadLockAlgorithm, lock_takes_all_or_throws_and_holds_none) {
  for (unsigned refused = 0; refused < 64; ++refused) {
    for (int throwing = -1; throwing < 12; ++throwing) {
      Script two;
      two.refused = refused;
      two.throwing = throwing;
      Scripted a(two, 'a'), b(two, 'b');
      follow(
          two, [&] { subject::lock(a, b); }, [&] { return a.held() && b.held(); },
          [&] { return a.held() || b.held(); });
      Script four;
      four.refused = refused;
      four.throwing = throwing;
      Scripted c(four, 'c'), d(four, 'd'), e(four, 'e'), f(four, 'f');
      follow(
          four, [&] { subject::lock(c, d, e, f); },
          [&] { return c.held() && d.held() && e.held() && f.held(); },
          [&] { return c.held() || d.held() || e.held() || f.held(); });
    }
  }
}
TEST_F(ThreadLockAlgorithm, lock_takes_lockables_of_different_types) {
  subject::mutex a;
  std::recursive_mutex b;
  std::timed_mutex c;
  std::mutex under;
  std::unique_lock d(under, std::defer_lock);
  subject::lock(a, b, c, d);
  EXPECT_TRUE(d.owns_lock());
  std::thread([&] { EXPECT_FALSE(a.try_lock() || b.try_lock() || c.try_lock()); }).join();
  a.unlock();
  b.unlock();
  c.unlock();
}
TEST_F(ThreadLockAlgorithm, lock_waits_for_what_others_hold) {
  for (int held = 0; held < 3; ++held) {
    std::array<subject::mutex, 3> mutexes;
    int guarded = 0;  // plain: the mutex synchronises
    std::latch taken(1);
    std::thread holder([&] {
      subject::mutex& mine = mutexes[static_cast<std::size_t>(held)];
      mine.lock();
      taken.count_down();
      std::this_thread::sleep_for(5ms);
      guarded = 1;
      mine.unlock();
    });
    taken.wait();
    subject::lock(mutexes[0], mutexes[1], mutexes[2]);
    EXPECT_EQ(guarded, 1);
    for (subject::mutex& each : mutexes) each.unlock();
    holder.join();
  }
}
// "The sequence of calls does not result in deadlock"
template <class Mutex>
void lock_in_every_order() {
  Mutex a, b, c;
  int both[3] = {}, all = 0;  // plain: each guarded by two of them, and by all three
  const auto release = [](auto&... each) { (each.unlock(), ...); };
  std::vector<std::thread> threads;
  for (int way = 0; way < 6; ++way) {
    threads.emplace_back([&, way] {
      const auto turn = [&](Mutex& first, Mutex& second, Mutex& third, int& of_two) {
        subject::lock(first, second);
        ++of_two;
        release(first, second);
        subject::lock(third, second, first);
        ++all;
        release(first, second, third);
      };
      for (int i = 0; i < 300; ++i) {
        if (way == 0) turn(a, b, c, both[0]);
        if (way == 1) turn(b, a, c, both[0]);
        if (way == 2) turn(b, c, a, both[1]);
        if (way == 3) turn(c, b, a, both[1]);
        if (way == 4) turn(c, a, b, both[2]);
        if (way == 5) turn(a, c, b, both[2]);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(both[0] + both[1] + both[2], 6 * 300);
  EXPECT_EQ(all, 6 * 300);
}
TEST_F(ThreadLockAlgorithm, lock_does_not_deadlock_in_whatever_order_others_lock) {
  lock_in_every_order<std::mutex>();
  lock_in_every_order<subject::mutex>();
  lock_in_every_order<std::recursive_mutex>();
}

}  // namespace
}  // namespace conformance

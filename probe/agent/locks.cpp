// The wrappers of the functions in which threads wait: locks, conditions, barriers, semaphores,
// once, futexes. A lock that no thread ever waited for costs a jump and a look at two words.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cerrno>

#include "probe/agent/modules.hpp"
#include "probe/agent/real.hpp"
#include "probe/agent/start.hpp"
#include "probe/agent/system.hpp"
#include "probe/agent/waits.hpp"

namespace threadmark::agent {

namespace {

// The tid of the thread that has the lock, as the C library notes it.
std::int32_t owner(const pthread_mutex_t* mutex) { return mutex->__data.__owner; }
std::int32_t owner(const pthread_rwlock_t* lock) { return lock->__data.__cur_writer; }
// Only the agent knows the owner of a spin lock, if it noted the holder.
std::int32_t owner(const pthread_spinlock_t* lock) {
  Busy busy;
  const std::uint32_t index = busy ? find_object(ObjectKind::spin_lock, address_of(lock)) : 0;
  return index == 0 ? 0 : get(object_at(index).holder);
}

// Whether the owner has a recursive mutex already, and takes it or gives it back once more: that is
// no hold of its own.
bool is_again(const pthread_mutex_t* mutex) {
  return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP && mutex->__data.__count > 1;
}
bool is_again(const pthread_rwlock_t*) { return false; }
bool is_again(const pthread_spinlock_t*) { return false; }

void note_type(const pthread_mutex_t* mutex) {
  Busy busy;
  if (!busy) return;
  const std::uint32_t index = find_object(ObjectKind::mutex, address_of(mutex));
  if (index != 0) put_type(index, mutex);
}
void note_type(const pthread_rwlock_t*) {}
void note_type(const pthread_spinlock_t*) {}

// Another clock or time is an error even if the lock is free, so the wrapper must not try the lock.
bool is_clock(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC; }
bool is_time(const timespec* until) {
  return until->tv_nsec >= 0 && until->tv_nsec < 1'000'000'000;
}

// The lock is busy: `wait` is the real function that waits.
template <class Lock, class Waiting>
[[gnu::noinline]] int wait_for(Lock* lock, ObjectKind kind, Activity activity, Site site,
                               Waiting wait) {
  Wait waiting(site, activity, kind, address_of(lock), owner(lock));
  const int result = wait();
  // These functions do not touch errno, and neither does the agent.
  waiting.end(activity);
  if (result == 0 || result == EOWNERDEAD) {
    note_type(lock);
    if (is_worth_noting(address_of(lock))) took(site, kind, address_of(lock));
  }
  return result;
}

template <class Lock>
[[gnu::noinline]] int took_hot(Lock* lock, ObjectKind kind, Site site, int result) {
  if (!is_again(lock) && is_worth_noting(address_of(lock))) took(site, kind, address_of(lock));
  return result;
}

template <auto function, class Lock>
[[gnu::noinline]] int let_go_hot(Lock* lock, ObjectKind kind, Site site) {
  const auto unlock = real().*function;
  const std::uint64_t address = address_of(lock);
  if (!is_hot(lock) || is_again(lock)) return unlock(lock);
  if (mine.brief == address) mine.brief = 0;
  if (!is_noted(address)) return unlock(lock);
  const Ended hold = let_go(site, kind, address);
  const int result = unlock(lock);
  account(hold, address);
  return result;
}

// The wrapper tries the lock; the result decides the next step.
#define THREADMARK_LOCK_AT(site, lock, kind, activity, trial, wait)   \
  const int result = real().trial(lock);                              \
  if (__builtin_expect(result == EBUSY, 0))                           \
    return wait_for(lock, ObjectKind::kind, Activity::activity, site, \
                    [=] { return real().wait; });                     \
  if (is_hot(lock) && (result == 0 || result == EOWNERDEAD))          \
    return took_hot(lock, ObjectKind::kind, site, result);            \
  return result
#define THREADMARK_LOCK(lock, kind, activity, trial, wait) \
  THREADMARK_LOCK_AT(THREADMARK_SITE, lock, kind, activity, trial, wait)

#define THREADMARK_TRY(lock, kind, trial)                             \
  const int result = real().trial(lock);                              \
  if (is_hot(lock) && (result == 0 || result == EOWNERDEAD))          \
    return took_hot(lock, ObjectKind::kind, THREADMARK_SITE, result); \
  return result

// An unlock that has nothing to note is a jump to the real function.
#define THREADMARK_UNLOCK(lock, kind, unlock)                                  \
  if (is_hot(lock) || __builtin_expect(table.unlock == nullptr, 0))            \
    return let_go_hot<&Real::unlock>(lock, ObjectKind::kind, THREADMARK_SITE); \
  return table.unlock(lock)

}  // namespace

namespace {

template <class Object>
int noted(Object* object, ObjectKind kind, Site site, int result) {
  Busy busy;
  if (result == 0 && busy) note_made(site, kind, address_of(object));
  return result;
}

}  // namespace

THREADMARK_WRAP(int, pthread_mutex_init, pthread_mutex_t* mutex, const pthread_mutexattr_t* how) {
  return noted(mutex, ObjectKind::mutex, THREADMARK_SITE, real().pthread_mutex_init(mutex, how));
}
THREADMARK_WRAP(int, pthread_rwlock_init, pthread_rwlock_t* lock, const pthread_rwlockattr_t* how) {
  return noted(lock, ObjectKind::rwlock, THREADMARK_SITE, real().pthread_rwlock_init(lock, how));
}
THREADMARK_WRAP(int, pthread_barrier_init, pthread_barrier_t* barrier,
                const pthread_barrierattr_t* how, unsigned count) {
  return noted(barrier, ObjectKind::barrier, THREADMARK_SITE,
               real().pthread_barrier_init(barrier, how, count));
}
THREADMARK_WRAP(int, sem_init, sem_t* semaphore, int shared, unsigned value) {
  return noted(semaphore, ObjectKind::semaphore, THREADMARK_SITE,
               real().sem_init(semaphore, shared, value));
}

namespace {

// Whether no thread has the mutex at this moment.
bool is_free(const pthread_mutex_t* mutex) {
  return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 0;
}

[[gnu::noinline]] int lock_mutex(pthread_mutex_t* mutex, Site site) {
  THREADMARK_LOCK_AT(site, mutex, mutex, mutex, pthread_mutex_trylock, pthread_mutex_lock(mutex));
}

}  // namespace

// A lock of a free mutex that no thread ever waited for is a jump to the real function. If another
// thread takes the mutex at just this moment, the agent does not see the wait. This ends with the
// first wait that it sees.
THREADMARK_WRAP(int, pthread_mutex_lock, pthread_mutex_t* mutex) {
  if (is_hot(mutex) || __builtin_expect(!is_free(mutex) || table.pthread_mutex_lock == nullptr, 0))
    return lock_mutex(mutex, THREADMARK_SITE);
  return table.pthread_mutex_lock(mutex);
}
THREADMARK_WRAP(int, pthread_mutex_timedlock, pthread_mutex_t* mutex, const timespec* until) {
  THREADMARK_LOCK(mutex, mutex, mutex, pthread_mutex_trylock,
                  pthread_mutex_timedlock(mutex, until));
}
THREADMARK_WRAP(int, pthread_mutex_clocklock, pthread_mutex_t* mutex, clockid_t clock,
                const timespec* until) {
  if (!is_clock(clock)) return real().pthread_mutex_clocklock(mutex, clock, until);
  THREADMARK_LOCK(mutex, mutex, mutex, pthread_mutex_trylock,
                  pthread_mutex_clocklock(mutex, clock, until));
}
THREADMARK_WRAP(int, pthread_mutex_trylock, pthread_mutex_t* mutex) {
  THREADMARK_TRY(mutex, mutex, pthread_mutex_trylock);
}
THREADMARK_WRAP(int, pthread_mutex_unlock, pthread_mutex_t* mutex) {
  if (__builtin_expect(mine.woken_mutex == address_of(mutex), 0)) mine.woken_mutex = 0;
  THREADMARK_UNLOCK(mutex, mutex, pthread_mutex_unlock);
}

THREADMARK_WRAP(int, pthread_rwlock_rdlock, pthread_rwlock_t* lock) {
  THREADMARK_LOCK(lock, rwlock, read_lock, pthread_rwlock_tryrdlock, pthread_rwlock_rdlock(lock));
}
THREADMARK_WRAP(int, pthread_rwlock_wrlock, pthread_rwlock_t* lock) {
  THREADMARK_LOCK(lock, rwlock, write_lock, pthread_rwlock_trywrlock, pthread_rwlock_wrlock(lock));
}
THREADMARK_WRAP(int, pthread_rwlock_timedrdlock, pthread_rwlock_t* lock, const timespec* until) {
  if (!is_time(until)) return real().pthread_rwlock_timedrdlock(lock, until);
  THREADMARK_LOCK(lock, rwlock, read_lock, pthread_rwlock_tryrdlock,
                  pthread_rwlock_timedrdlock(lock, until));
}
THREADMARK_WRAP(int, pthread_rwlock_timedwrlock, pthread_rwlock_t* lock, const timespec* until) {
  if (!is_time(until)) return real().pthread_rwlock_timedwrlock(lock, until);
  THREADMARK_LOCK(lock, rwlock, write_lock, pthread_rwlock_trywrlock,
                  pthread_rwlock_timedwrlock(lock, until));
}
THREADMARK_WRAP(int, pthread_rwlock_clockrdlock, pthread_rwlock_t* lock, clockid_t clock,
                const timespec* until) {
  if (!is_clock(clock) || !is_time(until))
    return real().pthread_rwlock_clockrdlock(lock, clock, until);
  THREADMARK_LOCK(lock, rwlock, read_lock, pthread_rwlock_tryrdlock,
                  pthread_rwlock_clockrdlock(lock, clock, until));
}
THREADMARK_WRAP(int, pthread_rwlock_clockwrlock, pthread_rwlock_t* lock, clockid_t clock,
                const timespec* until) {
  if (!is_clock(clock) || !is_time(until))
    return real().pthread_rwlock_clockwrlock(lock, clock, until);
  THREADMARK_LOCK(lock, rwlock, write_lock, pthread_rwlock_trywrlock,
                  pthread_rwlock_clockwrlock(lock, clock, until));
}
THREADMARK_WRAP(int, pthread_rwlock_tryrdlock, pthread_rwlock_t* lock) {
  THREADMARK_TRY(lock, rwlock, pthread_rwlock_tryrdlock);
}
THREADMARK_WRAP(int, pthread_rwlock_trywrlock, pthread_rwlock_t* lock) {
  THREADMARK_TRY(lock, rwlock, pthread_rwlock_trywrlock);
}
THREADMARK_WRAP(int, pthread_rwlock_unlock, pthread_rwlock_t* lock) {
  THREADMARK_UNLOCK(lock, rwlock, pthread_rwlock_unlock);
}

// The type of a spin lock is volatile in the header, which the templates need not see.
using Spin = pthread_spinlock_t;
THREADMARK_WRAP(int, pthread_spin_lock, Spin* lock) {
  THREADMARK_LOCK(lock, spin_lock, spin_lock, pthread_spin_trylock, pthread_spin_lock(lock));
}
THREADMARK_WRAP(int, pthread_spin_trylock, Spin* lock) {
  THREADMARK_TRY(lock, spin_lock, pthread_spin_trylock);
}
THREADMARK_WRAP(int, pthread_spin_unlock, Spin* lock) {
  THREADMARK_UNLOCK(lock, spin_lock, pthread_spin_unlock);
}

namespace {

constexpr std::uint64_t kFutile_ns = 3'000;  // a look at a predicate takes less

// The real function unlocks the mutex and locks it again.
template <class Waiting>
int wait_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, Site site, Waiting wait) {
  // A thread that works with the mutex locked before it waits again was not woken for nothing.
  const std::uint64_t now = shared() == nullptr ? 0 : now_ns();
  const bool again = mine.woken_mutex == address_of(mutex) &&
                     mine.woken_condition == address_of(condition) &&
                     now - mine.woken_ns < kFutile_ns;
  Ended hold;
  if (mine.brief == address_of(mutex)) mine.brief = 0;
  if (is_hot(mutex) && is_noted(address_of(mutex)))
    hold = let_go(site, ObjectKind::mutex, address_of(mutex), now);
  mine.woken_mutex = 0;
  Wait waiting(site, Activity::condition, ObjectKind::condition, address_of(condition), 0, now);
  waiting.uses_mutex(mutex, again);
  account(hold, address_of(mutex));
  const int result = wait();
  waiting.end_condition(result == ETIMEDOUT, mutex);
  if (is_hot(mutex) && is_worth_noting(address_of(mutex)))
    took(site, ObjectKind::mutex, address_of(mutex));
  if (result == 0 && shared() != nullptr) {
    mine.woken_mutex = address_of(mutex);
    mine.woken_condition = address_of(condition);
    mine.woken_ns = now_ns();  // the agent's own time does not count
  }
  return result;
}

}  // namespace

// On x86-64 conditions have two versions: the default version, and one of another layout, for which
// the agent records nothing.
#if defined(__x86_64__)
#define THREADMARK_CONDITION(name, ...)                                             \
  extern "C" [[gnu::visibility("default")]] int threadmark_new_##name(__VA_ARGS__); \
  __asm__(".symver threadmark_new_" #name ", pthread_cond_" #name "@@GLIBC_2.3.2"); \
  extern "C" int threadmark_new_##name(__VA_ARGS__)
#define THREADMARK_OLD(name, parameters, arguments)                                \
  extern "C" [[gnu::visibility("default")]] int threadmark_old_##name parameters;  \
  __asm__(".symver threadmark_old_" #name ", pthread_cond_" #name "@GLIBC_2.2.5"); \
  extern "C" int threadmark_old_##name parameters {                                \
    static_cast<void>(real());                                                     \
    return old_conditions.name arguments;                                          \
  }
THREADMARK_OLD(wait, (pthread_cond_t * condition, pthread_mutex_t* mutex), (condition, mutex))
THREADMARK_OLD(timedwait,
               (pthread_cond_t * condition, pthread_mutex_t* mutex, const timespec* until),
               (condition, mutex, until))
THREADMARK_OLD(signal, (pthread_cond_t * condition), (condition))
THREADMARK_OLD(broadcast, (pthread_cond_t * condition), (condition))
#else
#define THREADMARK_CONDITION(name, ...) THREADMARK_WRAP(int, pthread_cond_##name, __VA_ARGS__)
#endif

THREADMARK_CONDITION(wait, pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return wait_condition(condition, mutex, THREADMARK_SITE,
                        [&] { return real().pthread_cond_wait(condition, mutex); });
}
THREADMARK_CONDITION(timedwait, pthread_cond_t* condition, pthread_mutex_t* mutex,
                     const timespec* until) {
  return wait_condition(condition, mutex, THREADMARK_SITE,
                        [&] { return real().pthread_cond_timedwait(condition, mutex, until); });
}
THREADMARK_WRAP(int, pthread_cond_clockwait, pthread_cond_t* condition, pthread_mutex_t* mutex,
                clockid_t clock, const timespec* until) {
  return wait_condition(condition, mutex, THREADMARK_SITE, [&] {
    return real().pthread_cond_clockwait(condition, mutex, clock, until);
  });
}
THREADMARK_CONDITION(signal, pthread_cond_t* condition) {
  if (is_hot(condition))
    signalled(THREADMARK_SITE, ObjectKind::condition, address_of(condition), false);
  return real().pthread_cond_signal(condition);
}
THREADMARK_CONDITION(broadcast, pthread_cond_t* condition) {
  if (is_hot(condition))
    signalled(THREADMARK_SITE, ObjectKind::condition, address_of(condition), true);
  return real().pthread_cond_broadcast(condition);
}

THREADMARK_WRAP(int, pthread_barrier_wait, pthread_barrier_t* barrier) {
  Wait waiting(THREADMARK_SITE, Activity::barrier, ObjectKind::barrier, address_of(barrier));
  const int result = real().pthread_barrier_wait(barrier);
  waiting.end(Activity::barrier);
  return result;
}

namespace {

// A trial that fails sets errno, which the real wait need not touch. A wait is a cancellation point
// even if the thread does not have to wait.
template <class Waiting>
int wait_semaphore(sem_t* semaphore, Site site, Waiting wait) {
  const auto& next = real();
  next.pthread_testcancel();
  const int before = errno;
  if (next.sem_trywait(semaphore) == 0) return 0;
  errno = before;
  Wait waiting(site, Activity::semaphore, ObjectKind::semaphore, address_of(semaphore));
  const int result = wait();
  waiting.end(Activity::semaphore);
  return result;
}

}  // namespace

THREADMARK_WRAP(int, sem_wait, sem_t* semaphore) {
  return wait_semaphore(semaphore, THREADMARK_SITE, [&] { return real().sem_wait(semaphore); });
}
THREADMARK_WRAP(int, sem_timedwait, sem_t* semaphore, const timespec* until) {
  if (!is_time(until)) return real().sem_timedwait(semaphore, until);
  return wait_semaphore(semaphore, THREADMARK_SITE,
                        [&] { return real().sem_timedwait(semaphore, until); });
}
THREADMARK_WRAP(int, sem_clockwait, sem_t* semaphore, clockid_t clock, const timespec* until) {
  if (!is_clock(clock) || !is_time(until)) return real().sem_clockwait(semaphore, clock, until);
  return wait_semaphore(semaphore, THREADMARK_SITE,
                        [&] { return real().sem_clockwait(semaphore, clock, until); });
}
THREADMARK_WRAP(int, sem_post, sem_t* semaphore) {
  if (is_hot(semaphore))
    signalled(THREADMARK_SITE, ObjectKind::semaphore, address_of(semaphore), false);
  return real().sem_post(semaphore);
}

namespace {

// The threads that run a routine of pthread_once or initialise a variable, by the address of the
// object. A later object with the same hash replaces an entry.
struct Initialiser {
  std::atomic<std::uint64_t> address;
  std::atomic<std::int32_t> tid;
};
constinit Initialiser initialisers[1024]{};

Initialiser& initialiser_of(std::uint64_t address) {
  return initialisers[hashed(address, 2) % 1024];
}

void initialises(std::uint64_t address) {
  Busy busy;
  if (!busy) return;
  Initialiser& to = initialiser_of(address);
  put(to.address, 0);
  publish(to.tid, own_tid());
  publish(to.address, address);
}

std::int32_t who_initialises(std::uint64_t address) {
  const Initialiser& from = initialiser_of(address);
  if (see(from.address) != address) return 0;
  const std::int32_t tid = see(from.tid);
  return get(from.address) == address ? tid : 0;
}

// Other threads wait until this function has returned. An exception of the routine passes through
// it.
void run_once() {
  const Once now = mine.once;
  initialises(now.address);
  now.routine();
  if (is_hot(reinterpret_cast<char*>(now.address)))
    named_holder(now.site, ObjectKind::once, now.address);
}

[[gnu::noinline]] int begin_once(pthread_once_t* once, void (*routine)(), Site site) {
  const Once outer = mine.once;
  mine.once = {routine, address_of(once), site};
  const int result = real().pthread_once(once, run_once);
  mine.once = outer;
  return result;
}

}  // namespace

// Only a call that finds another thread inside waits; the routine itself is the target's own work.
THREADMARK_WRAP(int, pthread_once, pthread_once_t* once, void (*routine)()) {
  constexpr int kInside = 1, kDone = 2;
  const int state = __atomic_load_n(once, __ATOMIC_RELAXED) & 3;
  if (__builtin_expect(state == kDone || shared() == nullptr, 1))
    return real().pthread_once(once, routine);
  if (state != kInside) return begin_once(once, routine, THREADMARK_SITE);
  Wait waiting(THREADMARK_SITE, Activity::once, ObjectKind::once, address_of(once),
               who_initialises(address_of(once)));
  const int result = begin_once(once, routine, THREADMARK_SITE);
  waiting.end(Activity::once);
  return result;
}

// The second byte of a guard is not 0 while a thread initialises the variable. The wait itself is a
// futex or a condition of the C++ library, which must not count as another wait.
THREADMARK_WRAP(int, __cxa_guard_acquire, void* guard) {
  const auto* bytes = static_cast<const unsigned char*>(guard);
  const std::uint64_t address = address_of(guard);
  if (real().__cxa_guard_acquire == nullptr) return 1;
  int result = 0;
  if (__atomic_load_n(bytes, __ATOMIC_RELAXED) != 0 ||
      __atomic_load_n(bytes + 1, __ATOMIC_RELAXED) == 0) {
    result = real().__cxa_guard_acquire(guard);
  } else {
    Wait waiting(THREADMARK_SITE, Activity::once, ObjectKind::once, address,
                 who_initialises(address));
    const bool before = mine.busy;
    mine.busy = true;
    result = real().__cxa_guard_acquire(guard);
    mine.busy = before;
    waiting.end(Activity::once);
  }
  if (result != 0) initialises(address);
  return result;
}
THREADMARK_WRAP(void, __cxa_guard_release, void* guard) {
  if (is_hot(guard)) named_holder(THREADMARK_SITE, ObjectKind::once, address_of(guard));
  if (real().__cxa_guard_release != nullptr) real().__cxa_guard_release(guard);
}
THREADMARK_WRAP(void, __cxa_guard_abort, void* guard) {
  if (is_hot(guard)) named_holder(THREADMARK_SITE, ObjectKind::once, address_of(guard));
  if (real().__cxa_guard_abort != nullptr) real().__cxa_guard_abort(guard);
}

namespace {

// Whether a system call that returned 0 has returned in a new process with memory of its own.
bool makes_process(long number, long a) {
#ifdef SYS_fork
  if (number == SYS_fork) return true;
#endif
  constexpr std::uint64_t kSameMemory = 0x100;
  if (number == SYS_clone) return (static_cast<std::uint64_t>(a) & kSameMemory) == 0;
#ifdef SYS_clone3
  if (number == SYS_clone3) return (*reinterpret_cast<const std::uint64_t*>(a) & kSameMemory) == 0;
#endif
  return false;
}

}  // namespace

THREADMARK_WRAP(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
  const auto& call = real().syscall;
  if (number == SYS_futex) {
    const long operation = b & FUTEX_CMD_MASK;
    const auto address = static_cast<std::uint64_t>(a);
    if (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET || operation == FUTEX_LOCK_PI) {
      Wait waiting(THREADMARK_SITE, Activity::futex, ObjectKind::futex, address);
      const long result = call(number, a, b, c, d, e, f);
      waiting.end(Activity::futex);
      return result;
    }
    if (operation == FUTEX_WAKE && is_hot(reinterpret_cast<char*>(a)))
      signalled(THREADMARK_SITE, ObjectKind::futex, address, c > 1);
  } else if (number == SYS_seccomp || (number == SYS_prctl && a == 22)) {
    be_quiet();
  }
  const long result = call(number, a, b, c, d, e, f);
  if (result == 0 && makes_process(number, a)) begin_child();
  return result;
}

// A filter of system calls may kill the process for a call that the process does not use itself.
THREADMARK_WRAP(int, prctl, int option, unsigned long a, unsigned long b, unsigned long c,
                unsigned long d) {
  if (option == 22 /* PR_SET_SECCOMP */) be_quiet();
  return real().prctl(option, a, b, c, d);
}

}  // namespace threadmark::agent

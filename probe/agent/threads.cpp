// The wrappers of the functions that begin and end threads, and the agent's work at the beginning
// and the end of every thread.
#include <pthread.h>

#include "probe/agent/modules.hpp"
#include "probe/agent/real.hpp"
#include "probe/agent/start.hpp"
#include "probe/agent/system.hpp"
#include "probe/agent/waits.hpp"

namespace threadmark::agent {

namespace {

// The function of a new thread, by its slot.
struct Start {
  void* (*routine)(void*);
  void* argument;
};
constinit Start starts[kThreads]{};
pthread_key_t end_key;
bool has_end_key = false;
std::size_t tid_offset = 0;  // in the structure that a pthread_t points to

// The C library calls destructors of keys in up to four rounds. The agent's destructor should be
// the last, so that the agent still records the work of the others.
void key_destructor(void* round) {
  constexpr std::uintptr_t kRounds = 4;
  const auto now = reinterpret_cast<std::uintptr_t>(round);
  if (now < kRounds)
    real().pthread_setspecific(end_key, reinterpret_cast<void*>(now + 1));
  else
    end_thread();
}

void* start_of_thread(void* slot) {
  const auto index = reinterpret_cast<std::uintptr_t>(slot);
  const Start start = starts[index];
  {
    Busy busy;
    if (busy) {
      Thread& thread = shared()->threads[index];
      begin_thread(&thread);
      const std::uint64_t now = now_ns();
      Thread::Total& total = thread.total[static_cast<std::size_t>(Activity::starting)];
      put(total.ns, now - get(thread.begin_ns));
      put(total.times, 1);
      begin_change(thread.version);
      put(thread.activity, Activity::running);
      put(thread.since_ns, now);
      end_change(thread.version);
    }
  }
  return start.routine(start.argument);
}

[[gnu::noinline]] int create(pthread_t* handle, const pthread_attr_t* attributes,
                             void* (*routine)(void*), void* argument, Site site) {
  Thread* thread = nullptr;
  {
    Busy busy;
    if (busy && (thread = new_thread()) != nullptr) {
      starts[thread - shared()->threads] = {routine, argument};
      put(thread->maker, own_tid());
      put(thread->made_at, stack_of(site, true));
      const std::uint64_t now = now_ns();
      put(thread->begin_ns, now);
      begin_change(thread->version);
      put(thread->activity, Activity::starting);
      put(thread->since_ns, now);
      end_change(thread->version);
    }
  }
  if (thread == nullptr) return real().pthread_create(handle, attributes, routine, argument);
  Brief creating(site, Activity::creating);
  const int result = real().pthread_create(handle, attributes, start_of_thread,
                                           reinterpret_cast<void*>(thread - shared()->threads));
  if (result != 0) publish(thread->use, Thread::free);
  creating.end();
  return result;
}

}  // namespace

// Called before the target's first thread. The agent's part of a thread ends in a destructor of a
// key, because pthread_exit and cancellation do not return to the start function of the thread.
void prepare_threads() {
  has_end_key = real().pthread_key_create(&end_key, key_destructor) == 0;
  const auto* words = reinterpret_cast<const std::int32_t*>(pthread_self());
  constexpr std::size_t kUsual = 720 / sizeof *words;
  if (words[kUsual] == own_tid()) {
    tid_offset = kUsual;
    return;
  }
  for (std::size_t i = 128; i < 512 && tid_offset == 0; ++i)
    if (words[i] == own_tid()) tid_offset = i;
}

void at_thread_end() {
  if (has_end_key) real().pthread_setspecific(end_key, reinterpret_cast<void*>(1));
}

std::int32_t tid_of(unsigned long handle) {
  if (tid_offset == 0) return -1;
  std::int32_t tid = 0;  // the kernel clears it when the thread ends
  __builtin_memcpy(&tid, reinterpret_cast<const std::int32_t*>(handle) + tid_offset, sizeof tid);
  return tid;
}

namespace {

// A join of a thread that has ended is no wait.
template <class Waiting>
int join(pthread_t thread, Site site, Waiting wait) {
  const std::int32_t tid = shared() == nullptr ? 0 : tid_of(thread);
  if (tid == 0) return wait();
  // Each thread is an object of its own only in programs with few threads, because table entries
  // cost a program that makes many threads more than the threads do.
  constexpr std::uint32_t kMany = 256;
  if (get(shared()->threads_used) < kMany) {
    Wait waiting(site, Activity::join, ObjectKind::thread, static_cast<std::uint64_t>(tid), tid);
    const int result = wait();
    waiting.end(Activity::join);
    return result;
  }
  Wait waiting(site, Activity::join, tid);
  const int result = wait();
  waiting.end(Activity::join);
  return result;
}

}  // namespace

THREADMARK_WRAP(int, pthread_create, pthread_t* handle, const pthread_attr_t* attributes,
                void* (*routine)(void*), void* argument) {
  return create(handle, attributes, routine, argument, THREADMARK_SITE);
}
THREADMARK_WRAP(int, pthread_join, pthread_t thread, void** result) {
  return join(thread, THREADMARK_SITE, [&] { return real().pthread_join(thread, result); });
}
THREADMARK_WRAP(int, pthread_timedjoin_np, pthread_t thread, void** result, const timespec* until) {
  return join(thread, THREADMARK_SITE,
              [&] { return real().pthread_timedjoin_np(thread, result, until); });
}
THREADMARK_WRAP(int, pthread_clockjoin_np, pthread_t thread, void** result, clockid_t clock,
                const timespec* until) {
  return join(thread, THREADMARK_SITE,
              [&] { return real().pthread_clockjoin_np(thread, result, clock, until); });
}

}  // namespace threadmark::agent

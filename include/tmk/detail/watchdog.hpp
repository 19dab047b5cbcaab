// The watchdog, one thread of each pool. Threads that sleep unknown to the pool (in a condition
// variable, a file, a barrier between tasks) count as running. While a task is pending, the
// watchdog looks which threads sleep, and lets as many more run.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <utility>

#include "distances.hpp"
#include "entry.hpp"
#include "fence.hpp"
#include "futex.hpp"
#include "pool_class.hpp"
#include "processors.hpp"
#include "surplus.hpp"
#include "thread_usage.hpp"
#include "worker.hpp"

namespace tmk::detail {

// The time between two looks.
inline constexpr std::chrono::milliseconds kTick{4};
// Looks without progress. From kFewLooks on, the watchdog takes a thread that gives its processor
// away for a polling thread; after kPatience, it takes any thread for a spinning one.
inline constexpr std::uint32_t kFewLooks = 4;
inline constexpr std::uint32_t kPatience = 32;
// The time between two looks at the oldest tasks, and the number of looks for which a task may stay
// oldest.
inline constexpr std::chrono::milliseconds kAge{64};
inline constexpr std::uint32_t kOldAge = 4;
// The time without a task after which the pages of free slabs go back to the system, and the time
// for which the watchdog tries.
inline constexpr std::chrono::milliseconds kLongIdle{250};
inline constexpr std::chrono::minutes kLongestIdle{1};

// Places of deques between the oldest and the newest task: at least as many as tasks are pending.
inline std::uint32_t Pool::count_places() {
  std::uint64_t sum = 0;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) sum += w->count_places();
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, kRunning / 2));
}
inline std::uint64_t Pool::claims() {
  std::uint64_t sum = 0;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    sum += w->taken.read() + w->revoked.read() + w->stolen.read();
  }
  return sum;
}
// Whether a worker's bottom is lower than at the last look. The branches that their makers run are
// seen by that alone, because no counter has them.
inline bool Pool::have_joined() {
  bool joined = false;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    // ORDER fallen: relaxed, statistic.
    const std::size_t bottom = w->bottom.load(std::memory_order_relaxed);
    joined |= bottom < std::exchange(w->seen_bottom, bottom);
  }
  return joined;
}
inline void Pool::start_watchdog() {
  alarm_.store(1);
  if (watched_.exchange(true)) {
    futex_wake(alarm_, 1);
  } else if (!start(&Pool::watchdog_main)) {
    watched_.store(false);
    refused_.store(true);
    activity_.fetch_and(~kArmed);  // a later push tries again
    alert();
  }
}

// If some processors are nearer than others, thieves take from the near ones first.
[[gnu::noinline, gnu::cold]] inline void Pool::measure_distances() noexcept {
  if (width_ <= 2 || distances_.load() != nullptr) return;
  try {
    auto measured =
        std::make_unique<const Distances>(endless_ ? processors_of(getpid()) : processors_);
    if (measured->differ()) distances_.store(measured.release());
  } catch (...) {  // no memory, so nothing is nearer
  }
}
inline bool Pool::keeps_pages() const {
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    const Surplus* const surplus = w->surplus.load();
    if (surplus != nullptr && surplus->has_pages()) return true;
  }
  return false;
}
[[gnu::noinline, gnu::cold]] inline void Pool::give_pages_back() {
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    if (Surplus* const surplus = w->surplus.load()) surplus->give_pages_back();
  }
}

inline void Pool::watchdog_main() {
  using std::chrono::steady_clock;
  measure_distances();
  std::chrono::nanoseconds idle_for = kLongIdle;
  while (!stopping_.load()) {
    if (alarm_.exchange(0) == 0) {
      // Pages that are in use at this look may be free when the watchdog has waited as long again.
      const bool waits = idle_for <= kLongestIdle && keeps_pages();
      const timespec then = deadline_in(idle_for);
      if (!futex_wait_until(alarm_, 0, waits ? &then : nullptr)) {
        give_pages_back();
        idle_for *= 2;
      }
      continue;
    }
    idle_for = kLongIdle;
    std::uint64_t before = claims(), credit = 0, begun_before = begun_threads_.load();
    bool others_run = false;
    std::uint32_t stuck = 0, next = kPatience, patient = 0;
    // The number of threads that may run although none waits. It is more than run now, also when
    // the threads of the program alone are more than the pool's size.
    std::uint32_t beyond = 0;
    std::chrono::nanoseconds pause = kTick;
    auto last = steady_clock::now(), aged = last;
    while (!stopping_.load()) {
      const timespec tick = deadline_in(pause);
      futex_wait_until(alarm_, 0, &tick);
      const auto begun = steady_clock::now();
      refused_.store(false);
      if (!has_pending()) {
        // Threads of the program that sleep still count as running. As many other threads may run
        // at once after a push, before the next look.
        extra_.store(count_waiting(begun - last, false));
        activity_.fetch_and(~kArmed);
        alert();
        heavy_fence();
        if (!may_have_pending() || (activity_.fetch_or(kArmed) & kArmed) != 0) break;
      }
      // A thread that was added claims one task; further claims mean that others have ended.
      const std::uint64_t claimed = claims() - before;
      before += claimed;
      const std::uint64_t begun_now = begun_threads_.load();
      credit += begun_now - std::exchange(begun_before, begun_now);
      if (have_joined() || claimed > credit) {
        credit = stuck = 0;
        patient /= 2;
        next = kPatience * (patient + 1);
        others_run = true;
      } else {
        credit -= claimed;
        if (++stuck >= next) {  // the running threads may spin, waiting for a pending task
          ++patient;
          next = stuck + kPatience * (patient + 1);
          beyond = std::max(beyond, running() + 1);
        }
      }
      // If no task gets on, the oldest task starves no more than others.
      if (begun - aged >= kAge && std::exchange(others_run, false)) {
        aged = begun;
        const std::uint32_t starved = mark_starving();
        beyond = starved == 0 ? 0 : running() + starved;
      }
      const std::uint32_t waiting = count_waiting(begun - last, stuck >= kFewLooks);
      last = begun;
      // While most threads wait and no task gets on, as many again may run, because thousands may
      // wait for each other.
      const bool idle = stuck > 0 && 4 * waiting >= 3 * running();
      const std::uint32_t most = target_ + patient + (idle ? 2 * waiting : waiting);
      extra_.store(std::min(kRunning / 4, std::max(most, beyond) - target_));
      // The watchdog leaves most of its processor to others, however many threads there are.
      pause = std::max<std::chrono::nanoseconds>(kTick, 8 * (steady_clock::now() - begun));
      for (std::uint32_t places = count_places(); running() < limit() && places != 0; --places) {
        if (!add_thread()) break;
      }
    }
  }
}

// The number of threads that count as running and wait. They sleep and have hardly run `since` the
// last look or, if `stuck`, have given their processor away again and again, as a polling thread
// does.
inline std::uint32_t Pool::count_waiting(std::chrono::nanoseconds since, bool stuck) {
  constexpr std::int64_t kShortNs = 50'000;
  std::uint32_t count = 0;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    const pid_t thread = w->thread.load();
    const std::int64_t used_ns = w->active.load() ? cpu_ns(thread) : -1;
    const std::int64_t ran_ns = used_ns - std::exchange(w->seen_cpu_ns, used_ns);
    const bool slept = used_ns >= 0 && 8 * ran_ns < since.count() &&
                       ((w->seen_asleep && ran_ns == 0) || is_asleep(thread));
    const std::uint64_t times = stuck && used_ns >= 0 && !slept ? times_scheduled(thread) : 0;
    const std::uint64_t before = std::exchange(w->seen_scheduled, times);
    const bool polls =
        before != 0 && times > before && ran_ns < kShortNs * std::int64_t(times - before);
    w->seen_asleep = slept;
    if (slept || polls) ++count;
  }
  return count;
}

// Marks the workers whose oldest task stays pending while other tasks run. Returns the number of
// workers that still have an earlier mark, because no thread has taken their task.
inline std::uint32_t Pool::mark_starving() {
  std::uint32_t unserved = 0;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    const Entry oldest = w->oldest_pending();
    if (oldest == 0) {
      w->oldest_age = 0;
    } else if (oldest == w->seen_oldest) {
      ++w->oldest_age;
    } else {  // tasks after a starved one need not wait as long
      w->oldest_age = w->oldest_age < kOldAge ? 0 : kOldAge - 1;
    }
    w->seen_oldest = oldest;
    if (w->oldest_age < kOldAge) continue;
    if (w->starving.exchange(true)) {
      ++unserved;
    } else {
      starving_.fetch_add(1);
    }
  }
  return unserved;
}

}  // namespace tmk::detail

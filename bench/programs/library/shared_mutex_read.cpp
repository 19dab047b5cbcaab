// A table that is read nearly always: each operation reads it under the lock, one in kWrite also
// writes it. The readers share only the table and the lock's own words.
#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "contention.hpp"

namespace {

constexpr std::uint64_t kWrite = 8192;

struct SharedMutex {
  explicit SharedMutex(unsigned) {}
  template <class F>
  void read(unsigned, F f) {
    const std::shared_lock lock(mutex);
    f();
  }
  template <class F>
  void write(F f) {
    const std::unique_lock lock(mutex);
    f();
  }
  std::shared_mutex mutex;
};

struct Mutex {
  explicit Mutex(unsigned) {}
  template <class F>
  void read(unsigned, F f) {
    const std::lock_guard lock(mutex);
    f();
  }
  template <class F>
  void write(F f) {
    read(0, f);
  }
  std::mutex mutex;
};

// A reader takes its own mutex, a writer all of them, always in the same order.
struct MutexEach {
  explicit MutexEach(unsigned threads) : own(threads) {}
  template <class F>
  void read(unsigned thread, F f) {
    const std::lock_guard lock(own[thread].mutex);
    f();
  }
  template <class F>
  void write(F f) {
    std::vector<std::unique_lock<std::mutex>> all;
    for (Own& each : own) all.emplace_back(each.mutex);
    f();
  }
  struct alignas(bench::cache_line) Own {
    std::mutex mutex;
  };
  std::vector<Own> own;
};

// Roles: readers, each with its slot; writers, one at a time by `writers`.
// Words: slot[i], written by reader i alone, 1 while it reads; writing, by the one writer.
// Steps: a reader sets its slot, then looks at `writing`; if that is set it clears its slot and
//   sets it again holding `writers`, when no writer is. A writer, holding `writers`, sets
//   `writing`, then waits for each slot to be clear.
// Invariant: nobody writes while a slot is set by one who reads.
// Fear: the reader sees no writer and the writer sees no reader.
// Argument: both write their own word before they read the other's, in one total order of all
//   (sequential consistency): the later one sees the earlier.
// What checks it: the two words of the table, that only a writer sees apart; ThreadSanitizer.
struct Slots {
  explicit Slots(unsigned threads) : slots(threads) {}
  template <class F>
  void read(unsigned thread, F f) {
    std::atomic<bool>& slot = slots[thread].reading;
    slot.store(true);
    if (writing.load()) {
      slot.store(false);
      const std::lock_guard lock(writers);
      slot.store(true);
    }
    f();
    slot.store(false);
  }
  template <class F>
  void write(F f) {
    const std::lock_guard lock(writers);
    writing.store(true);
    for (Slot& each : slots) {
      for (int looks = 0; each.reading.load(); ++looks) {
        if (looks > 1000) std::this_thread::yield();  // the reader has lost its processor
      }
    }
    f();
    writing.store(false);
  }
  struct alignas(bench::cache_line) Slot {
    std::atomic<bool> reading{false};
  };
  std::mutex writers;
  alignas(bench::cache_line) std::atomic<bool> writing{false};
  std::vector<Slot> slots;
};

template <class Lock>
struct guarded {
  explicit guarded(unsigned count) : lock(count), threads(count) {}
  struct contender {
    contender(guarded& shared, unsigned thread) : all(shared), index(thread) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        all.lock.read(index, [this] { apart |= all.first ^ all.second; });
        if (++done % kWrite == 0) {
          all.lock.write([this] {
            all.first = bench::opaque(all.first + 1);
            bench::escape(&all);  // the two are written one after the other
            all.second = bench::opaque(all.second + 1);
          });
          ++written;
        }
      }
    }
    std::string check(std::uint64_t n) const {
      if (written != n / kWrite) return "another number of writes was done";
      return apart == 0 ? "" : "a reader saw what a writer had half written";
    }
    guarded& all;
    unsigned index;
    std::uint64_t done = 0, written = 0, apart = 0;
  };
  // Less than one write of each thread is still to come.
  std::string check(std::uint64_t n) const {
    if (first != second) return "a write was done by half";
    return first <= n / kWrite && n / kWrite < first + threads ? "" : "writes were lost";
  }
  alignas(bench::cache_line) std::uint64_t first = 0, second = 0;
  alignas(bench::cache_line) Lock lock;
  const unsigned threads;
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "shared_mutex_read",
        .summary = "readers under one shared_mutex write to its count of readers",
        .operation = "read a table under the lock, one in 8192 times write it",
        .origin =
            "Abseil performance tip 197; Calciu and others, NUMA-aware reader-writer locks, 2013",
        .ways = {
            bench::usual<guarded<SharedMutex>>("shared_mutex",
                                               "shared_lock of one std::shared_mutex"),
            bench::usual<guarded<Mutex>>("mutex", "lock_guard of one std::mutex"),
            bench::remedy<guarded<MutexEach>>(
                "mutex_each", "a mutex for each thread: a reader takes its own, a writer all"),
            bench::remedy<guarded<Slots>>(
                "slots",
                "a flag for each reader, which a writer waits for after it has shown itself"),
        })

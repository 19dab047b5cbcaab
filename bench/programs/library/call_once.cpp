// call_once on flags that no two threads share, fresh and done ones; and equivalent code without
// it.
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "contention.hpp"

namespace {

// Flag: call(f) calls f the first time. A fresh one for each operation, which calls it twice.
template <class Flag>
struct fresh {
  explicit fresh(unsigned) {}
  struct contender {
    contender(fresh&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        Flag flag;
        bench::escape(&flag);
        flag.call([this] { ++calls; });
        flag.call([this] { ++calls; });
      }
    }
    std::string check(std::uint64_t n) const {
      return calls == n ? "" : "a function was not called exactly once for each flag";
    }
    std::uint64_t calls = 0;
  };
};

template <class Flag>
struct Done {
  Done() {
    flag.call([this] { ++calls; });
  }
  void run(std::uint64_t n) {
    for (; n != 0; --n) {
      bench::escape(&flag);
      flag.call([this] { ++calls; });
      sum += calls;
    }
  }
  Flag flag;
  std::uint64_t calls = 0, sum = 0;
};

template <class Flag>
struct done {
  explicit done(unsigned) {}
  struct contender : Done<Flag> {
    contender(done&, unsigned) {}
    std::string check(std::uint64_t n) const {
      return this->calls == 1 && this->sum == n ? "" : "a function was called again";
    }
  };
};

template <class Flag>
struct done_shared {
  explicit done_shared(unsigned) {
    flag.call([this] { calls.fetch_add(1); });
  }
  struct contender {
    contender(done_shared& shared, unsigned) : all(shared) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        bench::escape(&all.flag);
        all.flag.call([this] { all.calls.fetch_add(1); });
        sum += all.calls.load();
      }
    }
    std::string check(std::uint64_t n) const {
      return sum == n ? "" : "a function was called again";
    }
    done_shared& all;
    std::uint64_t sum = 0;
  };
  alignas(bench::cache_line) Flag flag;
  std::atomic<std::uint64_t> calls{0};
};

struct OnceFlag {
  template <class F>
  void call(F f) {
    std::call_once(flag, f);
  }
  std::once_flag flag;
};

// Looks, locks its own mutex, looks again. A function that throws leaves it as it was.
struct MutexFlag {
  template <class F>
  void call(F f) {
    if (called.load()) return;
    const std::lock_guard lock(mutex);
    if (called.load()) return;
    f();
    called.store(true);
  }
  std::atomic<bool> called{false};
  std::mutex mutex;
};

// What is done when the function-local variable is made: once for each kind, whoever asks.
struct local_static {
  explicit local_static(unsigned) {}
  struct contender {
    contender(local_static&, unsigned) {}
    static const std::uint64_t& one() {
      static const std::uint64_t value = bench::opaque(std::uint64_t{1});
      return value;
    }
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        const std::uint64_t& value = one();
        bench::escape(&value);
        sum += value;
      }
    }
    std::string check(std::uint64_t n) const {
      return sum == n ? "" : "the variable had another value than its first";
    }
    std::uint64_t sum = 0;
  };
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "call_once", .summary = "call_once on flags that no two threads share",
        .operation = "one flag, asked twice if it is fresh and once if it is done",
        .origin = "llvm/llvm-project pull request 192433",
        .ways = {
            bench::usual<fresh<OnceFlag>>("fresh", "call_once on a fresh flag of the thread's own"),
            bench::usual<done<OnceFlag>>("done", "call_once on an own flag that is done"),
            bench::usual<done_shared<OnceFlag>>("done_shared",
                                                "call_once on one flag that is done"),
            bench::remedy<fresh<MutexFlag>>("fresh_mutex",
                                            "an atomic flag with a mutex of its own, fresh"),
            bench::remedy<done_shared<MutexFlag>>("done_mutex", "the same, one that is done"),
            bench::remedy<local_static>("local_static", "a function-local static that is made"),
        })

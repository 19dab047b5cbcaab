// may use: tmk : tmk::tmk : HAS_TMK
// A thread for every small piece of work: the cost of its start and end, and whether those of one
// thread hold up those of another. The remedies hand the work to existing threads.
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "contention.hpp"
#include "opaque.hpp"

#if defined(HAS_TMK)
#include <tmk/async.hpp>
#endif

namespace {

// The work: the n-th piece adds n, so all pieces are done once when the sum is that of 1 to n.
struct Sum {
  void add() { value += ++pieces; }
  std::string check(std::uint64_t n) const {
    if (pieces != n) return std::to_string(n - pieces) + " pieces of work were not done";
    return value == n * (n + 1) / 2 ? "" : "the sum of the pieces is another";
  }
  std::uint64_t pieces = 0, value = 0;
};

// A contender that lets Do do each piece.
template <class Do>
struct pieces {
  explicit pieces(unsigned) {}
  struct contender {
    contender(pieces&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) Do()(sum);
    }
    std::string check(std::uint64_t n) const { return sum.check(n); }
    Sum sum;
  };
};

struct WithThread {
  void operator()(Sum& sum) const {
    std::thread([&sum] { sum.add(); }).join();
  }
};

#if defined(__cpp_lib_jthread)
struct WithJthread {
  void operator()(Sum& sum) const {
    const std::jthread joined_at_the_end([&sum] { sum.add(); });
  }
};
#endif

// One other thread per contender, that is there for all pieces.
struct kept_thread {
  explicit kept_thread(unsigned) {}
  struct contender {
    contender(kept_thread&, unsigned) : worker([this] { serve(); }) {}
    contender(const contender&) = delete;
    ~contender() {
      hand_over(false);
      worker.join();
    }
    void run(std::uint64_t n) {
      for (; n != 0; --n) hand_over(true);
    }
    std::string check(std::uint64_t n) const { return sum.check(n); }

   private:
    enum class State { idle, work, stop };

    void hand_over(bool more) {
      std::unique_lock lock(mutex);
      state = more ? State::work : State::stop;
      changed.notify_one();
      done.wait(lock, [this] { return state == State::idle; });
    }
    void serve() {
      std::unique_lock lock(mutex);
      for (bool more = true; more;) {
        changed.wait(lock, [this] { return state != State::idle; });
        more = state == State::work;
        if (more) sum.add();
        state = State::idle;
        done.notify_one();
      }
    }
    std::mutex mutex;
    std::condition_variable changed, done;
    State state = State::idle;
    Sum sum;
    std::thread worker;  // after what it uses
  };
};

#if defined(HAS_TMK)
struct WithTmk {
  void operator()(Sum& sum) const {
    tmk::async([&sum] { sum.add(); }).get();
  }
};

struct tmk_async : pieces<WithTmk> {
  // Makes the pool on a thread that may use all processors; those of contenders may not.
  explicit tmk_async(unsigned threads) : pieces(threads) {
    tmk::async([] {}).get();
  }
};
#endif

std::vector<bench::Way> ways() {
  return {
      bench::usual<pieces<WithThread>>("thread", "std::thread and join"),
#if defined(__cpp_lib_jthread)
      bench::usual<pieces<WithJthread>>("jthread", "std::jthread, which its destructor joins"),
#else
      bench::lacking("jthread", "std::jthread, which its destructor joins",
                     "this library has no std::jthread; a newer one has"),
#endif
      bench::remedy<kept_thread>("kept_thread",
                                 "one more thread per thread, kept, with a condition variable"),
#if defined(HAS_TMK)
      bench::remedy<tmk_async>("tmk_async", "tmk::async and get, on a pool"),
#else
      bench::lacking("tmk_async", "tmk::async and get, on a pool", "tmk needs Linux"),
#endif
  };
}

}  // namespace

CONTENTION_PROGRAM(.name = "thread_start", .summary = "threads start threads of their own",
                   .operation = "start a thread that adds one number, and join it",
                   .origin =
                       "the cost of std::thread and of std::async(launch::async), which starts one",
                   .ways = ways())

// Each thread changes its own atomic and notifies its waiters, of which there are none. The atomics
// lie on their own cache lines, so two threads share only the library's table of waiters.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "contention.hpp"

namespace {

template <class T>
struct Word {
  void set(std::uint64_t v) { value.store(static_cast<T>(v)); }
  bool is(std::uint64_t v) const { return value.load() == static_cast<T>(v); }
  void notify() { value.notify_one(); }
  void wait_while(std::uint64_t v) const { value.wait(static_cast<T>(v)); }
  std::atomic<T> value{0};
};

// A contender's word where no line and no pair of lines has another: at its begin, or so many
// bytes from it that the words of threads are apart by 8 modulo the line.
template <class AnyWord, bool kShifted>
struct alignas(bench::cache_line) Slot {
  explicit Slot(unsigned thread) : at(kShifted ? thread % words.size() : 0) {}
  AnyWord& word() { return words[at].word; }
  struct alignas(8) Place {
    AnyWord word;
  };
  static_assert(sizeof(Place) == 8);
  std::array<Place, bench::cache_line / 8> words;
  std::size_t at;
};

// One that waits is woken by a notification.
template <class AnyWord>
bool wakes() {
  const auto word = std::make_unique<AnyWord>();
  bool seen = false;
  std::thread waiter([&] {
    while (word->is(0)) word->wait_while(0);
    seen = word->is(1);
  });
  std::this_thread::yield();
  word->set(1);
  word->notify();
  waiter.join();
  return seen;
}

template <class AnyWord, bool kShifted = false>
struct notify {
  explicit notify(unsigned) {}
  struct contender : Slot<AnyWord, kShifted> {
    contender(notify&, unsigned thread) : Slot<AnyWord, kShifted>(thread) {}
    void run(std::uint64_t n) {
      AnyWord& word = this->word();
      for (; n != 0; --n) {
        word.set(++last);
        word.notify();
      }
    }
    std::string check(std::uint64_t n) {
      return this->word().is(n) ? "" : "the word has another value than it was given last";
    }
    std::uint64_t last = 0;
  };
  std::string check(std::uint64_t) const {
    return wakes<AnyWord>() ? "" : "a waiter was woken without a new value";
  }
};

// The same while another thread of the process waits for something else.
template <class AnyWord>
struct notify_with_waiter : notify<AnyWord> {
  explicit notify_with_waiter(unsigned threads) : notify<AnyWord>(threads) {}
  ~notify_with_waiter() {
    *over = 1;
    over->notify_one();
    waiter.join();
  }
  struct contender : notify<AnyWord>::contender {
    contender(notify_with_waiter& all, unsigned thread) : notify<AnyWord>::contender(all, thread) {}
  };
  struct alignas(bench::cache_line) Over : std::atomic<int> {
    using std::atomic<int>::operator=;
  };
  std::unique_ptr<Over> over = std::make_unique<Over>();
  std::thread waiter{[this] {
    while (over->load() == 0) over->wait(0);
  }};
};

// Waits for another value than one that is gone already: returns at once.
template <class T, bool kChecked = false>
struct wait_done {
  explicit wait_done(unsigned) {}
  struct alignas(bench::cache_line) contender {
    contender(wait_done&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        const T old = static_cast<T>(waits);
        if (!kChecked || value.load() == old) value.wait(old);
        value.store(static_cast<T>(++waits + 1));
      }
    }
    std::string check(std::uint64_t n) const {
      return value.load() == static_cast<T>(n + 1) ? "" : "another number of waits was done";
    }
    std::atomic<T> value{1};
    std::uint64_t waits = 0;
  };
};

// A word and how many wait for it: who notifies asks the library only if somebody does.
// The waiter counts itself before it looks at the word, which the library does once more; who
// notifies changes the word before it looks at the count. In the one order of all four (sequential
// consistency) one of them sees the other.
struct Counted : Word<int> {
  void notify() {
    if (waiters.load() != 0) value.notify_one();
  }
  void wait_while(std::uint64_t v) {
    waiters.fetch_add(1);
    while (is(v)) value.wait(static_cast<int>(v));
    waiters.fetch_sub(1);
  }
  std::atomic<int> waiters{0};
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "atomic_notify",
        .summary = "threads that notify waiters of their own atomics, which have none",
        .operation = "store to an atomic of one's own and notify",
        .origin = "LLVM issue 146145; libstdc++ bits/atomic_wait.h",
        .ways = {
            bench::usual<notify<Word<long>>>("long_notify", "atomic<long> at the begin of a line"),
            bench::usual<notify<Word<long>, true>>(
                "long_shifted", "atomic<long>, each at another place of its line"),
            bench::usual<wait_done<long>>("long_wait",
                                          "atomic<long>: a wait that returns at once, and a store"),
            bench::usual<wait_done<int>>("int_wait", "atomic<int>: a wait that returns at once"),
            bench::usual<notify_with_waiter<Word<long>>>(
                "long_waiter", "atomic<long>, while a thread waits for another atomic"),
            bench::usual<notify_with_waiter<Word<int>>>(
                "int_waiter", "atomic<int>, while a thread waits for another atomic"),
            bench::remedy<notify<Word<int>>>("int_notify", "atomic<int> at the begin of a line"),
            bench::remedy<wait_done<int, true>>("int_checked",
                                                "atomic<int>: a look before the wait"),
            bench::remedy<notify<Counted>>("counted", "atomic<int> with its own count of waiters"),
            bench::remedy<notify_with_waiter<Counted>>(
                "counted_waiter", "the same, while a thread waits for another atomic"),
        })

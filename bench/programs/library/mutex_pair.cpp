// Transfers between two of many accounts, each with its own mutex: ways of locking both, and one
// lock for all instead. With kAccounts two threads rarely want the same account, so the program
// measures the cost of locking two, and of cache lines that move between processors.
// may use: tmk : tmk::tmk : HAS_TMK
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contention.hpp"
#include "random.hpp"

#if defined(HAS_TMK)
#include <tmk/mutex.hpp>
#endif

namespace {

constexpr std::uint32_t kAccounts = 256;

template <class M>
struct alignas(bench::cache_line) Account {
  M mutex;
  std::int64_t balance = 0;
  std::uint64_t transfers = 0;
};

// Lock::mutex, and a lock(Account&, Account&) whose result holds both.
template <class Lock, bool kOwn = false>
struct accounts {
  using One = Account<typename Lock::mutex>;
  explicit accounts(unsigned threads) : all(kAccounts * (kOwn ? threads : 1)) {}

  struct contender {
    contender(accounts& shared, unsigned thread)
        : first(&shared.all[kOwn ? kAccounts * thread : 0]), random(thread + 1) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        const std::uint32_t from = random.below(kAccounts);
        const std::uint32_t to = (from + 1 + random.below(kAccounts - 1)) % kAccounts;
        transfer(first[from], first[to]);
      }
    }
    void transfer(One& from, One& to) {
      [[maybe_unused]] const auto held = Lock::lock(from, to);
      --from.balance;
      ++to.balance;
      ++from.transfers;
      ++to.transfers;
    }
    std::string check(std::uint64_t) const { return {}; }  // only all of them together are known
    One* first;
    bench::Random random;
  };
  std::string check(std::uint64_t n) const {
    std::int64_t balance = 0;
    std::uint64_t transfers = 0;
    for (const One& each : all) {
      balance += each.balance;
      transfers += each.transfers;
    }
    if (balance != 0) return "money was lost or made";
    return transfers == 2 * n ? "" : "transfers were lost";
  }
  std::vector<One> all;
};

// Both of a pair, released in the end.
template <class M>
struct Both {
  std::unique_lock<M> first, second;
};

struct ScopedLock {
  using mutex = std::mutex;
  static auto lock(Account<mutex>& a, Account<mutex>& b) {
    return std::scoped_lock(a.mutex, b.mutex);
  }
};

struct StdLock {
  using mutex = std::mutex;
  static auto lock(Account<mutex>& a, Account<mutex>& b) {
    Both<mutex> both{std::unique_lock(a.mutex, std::defer_lock),
                     std::unique_lock(b.mutex, std::defer_lock)};
    std::lock(both.first, both.second);
    return both;
  }
};

// Dijkstra's: all lock in one order, here that of the addresses.
struct Ordered {
  using mutex = std::mutex;
  static auto lock(Account<mutex>& a, Account<mutex>& b) {
    const bool swapped = std::less<>()(&b, &a);
    std::unique_lock first(swapped ? b.mutex : a.mutex);
    std::unique_lock second(swapped ? a.mutex : b.mutex);
    return Both<mutex>{std::move(first), std::move(second)};
  }
};

struct OneForAll {
  struct mutex {};  // of an account: it needs none
  static auto lock(Account<mutex>&, Account<mutex>&) {
    alignas(bench::cache_line) static std::mutex all;
    return std::unique_lock(all);
  }
};

#if defined(HAS_TMK)
struct Tmk {
  using mutex = tmk::mutex;
  static auto lock(Account<mutex>& a, Account<mutex>& b) {
    return tmk::scoped_lock(a.mutex, b.mutex);
  }
};
bench::Way tmk_way(std::string_view name, std::string_view meaning) {
  return bench::remedy<accounts<Tmk>>(name, meaning);
}
#else
bench::Way tmk_way(std::string_view name, std::string_view meaning) {
  return bench::lacking(name, meaning, "tmk is not there; build it with CMake, which adds it");
}
#endif

}  // namespace

CONTENTION_PROGRAM(
        .name = "mutex_pair", .summary = "transfers between two of 256 accounts, each with a mutex",
        .operation = "lock two mutexes and move one unit between what they guard",
        .origin = "Hinnant, Dining Philosophers Rebooted, 2014",
        .ways = {
            bench::usual<accounts<ScopedLock>>("scoped_lock", "std::scoped_lock of both"),
            bench::usual<accounts<StdLock>>("std_lock",
                                            "std::lock of two deferred std::unique_lock"),
            bench::usual<accounts<ScopedLock, true>>("own",
                                                     "the same, of 256 accounts for each thread"),
            bench::usual<accounts<OneForAll>>("one_mutex", "one std::mutex for all accounts"),
            bench::remedy<accounts<Ordered>>("ordered", "the one of the lower address first"),
            tmk_way("tmk_lock", "tmk::scoped_lock of two tmk::mutex"),
        })

// A configuration that threads read all the time and replace now and then: each operation reads it,
// and one in kReplace also puts a new configuration in its place.
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "contention.hpp"

namespace {

constexpr std::uint64_t kReplace = 8192;

// Two words that belong together, and a count of those that live.
struct alignas(bench::cache_line) Config {
  Config(std::uint64_t v, std::atomic<std::int64_t>& count) : value(v), twin(~v), living(count) {
    living.fetch_add(1);
  }
  Config(const Config&) = delete;
  ~Config() {
    value = twin = 0;  // a reader that has come too late shall see it
    living.fetch_sub(1);
  }
  std::uint64_t value, twin;
  std::atomic<std::int64_t>& living;
};
using Pointer = std::shared_ptr<const Config>;

// Cell: Cell(Pointer), a Reader(Cell&) whose use(f) calls f(const Config&), and replace(Pointer).
template <class Cell>
struct Published {
  explicit Published(unsigned count) : threads(count) {}

  struct contender {
    contender(Published& shared, unsigned) : all(shared), reader(shared.cell) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        reader.use([this](const Config& config) { torn |= config.value + config.twin + 1; });
        if (++done % kReplace == 0) {
          all.cell.replace(std::make_shared<const Config>(done, all.living));
          all.replaced.fetch_add(1);
        }
      }
    }
    std::string check(std::uint64_t n) const {
      if (done != n) return "another number of operations was done";
      return torn == 0 ? "" : "a configuration was read that is half of one and half of another";
    }
    Published& all;
    typename Cell::Reader reader;
    std::uint64_t done = 0, torn = 0;
  };

  // Those that were replaced are gone, but for one that each thread may keep.
  std::string check(std::uint64_t n) const {
    const std::int64_t left = living.load();
    if (left < 1) return "the last configuration is gone";
    if (left > 1 + threads) return "replaced configurations stay alive";
    const std::uint64_t times = replaced.load();
    const auto most = times + static_cast<std::uint64_t>(threads);
    return times <= n / kReplace && n / kReplace < most ? "" : "replacements were lost";
  }

  const std::int64_t threads;
  std::atomic<std::int64_t> living{0};
  alignas(bench::cache_line) std::atomic<std::uint64_t> replaced{0};
  alignas(bench::cache_line) Cell cell{std::make_shared<const Config>(0u, living)};
};

// A way in which each thread has all of it for itself.
template <class Cell>
struct Private {
  explicit Private(unsigned) {}
  struct contender : Published<Cell>::contender {
    contender(Private&, unsigned) : contender(std::make_unique<Published<Cell>>(1)) {}
    std::string check(std::uint64_t n) const {
      const std::string wrong = Published<Cell>::contender::check(n);
      return wrong.empty() ? own->check(n) : wrong;
    }

   private:
    explicit contender(std::unique_ptr<Published<Cell>> mine)
        : Published<Cell>::contender(*mine, 0), own(std::move(mine)) {}
    std::unique_ptr<Published<Cell>> own;
  };
};

#if defined(__cpp_lib_atomic_shared_ptr)
struct Atomic {
  explicit Atomic(Pointer first) : cell(std::move(first)) {}
  struct Reader {
    explicit Reader(Atomic& from) : cell(from.cell) {}
    template <class F>
    void use(F f) {
      f(*cell.load());
    }
    std::atomic<Pointer>& cell;
  };
  void replace(Pointer next) { cell.store(std::move(next)); }
  std::atomic<Pointer> cell;
};
template <template <class> class W>
bench::Way atomic_way(std::string_view name, std::string_view meaning) {
  return bench::usual<W<Atomic>>(name, meaning);
}
#else
template <template <class> class>
bench::Way atomic_way(std::string_view name, std::string_view meaning) {
  return bench::lacking(name, meaning,
                        "this library has no std::atomic<std::shared_ptr>; libstdc++ 12 has");
}
#endif

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // since C++20, for std::atomic
#endif
struct FreeFunctions {
  explicit FreeFunctions(Pointer first) : cell(std::move(first)) {}
  struct Reader {
    explicit Reader(FreeFunctions& from) : cell(from.cell) {}
    template <class F>
    void use(F f) {
      f(*std::atomic_load(&cell));
    }
    Pointer& cell;
  };
  void replace(Pointer next) { std::atomic_store(&cell, std::move(next)); }
  Pointer cell;
};
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

struct Mutex {
  explicit Mutex(Pointer first) : cell(std::move(first)) {}
  Pointer load() {
    const std::lock_guard guard(mutex);
    return cell;
  }
  struct Reader {
    explicit Reader(Mutex& shared) : from(shared) {}
    template <class F>
    void use(F f) {
      f(*from.load());
    }
    Mutex& from;
  };
  void replace(Pointer next) {
    const std::lock_guard guard(mutex);  // the old one dies after it, in the parameter
    cell.swap(next);
  }
  std::mutex mutex;
  Pointer cell;
};

// A copy for each thread, fetched again when the version has changed. The version is counted up
// under the mutex after the pointer is set: who sees it fetches that pointer or a later one.
struct Cached {
  explicit Cached(Pointer first) : published(std::move(first)) {}
  struct Reader {
    explicit Reader(Cached& shared) : from(shared) {}
    template <class F>
    void use(F f) {
      if (const std::uint64_t now = from.version.load(); now != seen) {
        copy = from.published.load();
        seen = now;
      }
      f(*copy);
    }
    Cached& from;
    Pointer copy;
    std::uint64_t seen = 0;
  };
  void replace(Pointer next) {
    published.replace(std::move(next));
    version.fetch_add(1);
  }
  Mutex published;
  alignas(bench::cache_line) std::atomic<std::uint64_t> version{1};
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "atomic_shared_ptr",
        .summary = "threads that read one atomic shared_ptr take turns at its lock and its count",
        .operation = "read a configuration, one in 8192 times replace it",
        .origin = "folly issue 1596; microsoft/STL issue 618",
        .ways = {
            atomic_way<Published>("atomic", "load from one std::atomic<std::shared_ptr>"),
            atomic_way<Private>("atomic_own", "the same, each thread from its own"),
            bench::usual<Published<FreeFunctions>>("functions",
                                                   "std::atomic_load of one shared_ptr"),
            bench::usual<Private<FreeFunctions>>("functions_own", "the same, each from its own"),
            bench::usual<Published<Mutex>>("mutex", "a copy made under a std::mutex"),
            bench::remedy<Published<Cached>>(
                "cached",
                "a copy for each thread, fetched again when a version number has changed"),
        })

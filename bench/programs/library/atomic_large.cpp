// std::atomic of more than a processor changes at once: libatomic locks, from a table of locks by
// address. The objects lie on their own cache lines; the table's locks are the library's.
// may use: Atomic : atomic : HAS_ATOMIC
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "contention.hpp"

namespace {

// Counts up in all its words.
template <std::size_t kWords>
struct Words {
  std::array<std::uint64_t, kWords> words{};
  static Words after(std::uint64_t n) {
    Words result;
    for (std::size_t i = 0; i < kWords; ++i) result.words[i] = n * (i + 1);
    return result;
  }
  Words next() const {
    Words result;
    for (std::size_t i = 0; i < kWords; ++i) result.words[i] = words[i] + i + 1;
    return result;
  }
  bool operator==(const Words&) const = default;
};

#if defined(HAS_ATOMIC)
template <std::size_t kWords>
struct Atomic {
  using Value = Words<kWords>;
  Value load() const { return value.load(); }
  void count() {
    Value seen = value.load();
    while (!value.compare_exchange_weak(seen, seen.next())) {
    }
  }
  std::atomic<Value> value{Value{}};
};
#endif

struct Mutex {
  using Value = Words<4>;
  Value load() const {
    const std::lock_guard lock(mutex);
    return value;
  }
  void count() {
    const std::lock_guard lock(mutex);
    value = value.next();
  }
  mutable std::mutex mutex;
  Value value;
};

// Writers take turns and make the version odd while they write; a reader that finds it odd or
// changed reads again, and writes nothing. The words are atomic, as they are read while written.
struct SequenceLock {
  using Value = Words<4>;
  Value load() const {
    for (;;) {
      Value result;
      const std::uint64_t before = version.load();
      for (std::size_t i = 0; i < 4; ++i) result.words[i] = words[i].load();
      if (before % 2 == 0 && version.load() == before) return result;
    }
  }
  void count() {
    const std::lock_guard lock(mutex);
    const std::uint64_t before = version.load();
    version.store(before + 1);
    for (std::size_t i = 0; i < 4; ++i) words[i].store(words[i].load() + i + 1);
    version.store(before + 2);
  }
  std::atomic<std::uint64_t> version{0};
  std::array<std::atomic<std::uint64_t>, 4> words{};
  std::mutex mutex;
};

// One in kCount operations counts, the others read.
template <class Cell, std::uint64_t kCount>
void operate(Cell& cell, std::uint64_t n, std::uint64_t& done, std::uint64_t& torn) {
  for (; n != 0; --n) {
    if (++done % kCount == 0) {
      cell.count();
    } else {
      const auto value = cell.load();
      if (!(value == decltype(cell.load())::after(value.words[0]))) ++torn;
    }
  }
}

template <class Cell, std::uint64_t kCount>
struct shared {
  explicit shared(unsigned count) : threads(count) {}
  struct contender {
    contender(shared& all, unsigned) : cell(all.cell) {}
    void run(std::uint64_t n) { operate<Cell, kCount>(cell, n, done, torn); }
    std::string check(std::uint64_t n) const {
      return done == n && torn == 0 ? ""
                                    : "a value was read that is half of one and half of another";
    }
    Cell& cell;
    std::uint64_t done = 0, torn = 0;
  };
  // Less than one of each thread is still to come.
  std::string check(std::uint64_t n) const {
    const auto value = cell.load();
    const std::uint64_t counted = value.words[0];
    if (!(value == decltype(cell.load())::after(counted))) return "the words have gone apart";
    return counted <= n / kCount && n / kCount < counted + threads ? "" : "counts were lost";
  }
  const unsigned threads;
  alignas(bench::cache_line) Cell cell;
};

// Each thread its own, kApart bytes from that of the next.
template <class Cell, std::size_t kApart>
struct own {
  struct alignas(bench::cache_line) Place {
    Cell cell;
    unsigned char rest[kApart - sizeof(Cell)];
  };
  static_assert(sizeof(Place) == kApart);
  explicit own(unsigned threads) : places(std::make_unique<Place[]>(threads)) {}
  struct contender {
    contender(own& all, unsigned thread) : cell(all.places[thread].cell) {}
    void run(std::uint64_t n) { operate<Cell, 1>(cell, n, done, torn); }
    std::string check(std::uint64_t n) const {
      return cell.load() == decltype(cell.load())::after(n) ? "" : "counts were lost";
    }
    Cell& cell;
    std::uint64_t done = 0, torn = 0;
  };
  std::unique_ptr<Place[]> places;
};

constexpr std::uint64_t kSeldom = 1024;

#if defined(HAS_ATOMIC)
template <class W>
bench::Way atomic_way(std::string_view name, std::string_view meaning) {
  return bench::usual<W>(name, meaning);
}
template <std::size_t kWords>
using Cell = Atomic<kWords>;
#else
template <class>
bench::Way atomic_way(std::string_view name, std::string_view meaning) {
  return bench::lacking(name, meaning, "there is no libatomic; install the compiler's libatomic");
}
template <std::size_t>
using Cell = Mutex;
#endif

}  // namespace

CONTENTION_PROGRAM(
        .name = "atomic_large", .summary = "atomics of 32 bytes, which have locks of libatomic",
        .operation = "count in all words of a struct, or read it",
        .origin = "gcc libatomic/config/posix/lock.c",
        .ways = {
            atomic_way<shared<Cell<4>, 1>>("shared", "32 bytes that all threads count in"),
            atomic_way<shared<Cell<4>, kSeldom>>(
                "shared_read", "32 bytes that are read, one in 1024 times counted"),
            atomic_way<own<Cell<4>, 4096 + 128>>("own", "32 bytes for each thread"),
            atomic_way<own<Cell<4>, 4096>>("own_page",
                                           "32 bytes for each thread, 4096 bytes apart"),
            atomic_way<own<Cell<2>, 4096>>("own_page_16", "16 bytes for each, 4096 bytes apart"),
            bench::remedy<shared<Mutex, 1>>("mutex", "32 bytes with a std::mutex"),
            bench::remedy<own<Mutex, 4096>>("own_mutex", "the same for each, 4096 bytes apart"),
            bench::remedy<shared<SequenceLock, kSeldom>>(
                "sequence_read", "32 bytes with a version, read, one in 1024 times counted"),
        })

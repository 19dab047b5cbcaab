// A function-local static: the cost of its check, and the cost of making it. A static is made once
// in a process, so the second way calls the compiler's guard functions on fresh guards.
#include <cstdint>
#include <string>
#include <string_view>

#include "contention.hpp"

#if defined(__GNUC__) && !defined(_MSC_VER)
#define HAS_ITANIUM_GUARDS
#include <cxxabi.h>
#endif

namespace {

constexpr std::uint64_t kValue = 7;

struct Reader {
  std::string check(std::uint64_t n) const {
    return sum == n * kValue ? "" : "the sum of what was read is wrong";
  }
  std::uint64_t sum = 0;
};

struct done {
  explicit done(unsigned) {}
  struct contender : Reader {
    contender(done&, unsigned) {}
    [[gnu::noinline]] static const std::uint64_t& value() {
      static const std::uint64_t result = bench::opaque(kValue);
      return result;
    }
    void run(std::uint64_t n) {
      for (; n != 0; --n) sum += value();
    }
  };
};

// The variable is made before main: no guard is asked.
struct namespace_scope {
  explicit namespace_scope(unsigned) {}
  struct contender : Reader {
    contender(namespace_scope&, unsigned) {}
    static constexpr std::uint64_t made = kValue;
    [[gnu::noinline]] static const std::uint64_t& value() {
      bench::escape(&made);
      return made;
    }
    void run(std::uint64_t n) {
      for (; n != 0; --n) sum += value();
    }
  };
};

// Asked for once, kept by the contender.
struct kept {
  explicit kept(unsigned) {}
  struct contender : Reader {
    contender(kept&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        bench::escape(&value);
        sum += value;
      }
    }
    const std::uint64_t& value = done::contender::value();
  };
};

#if defined(HAS_ITANIUM_GUARDS)
template <class Guard>
Guard guard_of(int (*)(Guard*));
using Guard = decltype(guard_of(&abi::__cxa_guard_acquire));  // libraries name it differently

struct fresh {
  explicit fresh(unsigned) {}
  struct alignas(bench::cache_line) contender : Reader {
    contender(fresh&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        Guard guard{};
        std::uint64_t value = 0;
        bench::escape(&guard);
        bench::escape(&value);
        for (int calls = 0; calls < 2; ++calls) {
          if (abi::__cxa_guard_acquire(&guard) == 0) continue;
          value += kValue;
          abi::__cxa_guard_release(&guard);
        }
        sum += value;
      }
    }
  };
};
bench::Way fresh_way(std::string_view name, std::string_view meaning) {
  return bench::usual<fresh>(name, meaning);
}
#else
bench::Way fresh_way(std::string_view name, std::string_view meaning) {
  return bench::lacking(name, meaning, "the guards of this compiler have no names to call");
}
#endif

}  // namespace

CONTENTION_PROGRAM(
        .name = "static_guard",
        .summary = "threads that use a function-local static each ask whether it is made",
        .operation = "read a static; or make one of the thread's own and find it made",
        .origin = "llvm/llvm-project libcxxabi/src/cxa_guard_impl.h: one global mutex or a futex",
        .ways = {
            bench::usual<done>("done", "a function-local static that is made"),
            fresh_way("fresh", "a fresh guard of the thread's own, asked twice"),
            bench::remedy<kept>("kept", "a reference to the static, asked for once"),
            bench::remedy<namespace_scope>("constant", "a constant, made before main"),
        })

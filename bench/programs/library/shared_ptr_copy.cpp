// A shared_ptr is passed by value to a function that only reads: each call counts up and down. The
// object lies on cache lines that no thread writes, so only the count is contended.
#include <cstdint>
#include <memory>
#include <string>

#include "contention.hpp"

namespace {

constexpr std::uint64_t kValue = 7;

struct alignas(bench::cache_line) Thing {
  std::uint64_t value = kValue;
};
using Pointer = std::shared_ptr<const Thing>;

[[gnu::noinline]] std::uint64_t by_value(Pointer p) {
  bench::escape(&p);
  return p->value;
}
[[gnu::noinline]] std::uint64_t by_reference(const Pointer& p) {
  bench::escape(&p);
  return p->value;
}
[[gnu::noinline]] std::uint64_t by_pointer(const Thing* p) {
  bench::escape(p);
  return p->value;
}

// What all threads read, with as many owners as it should have.
struct Shared {
  explicit Shared(unsigned) {}
  std::string check(std::uint64_t) const {
    return thing.use_count() == 1 ? "" : "the thing has another number of owners than one";
  }
  Pointer thing = std::make_shared<const Thing>();
};

struct Reader {
  std::string check(std::uint64_t n) const {
    return sum == n * kValue ? "" : "the sum of what was read is wrong";
  }
  std::uint64_t sum = 0;
};

struct copy : Shared {
  using Shared::Shared;
  struct contender : Reader {
    contender(copy& all, unsigned) : thing(all.thing) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) sum += by_value(thing);
    }
    const Pointer& thing;
  };
};

struct own {
  explicit own(unsigned) {}
  struct contender : Reader {
    contender(own&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) sum += by_value(thing);
    }
    std::string check(std::uint64_t n) const {
      return thing.use_count() == 1 ? Reader::check(n) : "the own thing has another owner";
    }
    Pointer thing = std::make_shared<const Thing>();
  };
};

struct reference : Shared {
  using Shared::Shared;
  struct contender : Reader {
    contender(reference& all, unsigned) : thing(all.thing) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) sum += by_reference(thing);
    }
    const Pointer& thing;
  };
};

struct pointer : Shared {
  using Shared::Shared;
  struct contender : Reader {
    contender(pointer& all, unsigned) : thing(all.thing.get()) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) sum += by_pointer(thing);
    }
    const Thing* thing;
  };
};

// A shared_ptr whose count is this thread's, and what it owns is one copy of the shared one. It
// keeps the thing alive like any other, wherever it goes.
struct owner_per_thread {
  explicit owner_per_thread(unsigned count) : threads(count) {}
  struct alignas(bench::cache_line) Owner {
    Pointer thing;
  };
  struct contender : Reader {
    contender(owner_per_thread& all, unsigned) {
      const auto owner = std::make_shared<const Owner>(Owner{all.thing});
      thing = Pointer(owner, owner->thing.get());
    }
    void run(std::uint64_t n) {
      for (; n != 0; --n) sum += by_value(thing);
    }
    Pointer thing;
  };
  std::string check(std::uint64_t) const {
    return thing.use_count() == 1 + threads ? "" : "the thing has another number of owners";
  }
  const long threads;
  Pointer thing = std::make_shared<const Thing>();
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "shared_ptr_copy", .summary = "readers that copy a shared_ptr write to its count",
        .operation = "one call with a shared_ptr by value",
        .origin = "Meyers, Effective Modern C++, item 19; snf.github.io 2019 on the shortcut alone",
        .ways = {
            bench::usual<copy>("copy", "a copy of one shared_ptr for each call"),
            bench::usual<own>("own", "the same, of an object that is the thread's"),
            bench::usual<own>("alone", "the same, in a process that never had a second thread",
                              bench::Use::alone),
            bench::remedy<reference>("reference", "a reference to the shared_ptr"),
            bench::remedy<pointer>("pointer", "a pointer to the object, which outlives the call"),
            bench::remedy<owner_per_thread>(
                "owner_per_thread",
                "copies of a shared_ptr of the thread's own, which owns "
                "one copy of the shared one"),
        })

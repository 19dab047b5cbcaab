// A pool for several threads, against a pool for each: the cost of std::pmr's "synchronized". Each
// contender keeps a few blocks, so that the check finds a block that two of them own at once.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>

#include "contention.hpp"

namespace {

using Resource = std::pmr::memory_resource;

constexpr std::size_t kKept = 16;  // blocks that a contender has at a time; a power of two

// The i-th block's: 16 to 256 bytes, five of the pool's sizes.
std::size_t size_of(std::uint64_t i) { return std::size_t{16} << i % 5; }

// Replaces the oldest block by a new one, n times.
class Blocks {
 public:
  Blocks(Resource& resource, unsigned thread) : resource_(resource), mark_(thread + 1) {
    for (; done_ != kKept; ++done_) take();
  }
  Blocks(const Blocks&) = delete;
  ~Blocks() {
    for (std::uint64_t i = done_ - kKept; i != done_; ++i) give(i);
  }
  void run(std::uint64_t n) {
    for (const std::uint64_t end = done_ + n; done_ != end; ++done_) {
      give(done_ - kKept);
      take();
    }
  }
  // Every block must still have what this contender wrote last.
  std::string check(std::uint64_t n) const {
    if (done_ != n + kKept) return "blocks were not replaced";
    if (foreign_ != 0) return "a block had another thread's mark when it was given back";
    for (std::uint64_t i = done_ - kKept; i != done_; ++i) {
      if (*block(i) != mark(i)) return "a block has another thread's mark";
    }
    return {};
  }

 private:
  std::uint64_t mark(std::uint64_t i) const { return i << 16 | mark_; }
  std::uint64_t* block(std::uint64_t i) const { return blocks_[i % kKept]; }
  void take() {
    void* memory = resource_.allocate(size_of(done_), alignof(std::uint64_t));
    blocks_[done_ % kKept] = new (memory) std::uint64_t{mark(done_)};
    bench::escape(memory);
  }
  void give(std::uint64_t i) {
    foreign_ += *block(i) != mark(i);
    resource_.deallocate(block(i), size_of(i), alignof(std::uint64_t));
  }

  Resource& resource_;
  const std::uint64_t mark_;
  std::uint64_t done_ = 0, foreign_ = 0;
  std::array<std::uint64_t*, kKept> blocks_;
};

struct shared {
  explicit shared(unsigned) {}
  struct contender : Blocks {
    contender(shared& all, unsigned thread) : Blocks(all.resource, thread) {}
  };
  std::pmr::synchronized_pool_resource resource;
};

template <class Pool>
struct own {
  explicit own(unsigned) {}
  struct resource {
    Pool pool;
  };
  struct contender : private resource, Blocks {  // the pool first: the blocks end before it
    contender(own&, unsigned thread) : Blocks(this->pool, thread) {}
    using Blocks::check, Blocks::run;
  };
};

struct heap {
  explicit heap(unsigned) {}
  struct contender : Blocks {
    contender(heap&, unsigned thread) : Blocks(*std::pmr::new_delete_resource(), thread) {}
  };
};

}  // namespace

CONTENTION_PROGRAM(.name = "pmr_pool", .summary = "blocks from a pool that threads share",
                   .operation = "give back a block of 16 to 256 bytes and take another",
                   .origin = "the class promises threads a shared pool, at what price; Threadmark",
                   .ways =
                       {
                           bench::usual<shared>("shared",
                                                "one synchronized_pool_resource for all threads"),
                           bench::usual<own<std::pmr::synchronized_pool_resource>>(
                               "own_synchronized", "a synchronized_pool_resource for each thread"),
                           bench::remedy<own<std::pmr::unsynchronized_pool_resource>>(
                               "own_unsynchronized",
                               "an unsynchronized_pool_resource for each thread"),
                           bench::remedy<heap>("new_delete", "no pool: new_delete_resource()"),
                       },
                   .allocates = true)

// may use: OpenMP COMPONENTS CXX : OpenMP::OpenMP_CXX : HAS_OPENMP
// Gove's loop: a thread makes its own vector, puts one element into it and destroys it, but all
// threads share the source of the memory. The vectors escape, because the standard allows a
// compiler to leave out the allocation otherwise.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include "contention.hpp"

#if defined(__GLIBCXX__)
#include <ext/pool_allocator.h>
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef HAS_OPENMP  // its run-time library tells the sanitizer nothing of how its threads meet
#endif
#endif

namespace {

// What is put in i-th.
int element(std::uint64_t i) { return static_cast<int>(i & 0xffff); }

// The sum of the first n elements.
std::uint64_t sum_of(std::uint64_t n) {
  const std::uint64_t whole = n >> 16, rest = n & 0xffff;
  return whole * (0x8000ull * 0xffff) + rest * (rest - 1) / 2;
}

// A vector's only element, as memory has it.
template <class Vector>
std::uint64_t filled(Vector& vector, int value) {
  vector.insert(vector.end(), value);
  bench::escape(vector.data());
  return static_cast<std::uint64_t>(vector.front());
}

// What is left of a contender whose vectors only have to be counted and added up.
struct tally {
  std::string check(std::uint64_t n) const {
    return done == n && sum == sum_of(n) ? "" : "the elements of the vectors have another sum";
  }
  std::uint64_t done = 0, sum = 0;
};

template <class Vector>
struct fresh {
  explicit fresh(unsigned) {}
  struct contender : tally {
    contender(fresh&, unsigned) {}
    void run(std::uint64_t n) {
      for (const std::uint64_t end = done + n; done != end; ++done) {
        Vector vector;
        sum += filled(vector, element(done));
      }
    }
  };
};

// The loop as it was printed: nothing is put in.
struct empty {
  explicit empty(unsigned) {}
  struct contender {
    contender(empty&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        std::vector<int> vector;
        bench::escape(&vector);
        without_memory += vector.capacity() == 0;
      }
    }
    std::string check(std::uint64_t n) const {
      return without_memory == n ? "" : "an empty vector had memory";
    }
    std::uint64_t without_memory = 0;
  };
};

struct pool {
  explicit pool(unsigned) {}
  struct contender : tally {
    contender(pool&, unsigned) {}
    void run(std::uint64_t n) {
      for (const std::uint64_t end = done + n; done != end; ++done) {
        std::pmr::vector<int> vector(&resource);
        sum += filled(vector, element(done));
      }
    }
    std::pmr::unsynchronized_pool_resource resource;
  };
};

// Where the bytes are is checked by what lies upstream: it has none.
struct monotonic {
  explicit monotonic(unsigned) {}
  struct contender : tally {
    contender(monotonic&, unsigned) {}
    void run(std::uint64_t n) {
      for (const std::uint64_t end = done + n; done != end; ++done) {
        {
          std::pmr::vector<int> vector(&resource);
          sum += filled(vector, element(done));
        }
        resource.release();
      }
    }
    alignas(std::max_align_t) std::array<std::byte, 256> buffer;
    std::pmr::monotonic_buffer_resource resource{buffer.data(), buffer.size(),
                                                 std::pmr::null_memory_resource()};
  };
};

struct reused {
  explicit reused(unsigned) {}
  struct contender : tally {
    contender(reused&, unsigned) {}
    void run(std::uint64_t n) {
      for (const std::uint64_t end = done + n; done != end; ++done) {
        vector.clear();
        sum += filled(vector, element(done));
      }
    }
    std::string check(std::uint64_t n) const {
      return vector.data() == first ? tally::check(n) : "the vector took new memory";
    }
    // Whole lines: the vectors of two threads may be neighbours on the heap.
    std::vector<int> vector = std::vector<int>(2 * bench::cache_line / sizeof(int));
    const int* first = vector.data();
  };
};

#if defined(HAS_OPENMP)
// Gove's own form: one loop that OpenMP spreads over its threads. A few vectors are not worth a
// team; how many threads took part is counted, since OpenMP may give fewer than it is asked for.
struct openmp {
  explicit openmp(unsigned count) : threads(count) {}
  struct contender : tally {
    contender(openmp& all, unsigned) : threads(all.threads) { run(kTeam); }  // makes the threads
    void run(std::uint64_t n) {
      std::uint64_t added = 0, members = 0;
      const std::uint64_t begin = done, end = done + n;
#pragma omp parallel num_threads(static_cast<int>(threads)) if (n >= kTeam) \
    reduction(+ : added, members)
      {
        ++members;
#pragma omp for nowait
        for (std::uint64_t i = begin; i < end; ++i) {
          std::vector<int> vector;
          added += filled(vector, element(i));
        }
      }
      done = end;
      sum += added;
      missing += n >= kTeam ? threads - members : 0;
    }
    std::string check(std::uint64_t n) const {
      return missing == 0 ? tally::check(n + kTeam) : "OpenMP gave fewer threads than asked for";
    }
    static constexpr std::uint64_t kTeam = 256;
    const std::uint64_t threads;
    std::uint64_t missing = 0;
  };
  const std::uint64_t threads;
};
#endif

bench::Way pool_alloc_way() {
  constexpr auto name = "pool_alloc";
  constexpr auto meaning = "the same with __gnu_cxx::__pool_alloc, which has one mutex";
#if defined(__GLIBCXX__)
  return bench::usual<fresh<std::vector<int, __gnu_cxx::__pool_alloc<int>>>>(name, meaning);
#else
  return bench::lacking(name, meaning, "only libstdc++ has this allocator, so build with it");
#endif
}

bench::Way openmp_way() {
  constexpr auto name = "openmp";
  constexpr auto meaning = "the usual way as one OpenMP loop over all vectors";
#if defined(HAS_OPENMP)
  return bench::usual<openmp>(name, meaning, bench::Use::whole);
#else
  return bench::lacking(
      name, meaning, "OpenMP was not found (clang's is libomp-19-dev), or ThreadSanitizer watches");
#endif
}

}  // namespace

CONTENTION_PROGRAM(
        .name = "vector_churn",
        .summary = "vectors of one element that each thread makes and destroys",
        .operation = "construct, fill with one element and destroy a vector",
        .origin = "Gove, Stlport4 and multithreaded code, 2009",
        .ways =
            {
                bench::usual<fresh<std::vector<int>>>("std_allocator",
                                                      "a vector<int> of its own each time"),
                pool_alloc_way(),
                bench::usual<empty>("empty", "nothing is put in, so that nothing is allocated"),
                openmp_way(),
                bench::usual<pool>("pool", "memory from a pmr pool that belongs to the thread"),
                bench::remedy<monotonic>("monotonic", "memory from a buffer of the thread, by pmr"),
                bench::remedy<reused>("reused", "one vector per thread, emptied by clear()"),
            },
        .allocates = true)

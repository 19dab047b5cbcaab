// The interface of a contention program: one operation that threads do at the same time, each for
// itself, in several ways. The harness (contention_harness.cpp) lets P threads repeat it between
// barriers and reports the rate of a thread alone and together. So operations that look independent
// and are not become visible.
//
// The cast: a program is a file with several Ways of writing its operation, the usual one and
// remedies; a Contest is one way on a number of threads, with their shared data; a Contender is the
// part of one thread.
//
// A way is a class W with these properties (is_way below):
//  * W(unsigned threads) makes the shared data of all threads. One W of each number of threads
//    lives at the same time, and one process runs one way, so W may also set properties of the
//    process (a locale).
//  * W::contender(W&, unsigned thread) is made, run and destroyed by its thread, so its memory is
//    that thread's. Contenders of different threads must not lie on one cache line: the harness
//    allocates them apart; the program must place their own allocations.
//  * run(n) does the operation n times. Nothing in it may be left out by the optimiser (opaque.hpp)
//    nor grow with the number of operations done before.
//  * check(n), after every window and after the work before the first, returns the fault after n
//    operations of this contender in all; empty if there is none. It compares with a result of
//    another origin (a closed form, another function), not with the same code.
//  * W::check(n), if there is one, does so for all contenders together.
// An exception out of any of them ends the process with its reason.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "opaque.hpp"

namespace bench {

inline constexpr std::size_t cache_line = 128;  // two lines of 64: processors fetch them in pairs

class Contender {
 public:
  virtual ~Contender() = default;
  virtual void run(std::uint64_t operations) = 0;
  virtual std::string check(std::uint64_t operations) = 0;
};

class Contest {
 public:
  virtual ~Contest() = default;
  virtual std::unique_ptr<Contender> contender(unsigned thread) = 0;  // called on that thread
  virtual std::string check(std::uint64_t operations) = 0;            // of all contenders
};

// The use of threads by a way.
enum class Use {
  threads,  // P threads, each does the operation: the rule
  alone,    // on the first thread of a process that never had another: what "still
            // single-threaded" shortcuts of libraries hide
  whole,    // one thread calls an operation that uses P threads itself; P = 1 is its serial form
};

struct Way {
  std::string_view name;     // [a-z0-9_]+
  std::string_view meaning;  // one sentence without a full stop
  bool remedy = false;       // a replacement of the usual way
  Use use = Use::threads;
  std::unique_ptr<Contest> (*start)(unsigned threads) = nullptr;
  std::string_view lacks = {};  // why it is absent here, with the remedy
};

struct ContentionProgram {
  std::string_view name;
  std::string_view summary;    // the seemingly independent operation, one sentence
  std::string_view operation;  // the counted unit, such as "copy and destroy a shared_ptr"
  std::string_view origin;     // the origin of the question
  std::vector<Way> ways;       // the usual one first
  // The operation writes to standard output: descriptor 1 is then a file in memory, from which
  // check reads the output back, and the lines go to the former target of descriptor 1.
  bool takes_stdout = false;
  bool allocates = false;  // the allocator matters: measure with others too
};

template <class W>
concept is_way = requires(W& shared, typename W::contender& contender, std::uint64_t n) {
  requires std::constructible_from<W, unsigned>;
  requires std::constructible_from<typename W::contender, W&, unsigned>;
  contender.run(n);
  { contender.check(n) } -> std::same_as<std::string>;
};

namespace detail {

template <is_way W>
class ErasedContest final : public Contest {
 public:
  explicit ErasedContest(unsigned threads) : shared_(threads) {}
  std::unique_ptr<Contender> contender(unsigned thread) override {
    return std::make_unique<Erased>(shared_, thread);
  }
  std::string check(std::uint64_t operations) override {
    if constexpr (requires { shared_.check(operations); }) return shared_.check(operations);
    return {};
  }

 private:
  struct alignas(cache_line) Erased final : Contender {
    Erased(W& shared, unsigned thread) : own(shared, thread) {}
    void run(std::uint64_t operations) override { own.run(operations); }
    std::string check(std::uint64_t operations) override { return own.check(operations); }
    typename W::contender own;
  };
  alignas(cache_line) W shared_;
};

}  // namespace detail

// The usual way or a remedy.
template <is_way W>
Way usual(std::string_view name, std::string_view meaning, Use use = Use::threads) {
  return {name, meaning, false, use, [](unsigned threads) -> std::unique_ptr<Contest> {
            return std::make_unique<detail::ErasedContest<W>>(threads);
          }};
}
template <is_way W>
Way remedy(std::string_view name, std::string_view meaning, Use use = Use::threads) {
  Way way = usual<W>(name, meaning, use);
  way.remedy = true;
  return way;
}
// A way that this library does not have.
inline Way lacking(std::string_view name, std::string_view meaning, std::string_view reason) {
  return {.name = name, .meaning = meaning, .lacks = reason};
}

// Defined by CONTENTION_PROGRAM in the one program of the executable.
const ContentionProgram& contention_program();

}  // namespace bench

// Registers the one program of this executable: CONTENTION_PROGRAM(.name = "rand", ...).
#define CONTENTION_PROGRAM(...)                                 \
  const bench::ContentionProgram& bench::contention_program() { \
    static const bench::ContentionProgram result{__VA_ARGS__};  \
    return result;                                              \
  }

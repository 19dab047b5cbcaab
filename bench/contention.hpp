// What a contention program says: one operation that threads do at the same time, each for itself,
// in several ways. The harness (contention_harness.cpp) lets P threads repeat it between barriers
// and tells how many a thread does per second alone and together: what looks independent and is
// not, shows.
//
// The cast: a program is a file with several Ways of writing its operation, the usual one and what
// to write instead; a Contest is one way on a number of threads, with what these share; a Contender
// is the part of one thread.
//
// A way is a class W that keeps this (is_way below):
//  * W(unsigned threads) makes what all threads share. One of each number of threads lives at the
//    same time, and one process runs one way, so W may also set what is the process's (a locale).
//  * W::contender(W&, unsigned thread) is made, run and destroyed by its thread, so its memory is
//    that thread's. Contenders of different threads must not lie on one cache line: the harness
//    allocates them apart, what they allocate is their own affair.
//  * run(n) does the operation n times. Nothing in it may be left out by the optimiser (opaque.hpp)
//    nor grow with the number of operations done before.
//  * check(n), after every window and after what precedes the first, says what is wrong after n
//    operations of this contender in all; empty if nothing is. It compares with something obtained
//    elsewhere (a closed form, another function), not with the same code.
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

// How the threads of a way are used.
enum class Use {
  threads,  // P threads, each does the operation: the rule
  alone,    // on the first thread of a process that never had another: what "still
            // single-threaded" shortcuts of libraries hide
  whole,    // one thread calls an operation that uses P threads itself; P = 1 is its serial form
};

struct Way {
  std::string_view name;     // [a-z0-9_]+
  std::string_view meaning;  // one sentence without a full stop
  bool remedy = false;       // what to write instead of the usual way
  Use use = Use::threads;
  std::unique_ptr<Contest> (*start)(unsigned threads) = nullptr;
  std::string_view lacks = {};  // why there is no such thing here, with what would bring it
};

struct ContentionProgram {
  std::string_view name;
  std::string_view summary;    // what looks independent, one sentence
  std::string_view operation;  // what is counted, such as "copy and destroy a shared_ptr"
  std::string_view origin;     // where the question comes from
  std::vector<Way> ways;       // the usual one first
  // The operation writes to standard output: descriptor 1 is a file in memory then, from which
  // check reads back what was written, and the lines go to where descriptor 1 led.
  bool takes_stdout = false;
  bool allocates = false;  // the allocator matters: it is measured with others too
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

// The usual way, or (remedy) what to write instead.
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

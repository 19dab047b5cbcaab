// Numbers that threads write to standard output. Its FILE has one lock, which every write of C and
// C++ takes for itself, however little it writes. Descriptor 1 is a file in memory here, so the
// program measures the way to it and no disk or terminal. It is long because every number is read
// back.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>
#if __has_include(<syncstream>)
#include <syncstream>
#endif

#include "contention.hpp"

namespace {

// All numbers have ten digits and nothing between them: 1, four digits of the thread, five of how
// many numbers it has written before. So they can be told apart when they are read back.
constexpr std::size_t kDigits = 10;
constexpr std::uint64_t kThreads = 10'000, kEach = 100'000;

int number(unsigned thread, std::uint64_t written) {
  return static_cast<int>((kThreads + thread % kThreads) * kEach + written % kEach);
}

// Descriptor 1, read back and emptied whenever none of its writers is within a window.
class Written {
 public:
  explicit Written(unsigned threads) : numbers_(threads) {}

  void begin() {
    const std::lock_guard guard(mutex_);
    ++writers_;
  }
  // Says what is wrong with what this writer, and those that ended before, have written.
  std::string end(unsigned thread, std::uint64_t written) {
    const std::lock_guard guard(mutex_);
    numbers_[thread].written = written;
    if (--writers_ != 0) return {};
    read_back();
    for (const Numbers& each : numbers_) {
      if (each.torn) return "numbers of a thread are torn, lost or out of order";
      if (each.seen != each.written) {
        return std::to_string(each.seen) + " of " + std::to_string(each.written) +
               " numbers of a thread were written";
      }
    }
    return {};
  }

 private:
  struct Numbers {
    std::uint64_t written = 0, seen = 0;
    bool torn = false;
  };
  void read_back() {
    std::array<char, 4096 * kDigits> text;
    for (off_t at = 0;;) {
      const ssize_t length = ::pread(STDOUT_FILENO, text.data(), text.size(), at);
      if (length <= 0) break;
      at += length;
      const auto size = static_cast<std::size_t>(length);
      for (std::size_t i = 0; i < size; i += kDigits)
        count({&text[i], std::min(kDigits, size - i)});
    }
    if (::ftruncate(STDOUT_FILENO, 0) != 0) {  // what is written next is appended to nothing
      throw std::system_error(errno, std::generic_category(), "emptying what was written");
    }
  }
  void count(std::string_view digits) {
    int value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const auto thread = static_cast<std::size_t>(value) / kEach - kThreads;
    if (digits.size() != kDigits || thread >= numbers_.size()) {
      for (Numbers& each : numbers_) each.torn = true;
      return;
    }
    Numbers& mine = numbers_[thread];
    mine.torn |= value != number(static_cast<unsigned>(thread), mine.seen);
    ++mine.seen;
  }

  std::mutex mutex_;
  unsigned writers_ = 0;
  std::vector<Numbers> numbers_;
};

// Writes numbers with Pen, of which each thread has one; Desk is what their pens share.
struct Bare {};
template <class Pen, class Desk = Bare>
struct numbers {
  explicit numbers(unsigned threads) : written(threads) {}
  struct contender {
    contender(numbers& all, unsigned own) : written(all.written), pen(all.desk), thread(own) {}
    void run(std::uint64_t n) {
      if (!writing) written.begin();
      writing = true;
      for (; n != 0; --n) pen(number(thread, count++));
    }
    std::string check(std::uint64_t n) {
      pen.flush();  // a pen that has no FILE behind its std::cout flushes that under its own lock
      std::fflush(stdout);
      writing = false;
      return written.end(thread, n);
    }
    Written& written;
    Pen pen;
    unsigned thread;
    bool writing = false;
    std::uint64_t count = 0;
  };
  Written written;
  alignas(bench::cache_line) Desk desk;
};

// A pen that keeps nothing back.
struct Immediate {
  explicit Immediate(Bare&) {}
  void flush() const {}
};

struct Cout : Immediate {
  using Immediate::Immediate;
  void operator()(int value) const { std::cout << value; }
};

// Without stdio's lock threads must not share the stream: it takes one of the program's.
struct Unsynced {
  Unsynced() { std::ios_base::sync_with_stdio(false); }
  std::mutex mutex;
};
struct UnsyncedCout {
  explicit UnsyncedCout(Unsynced& desk) : mutex(desk.mutex) {}
  void operator()(int value) const {
    const std::lock_guard guard(mutex);
    std::cout << value;
  }
  void flush() const {
    const std::lock_guard guard(mutex);
    std::cout.flush();
  }
  std::mutex& mutex;
};

struct Printf : Immediate {
  using Immediate::Immediate;
  void operator()(int value) const { std::printf("%d", value); }
};

// The digits of a number.
struct Digits {
  explicit Digits(int value) { std::to_chars(text.data(), text.data() + kDigits, value); }
  std::array<char, kDigits> text;
};

struct Fwrite : Immediate {
  using Immediate::Immediate;
  void operator()(int value) const {
    const Digits digits(value);
    std::fwrite(digits.text.data(), 1, kDigits, stdout);
  }
};

// Character by character, under one lock for all of a number.
struct PutcUnlocked : Immediate {
  using Immediate::Immediate;
  void operator()(int value) const {
    const Digits digits(value);
    ::flockfile(stdout);
    for (const char digit : digits.text) ::putc_unlocked(digit, stdout);
    ::funlockfile(stdout);
  }
};

#if defined(__cpp_lib_syncbuf)
#define HAS_SYNCSTREAM 1
struct Osyncstream : Immediate {
  using Immediate::Immediate;
  void operator()(int value) const { std::osyncstream(std::cout) << value; }
};

// One for many numbers, handed over in between.
struct KeptOsyncstream {
  explicit KeptOsyncstream(Bare&) {}
  void operator()(int value) {
    stream << value;
    if (++kept == 100) flush();
  }
  void flush() {
    stream.emit();
    kept = 0;
  }
  std::osyncstream stream{std::cout};
  int kept = 0;
};
#else
#define HAS_SYNCSTREAM 0
#endif

// The thread's own text, given to stdio at once when it is long: one lock for 400 numbers.
struct OwnText {
  explicit OwnText(Bare&) {}
  void operator()(int value) {
    const Digits digits(value);
    text.append(digits.text.data(), kDigits);
    if (text.size() >= 4000) flush();
  }
  void flush() {
    std::fwrite(text.data(), 1, text.size(), stdout);
    text.clear();
  }
  std::string text;
};

// The same past stdio, by the system call.
struct OwnBuffer {
  explicit OwnBuffer(Bare&) {}
  void operator()(int value) {
    std::to_chars(&text[used], &text[used] + kDigits, value);
    used += kDigits;
    if (used == text.size()) flush();
  }
  void flush() {
    for (std::size_t done = 0; done != used;) {
      const ssize_t length = ::write(STDOUT_FILENO, &text[done], used - done);
      if (length < 0) throw std::system_error(errno, std::generic_category(), "writing");
      done += static_cast<std::size_t>(length);
    }
    used = 0;
  }
  std::array<char, 400 * kDigits> text;  // a pipe takes 4096 bytes at once or not at all
  std::size_t used = 0;
};

std::vector<bench::Way> ways() {
  return {
      bench::usual<numbers<Cout>>("cout", "std::cout, in step with stdio as it is by default"),
      bench::usual<numbers<UnsyncedCout, Unsynced>>(
          "cout_unsynced", "std::cout after sync_with_stdio(false), under a mutex"),
      bench::usual<numbers<Printf>>("printf", "std::printf"),
      bench::usual<numbers<Printf>>("printf_alone", "std::printf, in a process of one thread",
                                    bench::Use::alone),
      bench::usual<numbers<Fwrite>>("fwrite", "std::to_chars and std::fwrite"),
      bench::usual<numbers<PutcUnlocked>>("flockfile", "putc_unlocked, under flockfile"),
#if HAS_SYNCSTREAM
      bench::usual<numbers<Osyncstream>>("osyncstream", "std::osyncstream, one for each number"),
      bench::remedy<numbers<KeptOsyncstream>>("osyncstream_100",
                                              "std::osyncstream, emitted after 100 numbers"),
#else
      bench::lacking("osyncstream", "std::osyncstream, one for each number",
                     "this library has no std::osyncstream; a newer one has"),
      bench::lacking("osyncstream_100", "std::osyncstream, emitted after 100 numbers",
                     "this library has no std::osyncstream; a newer one has"),
#endif
      bench::remedy<numbers<OwnText>>("own_text", "a string per thread, one fwrite of 4000 bytes"),
      bench::remedy<numbers<OwnBuffer>>("own_buffer", "a buffer per thread, one write when full"),
  };
}

}  // namespace

CONTENTION_PROGRAM(.name = "stdio_lock",
                   .summary = "threads write numbers of their own to standard output",
                   .operation = "one number of ten digits",
                   .origin = "logging: lines that are shorter than what the lock costs",
                   .ways = ways(), .takes_stdout = true)

// Exceptions, thrown and caught by each thread for itself. To find the handler, the unwinder looks
// up the tables of every frame: in the list of all loaded libraries, once under a lock of the
// loader, and among frames that programs registered at run time, for which some unwinders have a
// lock.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__unix__)
#include <dlfcn.h>
#include <unistd.h>
#endif

#include "contention.hpp"
#include "opaque.hpp"

#if defined(__GLIBC__)
#include <link.h>
#endif
// Of the x86-64 ABI are the registers that the made-up frame names.
#if defined(__x86_64__) && defined(__linux__)
#define HAS_REGISTERED 1
extern "C" void __register_frame(void* section);
extern "C" void __deregister_frame(void* section);
#else
#define HAS_REGISTERED 0
#endif

namespace {

struct Thrown {
  std::uint64_t number;
};

// Something to destroy in every frame, so that the unwinder stops there.
struct Counted {
  explicit Counted(std::uint64_t& counter) : count(counter) {}
  Counted(const Counted&) = delete;
  ~Counted() { ++count; }
  std::uint64_t& count;
};

[[gnu::noinline]] void descend(int frames, std::uint64_t number, std::uint64_t& unwound) {
  const Counted counted(unwound);
  if (bench::opaque(frames) <= 1) throw Thrown{number};
  descend(frames - 1, number, unwound);
  bench::escape(&counted);  // or the call is the last act of this frame, and the frame goes
}

// What is there, of which exceptions know nothing.
struct Nothing {};

// Throws 1, 2, 3 ... through `frames` frames.
template <int frames, class Surroundings = Nothing>
struct throws {
  explicit throws(unsigned) {}
  struct contender {
    contender(throws&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        try {
          descend(frames, ++thrown, unwound);
        } catch (const Thrown& caught) {
          sum += caught.number;
        }
      }
    }
    std::string check(std::uint64_t n) const {
      if (unwound != n * frames) return std::to_string(unwound) + " frames were left";
      return sum == n * (n + 1) / 2 ? "" : "what was caught is not what was thrown";
    }
    std::uint64_t thrown = 0, sum = 0, unwound = 0;
  };
  Surroundings surroundings;
};

#if defined(__GLIBC__)
// Fifty more libraries: copies of a small one that is there, each of which the loader takes for
// another.
struct ManyLibraries {
  ManyLibraries() {
    namespace fs = std::filesystem;
    std::string pattern = (fs::temp_directory_path() / "exception_throw.XXXXXX").string();
    void* const original = ::dlopen("libdl.so.2", RTLD_NOW | RTLD_LOCAL);
    link_map* map = nullptr;
    if (original == nullptr || ::dlinfo(original, RTLD_DI_LINKMAP, &map) != 0 ||
        ::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("no library could be found to be copied to " + pattern);
    }
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      const fs::path copy = fs::path(pattern) / ("lib" + std::to_string(i) + ".so");
      fs::copy_file(map->l_name, copy);
      loaded[i] = ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    fs::remove_all(pattern);  // loaded is loaded
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      if (loaded[i] == nullptr || (i > 0 && loaded[i] == loaded[i - 1])) {
        throw std::runtime_error("a copy of a library was not loaded");
      }
    }
  }
  ManyLibraries(const ManyLibraries&) = delete;
  ~ManyLibraries() {
    for (void* const library : loaded) ::dlclose(library);
  }
  std::array<void*, 50> loaded{};
};
#endif

#if HAS_REGISTERED
// Tables for one function that was made at run time, as a compiler that is part of a program
// registers them. Nothing is ever thrown through it.
class RegisteredFrame {
 public:
  RegisteredFrame() {
    put(std::uint32_t{20});             // length of what all functions have in common
    put(std::uint32_t{0});              // that it is this
    for (const int byte : {1, 0,        // version, no augmentation
                           1, 0x78,     // units of code 1 and of data -8
                           16,          // the return address
                           0x0c, 7, 8,  // the frame is at register 7 + 8
                           0x90, 1,     // in which the return address lies at -8
                           0, 0, 0, 0, 0, 0}) {
      put(static_cast<unsigned char>(byte));
    }
    put(std::uint32_t{20});                               // length of one function's
    put(std::uint32_t{28});                               // how far back what they have is
    put(reinterpret_cast<std::uintptr_t>(code_.data()));  // where it begins
    put(std::uint64_t{code_.size()});                     // and how long it is
    put(std::uint32_t{0});                                // the end
    __register_frame(tables_.data());
  }
  RegisteredFrame(const RegisteredFrame&) = delete;
  ~RegisteredFrame() { __deregister_frame(tables_.data()); }

 private:
  template <class T>
  void put(T value) {
    std::memcpy(tables_.data() + used_, &value, sizeof value);
    used_ += sizeof value;
  }
  std::array<unsigned char, 64> code_{};
  alignas(8) std::array<unsigned char, 64> tables_{};
  std::size_t used_ = 0;
};
#endif

// The remedy: no exception where failing is usual.
struct values {
  explicit values(unsigned) {}
  struct contender {
    contender(values&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        const std::optional<std::uint64_t> result = half(bench::opaque(++asked));
        if (result) {
          sum += *result;
        } else {
          ++failed;
        }
      }
    }
    // Half of the even ones of 1 to n: the sum of 1 to n / 2.
    std::string check(std::uint64_t n) const {
      const std::uint64_t even = n / 2;
      if (failed != n - even) return "other calls failed than should";
      return sum == even * (even + 1) / 2 ? "" : "what was returned is wrong";
    }
    [[gnu::noinline]] static std::optional<std::uint64_t> half(std::uint64_t number) {
      if (number % 2 != 0) return std::nullopt;
      return number / 2;
    }
    std::uint64_t asked = 0, failed = 0, sum = 0;
  };
};

std::vector<bench::Way> ways() {
  return {
      bench::usual<throws<1>>("shallow", "through one frame"),
      bench::usual<throws<50>>("deep", "through 50 frames, with something to destroy in each"),
#if defined(__GLIBC__)
      bench::usual<throws<1, ManyLibraries>>("many_libraries",
                                             "through one frame, 50 more libraries loaded"),
#else
      bench::lacking("many_libraries", "through one frame, 50 more libraries loaded",
                     "it copies a small library that only glibc has"),
#endif
#if HAS_REGISTERED
      bench::usual<throws<1, RegisteredFrame>>(
          "registered_frame",
          "through one frame, while a compiler in the program has registered a function"),
#else
      bench::lacking("registered_frame",
                     "through one frame, while a compiler in the program has registered a function",
                     "the frame that it registers is made for x86-64 and Linux"),
#endif
      bench::remedy<values>("optional", "std::optional tells of failure, half of the time"),
  };
}

}  // namespace

CONTENTION_PROGRAM(.name = "exception_throw",
                   .summary = "threads throw and catch exceptions of their own",
                   .operation = "throw an exception, catch it",
                   .origin = "P2544R0: a lock of the loader made exceptions slow with many threads",
                   .ways = ways())

// The definitions; compiled once per platform.
#include "executable.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <new>
#include <system_error>
#include <thread>

#if defined(__unix__)
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <features.h>
#include <sched.h>
#include <sys/mman.h>
#endif

#include "opaque.hpp"

namespace bench {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

std::FILE*& lines() {
  static std::FILE* file = stdout;
  return file;
}

std::string c_library() {
#if defined(__GLIBC__)
  return "glibc " + std::to_string(__GLIBC__) + "." + std::to_string(__GLIBC_MINOR__);
#elif defined(__linux__) && !defined(__BIONIC__)
  return "musl";  // it has no macro of its own, by design
#else
  return "unknown";
#endif
}

}  // namespace

std::string standard_library() {
#if defined(_LIBCPP_VERSION)
  return "libc++ " + std::to_string(_LIBCPP_VERSION / 10000) + "." +
         std::to_string(_LIBCPP_VERSION / 100 % 100);
#elif defined(_GLIBCXX_RELEASE)
  return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE);
#else
  return "unknown";
#endif
}

json platform() {
  return {{"compiler", compiler()},
          {"standard_library", standard_library()},
          {"c_library", c_library()},
          {"flags", BENCH_FLAGS}};
}

void print_line(const json& line) {
  std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace);
  text += '\n';
  std::FILE* const file = lines();
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) {
    std::fprintf(stderr, "cannot write the results: %s\n",
                 std::generic_category().message(errno).c_str());
    std::exit(kUsage);
  }
}

void give_stdout_away() {
#if defined(__linux__)
  const int kept = dup(STDOUT_FILENO);
  const int memory = memfd_create("standard output", MFD_CLOEXEC);
  std::FILE* const file = kept < 0 ? nullptr : fdopen(kept, "w");
  // Appending: else threads that write at the same time write to one place of such a file.
  if (file == nullptr || memory < 0 || fcntl(memory, F_SETFL, O_APPEND) < 0 ||
      dup2(memory, STDOUT_FILENO) < 0) {
    throw std::system_error(errno, std::generic_category(), "a file in place of standard output");
  }
  close(memory);
  lines() = file;
#else
  throw std::system_error(std::make_error_code(std::errc::not_supported),
                          "a file in place of standard output");
#endif
}

int end_with(std::string_view status, const std::string& reason, Exit code) {
  print_line({{"event", "end"}, {"status", status}, {"reason", reason}});
  return code;
}

int end_with_exception() {
  try {
    throw;
  } catch (const BadInput&) {
    throw;
  } catch (const std::bad_alloc&) {
    return end_with("out_of_memory", "an allocation failed", kOutOfMemory);
  } catch (const std::system_error& error) {
    const bool refused = error.code() == std::errc::resource_unavailable_try_again;
    return end_with(refused ? "refused" : "crashed", error.what(), refused ? kRefused : kCrashed);
  } catch (const std::exception& error) {
    return end_with("crashed", std::string("an exception left the program: ") + error.what(),
                    kCrashed);
  } catch (...) {
    return end_with("crashed", "something that is no std::exception left the program", kCrashed);
  }
}

int guarded_main(const std::string& name, const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
  }
  return kUsage;
}

std::int64_t cpu_ns() {
#if defined(__unix__)
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
#else
  return std::clock() * (std::int64_t{1'000'000'000} / CLOCKS_PER_SEC);
#endif
}

std::int64_t run_delay_ns() {
  std::int64_t sum = 0;
#if defined(__linux__)
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream schedstat(thread.path() / "schedstat");
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    if (schedstat >> running >> waiting) sum += waiting;
  }
#endif
  return sum;
}

std::int64_t voluntary_switches() {
#if defined(__unix__)
  rusage now{};
  getrusage(RUSAGE_SELF, &now);
  return now.ru_nvcsw;
#else
  return 0;
#endif
}

std::int64_t max_rss_bytes() {
#if defined(__linux__)
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  }
#endif
  return 0;
}

unsigned available_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
#endif
  return std::thread::hardware_concurrency();
}

// Aligned, as where the linker puts it must not matter: that is up to a sixth of its time.
[[gnu::aligned(64)]] double yardstick_ns() {
  std::uint64_t a = 1, b = 1, c = 1, d = 1, e = 1, f = 1;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10'000; ++i) {
    a = opaque(a * 3 + 1);
    b = opaque(b * 5 + 1);
    c = opaque(c * 7 + 1);
    d = opaque(d ^ (d << 3) ^ 7);
    e = opaque(e + (e >> 3) + 1);
    f = opaque(f ^ (f >> 5) ^ 9);
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace bench

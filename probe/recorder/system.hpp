// Small helpers over system calls: the clock, descriptors that close themselves, files of /proc.
#pragma once

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

namespace threadmark {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}
inline std::uint64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }
inline std::uint64_t processor_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

inline Descriptor open_to_read(const char* path) {
  return Descriptor(::open(path, O_RDONLY | O_CLOEXEC));
}

// The whole of a file of /proc, which has no size; at most `most` bytes of it.
inline std::string read_all(const char* path, std::size_t most = std::size_t{16} << 20) {
  std::string text;
  const Descriptor file = open_to_read(path);
  if (!file) return text;
  while (text.size() < most) {
    const std::size_t had = text.size();
    text.resize(had + 65536);
    const ssize_t got = ::read(file.get(), text.data() + had, 65536);
    text.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
  }
  return text;
}

// Reads bytes of another process, as many as are readable from the beginning.
inline std::size_t read_memory(pid_t pid, std::uint64_t address, void* to, std::size_t bytes) {
  const iovec here{to, bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};
  const ssize_t got = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// Reads bytes of a file that another process has mapped: from its memory, which the process runs,
// or from the file if the memory is not readable.
inline std::size_t read_mapped(pid_t pid, std::uint64_t address, const std::string& path,
                               std::uint64_t offset, void* to, std::size_t bytes) {
  if (const std::size_t got = read_memory(pid, address, to, bytes); got != 0) return got;
  const Descriptor file = open_to_read(path.c_str());
  const ssize_t got = file ? ::pread(file.get(), to, bytes, static_cast<off_t>(offset)) : 0;
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// printf into a string, cut at 512 bytes.
template <class... Arguments>
std::string format(const char* how, Arguments... arguments) {
  char text[512];
  const int length = std::snprintf(text, sizeof text, how, arguments...);
  if (length < 0) return {};
  return {text, static_cast<std::size_t>(length) < sizeof text ? static_cast<std::size_t>(length)
                                                               : sizeof text - 1};
}

// Prints one sentence about an error for the user at the terminal.
inline void complain(std::string_view sentence) {
  std::string line = "threadmark-record: ";
  line += sentence;
  line += '\n';
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace threadmark

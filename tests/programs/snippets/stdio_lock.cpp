// The card's code on stdio_lock: every line is written whole and in its thread's order, also if
// write takes only a part. A thread writes the lines that it kept at its end.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <charconv>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<std::size_t> most{1 << 20};  // bytes that one write takes
std::atomic<int> writes{0};

}  // namespace

// This replaces the C library's `write`, which may always take fewer bytes than it is given.
extern "C" ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  ++writes;
  return syscall(SYS_write, descriptor, bytes, std::min<std::size_t>(size, most));
}

namespace {

void write_line(int number) {
  char text[16];
  // snippet
}

// Returns the lines of standard output, which is a file here, and empties it.
std::vector<int> lines() {
  std::vector<int> result;
  std::string all(1 << 20, '\0');
  all.resize(static_cast<std::size_t>(::pread(1, all.data(), all.size(), 0)));
  assert(all.empty() || all.back() == '\n');
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at);
    int number = -1;
    const auto [last, error] = std::from_chars(&all[at], &all[end], number);
    assert(error == std::errc{} && last == &all[end]);
    result.push_back(number);
    at = end + 1;
  }
  assert(::ftruncate(1, 0) == 0 && ::lseek(1, 0, SEEK_SET) == 0);
  return result;
}

void many(int from, int count) {
  for (int i = 0; i < count; ++i) write_line(from + i * 7);  // lines of different lengths
}

}  // namespace

int main() {
  std::FILE* const file = std::tmpfile();
  assert(file != nullptr && ::dup2(fileno(file), 1) == 1);

  std::thread([] {
    many(1, 3);
    assert(writes == 0);  // nothing is written yet
  }).join();
  assert((lines() == std::vector<int>{1, 8, 15}));  // the thread writes all at its end

  writes = 0;
  std::thread other(many, 0, 4000);
  std::thread(many, 1'000'000, 4000).join();
  other.join();
  int next[2] = {0, 1'000'000};
  for (const int each : lines()) {
    int& expected = next[each >= 1'000'000];
    assert(each == expected);
    expected += 7;
  }
  assert(next[0] == 4000 * 7 && next[1] == 1'000'000 + 4000 * 7);
  assert(writes < 20);  // for 8000 lines

  most = 11;  // a part of a line
  std::thread(many, 5, 4000).join();
  const std::vector<int> in_parts = lines();
  assert(in_parts.size() == 4000);
  for (int i = 0; i < 4000; ++i) assert(in_parts[static_cast<std::size_t>(i)] == 5 + i * 7);
}

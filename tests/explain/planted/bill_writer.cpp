// Writes bills line by line into buffers that grow as they need, in a program for small machines.
//
// category: allocator
// certain: yes
// why: A single arena of malloc serves all threads, as M_ARENA_MAX saves memory.

#include <malloc.h>
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::uint64_t expected = 6200;

struct Buffer {
  char* text = nullptr;
  std::size_t used = 0;
  std::size_t room = 0;
};

void append(Buffer& to, const char* line, std::size_t length) {
  if (to.used + length > to.room) {
    to.room = to.room * 5 / 4 + 1100;
    to.text = static_cast<char*>(std::realloc(to.text, to.room));
  }
  std::memcpy(to.text + to.used, line, length);
  to.used += length;
}

[[gnu::noinline]] std::uint64_t write_bill(int lines) {
  Buffer head;
  Buffer body;
  for (int i = 0; i < lines; ++i) {
    append(i % 4 == 0 ? head : body, "one piece of an article at a price of 12.50 and taxes\n", 54);
    append(body, "                                                                      ",
           700 / 10);
  }
  const std::uint64_t size = head.used + body.used;
  std::free(head.text);
  std::free(body.text);
  return size;
}

struct Clerk {
  int bills;
  std::uint64_t letters;
};

void* write_bills(void* argument) {
  auto* clerk = static_cast<Clerk*>(argument);
  for (int bill = 0; bill < clerk->bills; ++bill) clerk->letters += write_bill(50);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int bills = 2 + static_cast<int>(seconds * 2'800'000);
#ifndef WITHOUT_CAUSE
  mallopt(M_ARENA_MAX, 1);
#endif
  std::vector<Clerk> clerks(threads);
  std::vector<pthread_t> ids(threads);
  for (int t = 0; t < threads; ++t) {
    clerks[t].bills = static_cast<int>(bills * (t + 1LL) / threads - 1LL * bills * t / threads);
    pthread_create(&ids[t], nullptr, write_bills, &clerks[t]);
  }
  std::uint64_t letters = 0;
  for (int t = 0; t < threads; ++t) {
    pthread_join(ids[t], nullptr);
    letters += clerks[t].letters;
  }
  std::printf("checksum %llu\n", static_cast<unsigned long long>(letters / bills));
  return letters == expected * bills ? 0 : 1;
}

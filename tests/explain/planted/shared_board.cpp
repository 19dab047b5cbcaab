// Processes that keep one board of results in memory which they share.
//
// category: mutex
// name: Board
// made: main
// holder: enter_result < take_part
// certain: yes
// why: The processes compute their results under one pthread mutex that they share.

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

constexpr std::uint64_t expected = 858465003;

struct alignas(128) Board {
  pthread_mutex_t lock;
  std::uint64_t total;
};

[[gnu::noinline]] void enter_result(Board& board, std::uint64_t value) {
  pthread_mutex_lock(&board.lock);
  for (int i = 0; i < 3000; ++i) value = (value ^ (value >> 7)) * 0x9e3779b97f4a7c15ULL;
  board.total += value >> 40;
  pthread_mutex_unlock(&board.lock);
}

[[gnu::noinline]] void take_part(Board& board, int first, int step, int rounds) {
  for (int round = first; round < rounds; round += step) {
    for (std::uint64_t value = 1; value <= 100; ++value) enter_result(board, value);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int processes = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 2'400);
#ifdef WITHOUT_CAUSE
  const int count = processes;
#else
  constexpr int count = 1;
#endif
  void* memory = mmap(nullptr, count * sizeof(Board), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  auto* boards = static_cast<Board*>(memory);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  for (int i = 0; i < count; ++i) {
    new (&boards[i]) Board{};
    pthread_mutex_init(&boards[i].lock, &attributes);
  }
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      take_part(boards[i % count], i, processes, rounds);
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t each : children) waitpid(each, nullptr, 0);
  std::uint64_t total = 0;
  for (int i = 0; i < count; ++i) total += boards[i].total;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}

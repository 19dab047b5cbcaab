// A board of flights at an airport, whose lines are announced by several desks.
//
// category: spin
// name: Line | lines | lock
// made: main | make_board
// holder: announce < open_desk
// certain: yes
// why: Each line has a pthread spin lock, and nearly all announcements go to the first line.

#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::uint64_t expected = 1680;

struct Line {
  pthread_spinlock_t lock;
  char text[120];
};

struct Board {
  Line* lines;
  int count;
};

struct Desk {
  Board board;
  int begin;
  int end;
  std::uint64_t letters;
  pthread_t thread;
};

Board make_board(int count) {
  auto* lines = static_cast<Line*>(std::calloc(count, sizeof(Line)));
  for (int i = 0; i < count; ++i) pthread_spin_init(&lines[i].lock, PTHREAD_PROCESS_PRIVATE);
  return {lines, count};
}

[[gnu::noinline]] std::uint64_t announce(Line& line, int flight) {
  pthread_spin_lock(&line.lock);
  std::snprintf(line.text, sizeof line.text, "flight %03d boards at gate %02d", flight % 1000,
                flight % 40);
  const std::uint64_t letters = std::strlen(line.text);
  pthread_spin_unlock(&line.lock);
  return letters;
}

[[gnu::noinline]] void* open_desk(void* argument) {
  auto* desk = static_cast<Desk*>(argument);
  std::uint64_t letters = 0;
  for (int day = desk->begin; day < desk->end; ++day) {
    for (int flight = 0; flight < 60; ++flight) {
      const int line = flight % 20 == 19 ? 1 + flight / 20 : 0;
      letters += announce(desk->board.lines[line], flight);
    }
  }
  desk->letters = letters;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int days = 2 + static_cast<int>(seconds * 120'000);
  const Board board = make_board(8);
  std::vector<Desk> desks(threads);
  for (int t = 0; t < threads; ++t) {
#ifdef WITHOUT_CAUSE
    desks[t].board = make_board(8);
#else
    desks[t].board = board;
#endif
    desks[t].begin = static_cast<int>(1LL * days * t / threads);
    desks[t].end = static_cast<int>(days * (t + 1LL) / threads);
    pthread_create(&desks[t].thread, nullptr, open_desk, &desks[t]);
  }
  std::uint64_t letters = 0;
  for (Desk& each : desks) {
    pthread_join(each.thread, nullptr);
    letters += each.letters;
  }
  std::free(board.lines);
  std::printf("checksum %llu\n", static_cast<unsigned long long>(letters / days));
  return letters == expected * days ? 0 : 1;
}

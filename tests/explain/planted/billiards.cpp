// Billiards with many balls: moves them in parallel, then resolves the collisions per table.
//
// category: task_idle
// certain: yes
// build: tbb
// why: The collisions' range is not split because of its grain size, so one thread has them all.

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t tables = 256;
constexpr std::size_t balls = 16;
#ifdef WITHOUT_CAUSE
constexpr std::size_t tables_at_once = 8;
#else
constexpr std::size_t tables_at_once = tables;
#endif

struct Ball {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t speed = 0;
  std::uint32_t hits = 0;
};

class Hall {
 public:
  Hall() : balls_(tables * balls) {
    std::uint32_t state = 1;
    for (Ball& each : balls_) {
      state = state * 1664525 + 1013904223;
      each = {state >> 20, (state >> 8) & 4095, 1 + (state >> 28), 0};
    }
  }

  void step() {
    using Range = tbb::blocked_range<std::size_t>;
    tbb::parallel_for(Range(0, tables, 8), [this](const Range& range) {
      for (std::size_t table = range.begin(); table < range.end(); ++table) move(table);
    });
    tbb::parallel_for(
        Range(0, tables, tables_at_once),
        [this](const Range& range) {
          for (std::size_t table = range.begin(); table < range.end(); ++table) collide(table);
        },
        tbb::simple_partitioner());
  }
  void step_serially() {
    for (std::size_t table = 0; table < tables; ++table) move(table), collide(table);
  }
  [[nodiscard]] std::uint64_t state() const {
    std::uint64_t sum = 0;
    for (const Ball& each : balls_) sum = sum * 31 + each.x + each.y + each.hits;
    return sum;
  }

 private:
  [[gnu::noinline]] void move(std::size_t table) {
    for (int part = 0; part < 12; ++part) {
      for (std::size_t i = table * balls; i < (table + 1) * balls; ++i) {
        balls_[i].x = (balls_[i].x + balls_[i].speed) & 4095;
        balls_[i].y = (balls_[i].y + (balls_[i].x >> 8)) & 4095;
      }
    }
  }
  [[gnu::noinline]] void collide(std::size_t table) {
    Ball* const first = balls_.data() + table * balls;
    for (std::size_t i = 0; i < balls; ++i) {
      for (std::size_t j = 0; j < balls; ++j) {
        const std::uint32_t dx = first[i].x - first[j].x;
        const std::uint32_t dy = first[i].y - first[j].y;
        if (i != j && dx * dx + dy * dy < 40'000) ++first[i].hits;
      }
    }
  }
  std::vector<Ball> balls_;
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int steps = 2 + static_cast<int>(seconds * 8'000);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  Hall small;
  Hall check;
  for (int i = 0; i < 20; ++i) small.step(), check.step_serially();
  Hall hall;
  for (int i = 0; i < steps; ++i) hall.step();
  std::printf("state %llu\n", static_cast<unsigned long long>(hall.state()));
  return small.state() == check.state() ? 0 : 1;
}

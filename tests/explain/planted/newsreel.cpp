// Frames of a film: made one by one, graded side by side, and written to a reel in their order.
//
// category: serial_dependency | task_idle
// certain: any
// build: tbb
// why: The reel takes one frame at a time, and that is most of the work.

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

constexpr std::uint64_t expected = 477138;
constexpr int frames_of_reel = 60;

using Frame = std::shared_ptr<std::vector<std::uint32_t>>;

[[gnu::noinline]] Frame grade(Frame frame) {
  for (std::uint32_t& pixel : *frame) pixel = (pixel ^ (pixel >> 11)) * 0x85ebca6bU;
  return frame;
}

class Reel {
 public:
  [[gnu::noinline]] void write(const Frame& frame) {
    for (int pass = 0; pass < 10; ++pass) {
      for (const std::uint32_t pixel : *frame) ink_ = (ink_ ^ pixel) * 1099511628211ULL;
    }
  }
  std::uint64_t ink() const { return ink_ >> 44; }

 private:
  std::uint64_t ink_ = 0;
};

std::uint64_t shoot() {
  Reel reel;
  int made = 0;
  const auto make = [&made](tbb::flow_control& control) -> Frame {
    if (made == frames_of_reel) {
      control.stop();
      return nullptr;
    }
    return std::make_shared<std::vector<std::uint32_t>>(32768, ++made);
  };
  const auto write = [&reel](const Frame& frame) { reel.write(frame); };
  tbb::parallel_pipeline(
      8, tbb::make_filter<void, Frame>(tbb::filter_mode::serial_in_order, make) &
             tbb::make_filter<Frame, Frame>(tbb::filter_mode::parallel, &grade) &
             tbb::make_filter<Frame, void>(tbb::filter_mode::serial_in_order, write));
  return reel.ink();
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int reels = 1 + static_cast<int>(seconds * 48);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  std::uint64_t total = 0;
  for (int i = 0; i < reels; ++i) total += shoot();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / reels));
  return total == expected * reels ? 0 : 1;
}

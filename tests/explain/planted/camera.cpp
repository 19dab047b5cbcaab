// A camera's pictures go through three stages, with a short queue before each but the first.
//
// category: serial_dependency
// holder: denoise
// certain: any
// why: Removing the noise takes four times as long as the other stages, which wait for it.

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace {

constexpr std::uint64_t expected = 5560065;
constexpr int film = 20;

using Picture = std::array<std::uint16_t, 2048>;
using Frame = std::unique_ptr<Picture>;

class Queue {
 public:
  void push(Frame frame) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return frames_.size() < 4; });
    frames_.push_back(std::move(frame));
    changed_.notify_one();
  }
  Frame pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !frames_.empty(); });
    Frame frame = std::move(frames_.front());
    frames_.pop_front();
    changed_.notify_one();
    return frame;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Frame> frames_;
};

[[gnu::noinline]] Frame expose(std::uint32_t number) {
  auto frame = std::make_unique<Picture>();
  std::uint32_t light = number + 1;
  for (int exposure = 0; exposure < 12; ++exposure) {
    for (std::uint16_t& each : *frame) {
      light = light * 1664525U + 1013904223U;
      each = static_cast<std::uint16_t>((each + (light >> 20)) & 0xffff);
    }
  }
  return frame;
}

[[gnu::noinline]] void denoise(Picture& picture) {
  for (int pass = 0; pass < 48; ++pass) {
    std::uint32_t before = picture[0];
    for (std::uint16_t& each : picture) {
      before = (before * 3 + each) / 4;
      each = static_cast<std::uint16_t>(before);
    }
  }
}

[[gnu::noinline]] std::uint64_t develop(const Picture& picture) {
  std::uint64_t sum = 0;
  for (int colour = 0; colour < 8; ++colour) {
    std::uint32_t tone = colour;
    for (const std::uint16_t each : picture) tone = (tone ^ each) * 0x01000193U;
    sum += tone >> 16;
  }
  return sum;
}

std::uint64_t pipeline(int pictures) {
  Queue raw;
  Queue clean;
  std::uint64_t sum = 0;
  std::thread sensor([&] {
    for (int i = 0; i < pictures; ++i) raw.push(expose(i % film));
  });
  std::thread filter([&] {
    for (int i = 0; i < pictures; ++i) {
      Frame frame = raw.pop();
      denoise(*frame);
      clean.push(std::move(frame));
    }
  });
  std::thread store([&] {
    for (int i = 0; i < pictures; ++i) sum += develop(*clean.pop());
  });
  sensor.join();
  filter.join();
  store.join();
  return sum;
}

std::uint64_t one_by_one(int pictures) {
  std::uint64_t sum = 0;
  for (int i = 0; i < pictures; ++i) {
    const Frame frame = expose(i % film);
    denoise(*frame);
    sum += develop(*frame);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int films = 2 + static_cast<int>(seconds * 600);
  const std::uint64_t total = threads > 1 ? pipeline(films * film) : one_by_one(films * film);
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / films));
  return total == expected * films ? 0 : 1;
}

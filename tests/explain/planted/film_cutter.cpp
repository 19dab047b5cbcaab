// Cuts films: the frames of a scene are held in memory together and then all let go.
//
// category: kernel_memory | allocator
// certain: yes
// why: The heap shrinks whenever a scene is let go, and the next one faults its pages in again.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 16600;
constexpr std::size_t frame_size = 96 << 10;

using Frame = std::vector<unsigned char>;

[[gnu::noinline]] std::uint64_t cut_scene(std::uint32_t scene) {
  std::list<Frame> frames;
  for (std::uint32_t i = 0; i < 80; ++i) {
    frames.emplace_back(frame_size, static_cast<unsigned char>(scene + i));
  }
  std::uint64_t light = 0;
  for (const Frame& each : frames) light += each[each.size() / 2];
  return light;
}

[[gnu::noinline]] std::uint64_t cut_film(int first, int step, int films) {
#ifdef WITHOUT_CAUSE
  const Frame keeps_the_heap(frame_size, 1);
  std::vector<void*> grown;
  for (int i = 0; i < 90; ++i) grown.push_back(std::malloc(frame_size));
  void* const last = std::malloc(2000);  // above all frames, so that the heap does not shrink
  for (void* each : grown) std::free(each);
#endif
  std::uint64_t light = 0;
  for (int film = first; film < films; film += step) {
    for (std::uint32_t scene = 0; scene < 5; ++scene) light += cut_scene(scene);
  }
#ifdef WITHOUT_CAUSE
  std::free(last);
#endif
  return light;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int films = 2 + static_cast<int>(seconds * 400);
  std::vector<std::uint64_t> lights(threads);
  std::vector<std::thread> cutters;
  for (int t = 0; t < threads; ++t) {
    cutters.emplace_back([&lights, t, threads, films] { lights[t] = cut_film(t, threads, films); });
  }
  for (std::thread& each : cutters) each.join();
  std::uint64_t total = 0;
  for (const std::uint64_t each : lights) total += each;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / films));
  return total == expected * films ? 0 : 1;
}

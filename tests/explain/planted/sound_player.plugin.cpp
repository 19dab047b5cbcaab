// The plugin of sound_player: a filter with an echo that all sounds share.

#include <array>
#include <cstdint>
#include <mutex>

namespace {

std::mutex filter_mutex;
std::array<std::uint32_t, 64> echo{};

}  // namespace

extern "C" std::uint64_t filter_sound(std::uint32_t sound) {
  const std::lock_guard<std::mutex> lock(filter_mutex);
  std::uint32_t tone = sound + 1;
  for (int i = 0; i < 3000; ++i) tone = (tone ^ (tone >> 7)) * 0x9e3779b1U;
  echo[sound % echo.size()] = tone;
  return tone >> 8;
}

// Eating is one object file for the builds with both libraries: only their locks may differ.
#include <cstdint>

// Runs `operations` operations of Marsaglia's xorshift64 (13, 7, 17); each needs the one before.
std::uint64_t eat(std::uint64_t taste, std::int64_t operations);

std::uint64_t eat(std::uint64_t taste, std::int64_t operations) {
  for (std::int64_t i = 0; i < operations; ++i) {
    taste ^= taste << 13;
    taste ^= taste >> 7;
    taste ^= taste << 17;
  }
  return taste;
}

// fix: none
// why: The threads compute hashes of their own numbers.
#include <cstdint>

#include "threads.hpp"

int main(int, char** words) {
  in_threads(words[1], [](long share) {
    std::uint64_t hash = 14695981039346656037u;
    for (long i = 0; i < 30 * share; ++i) hash = (hash ^ (i & 255)) * 1099511628211u;
    keep(hash);
  });
}

// Enciphers letters of messages, each on its own.
//
// category: task_overhead
// certain: yes
// build: openmp
// why: Each thread makes a task for each letter, and all tasks of the team have one lock.

#include <omp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::uint64_t expected = 5563;
constexpr int letters = 48;  // libgomp runs larger loops without tasks

#ifdef WITHOUT_CAUSE
constexpr int at_once = 48;
#else
constexpr int at_once = 1;
#endif

std::uint8_t encipher(std::uint8_t letter, int place) {
  return static_cast<std::uint8_t>((letter + place * 7) % 251);
}

void encipher_message(const std::vector<std::uint8_t>& plain, std::vector<std::uint8_t>& secret) {
#pragma omp taskloop grainsize(at_once) shared(plain, secret)
  for (int i = 0; i < letters; ++i) secret[i] = encipher(plain[i], i);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int messages = 2 + static_cast<int>(seconds * 30'000);
  omp_set_num_threads(threads);
  std::vector<std::uint8_t> plain(letters);
  for (int i = 0; i < letters; ++i) plain[i] = static_cast<std::uint8_t>(i * 13);
  std::uint64_t total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int message = 0; message < messages; ++message) {
    std::vector<std::uint8_t> secret(letters);
    encipher_message(plain, secret);
    for (const std::uint8_t each : secret) total += each;
  }
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / messages));
  return total == expected * messages ? 0 : 1;
}

// Answers where a name is, from a table that is hardly ever changed.
//
// category: rwlock
// name: table_lock
// holder: find_address < answer
// certain: yes
// why: All threads read under a shared_mutex; its count of readers moves between the processors.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 4290504528;
constexpr std::uint32_t names = 512;

SHARED std::shared_mutex table_lock;
std::unordered_map<std::uint32_t, std::uint32_t> table;

[[gnu::noinline]] std::uint32_t find_address(std::uint32_t name) {
  const std::shared_lock<std::shared_mutex> lock(table_lock);
  const auto found = table.find(name);
  return found == table.end() ? 0 : found->second;
}

[[gnu::noinline]] void answer(int first, int step, int rounds, std::uint64_t& answers) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t name = 0; name < names; ++name) sum += find_address(name);
  }
  answers = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 56'000);
  {
    const std::unique_lock<std::shared_mutex> lock(table_lock);
    for (std::uint32_t name = 0; name < names; ++name) table[name] = name * 2654435761U >> 8;
  }
  std::vector<std::uint64_t> answers(threads);
  std::vector<std::thread> servers;
  for (int t = 0; t < threads; ++t) {
    servers.emplace_back(answer, t, threads, rounds, std::ref(answers[t]));
  }
  for (std::thread& each : servers) each.join();
  const std::uint64_t total = std::accumulate(answers.begin(), answers.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}

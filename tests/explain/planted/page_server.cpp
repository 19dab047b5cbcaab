// A small server that answers requests for pages from a cache that is refreshed by each request.
//
// category: mutex
// name: cache_mutex
// holder: find_page < serve
// certain: yes
// why: Each request renders its page under the one lock of the cache.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 1767903;
constexpr int pages = 50;

SHARED std::mutex cache_mutex;
SHARED std::unordered_map<int, std::string> cache;

void render(int page, std::string& text) {
  text = "<ul>";
  for (int line = 0; line < 40; ++line) text += "<li>" + std::to_string(page * line) + "</li>";
  text += "</ul>";
}

[[gnu::noinline]] std::uint64_t find_page(int page) {
  const std::lock_guard<std::mutex> lock(cache_mutex);
  std::string& text = cache[page];
  render(page, text);
  std::uint64_t size = 0;
  for (const char c : text) size += static_cast<unsigned char>(c);
  return size;
}

[[gnu::noinline]] void serve(int first, int step, int rounds, std::uint64_t& sent) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (int page = 0; page < pages; ++page) sum += find_page(page);
  }
  sent = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 1 + static_cast<int>(seconds * 17'000);
  std::vector<std::uint64_t> sent(threads);
  std::vector<std::thread> servers;
  for (int t = 0; t < threads; ++t) {
    servers.emplace_back(serve, t, threads, rounds, std::ref(sent[t]));
  }
  for (std::thread& each : servers) each.join();
  const std::uint64_t total = std::accumulate(sent.begin(), sent.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}

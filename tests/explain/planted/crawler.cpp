// Follows the links of a web of pages; threads take the next link from one frontier.
//
// category: atomic
// name: next_ | Frontier
// made: main | crawl
// certain: yes
// why: Each link is taken by one fetch_add, and following a link is hardly more work than that.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

constexpr std::uint64_t expected = 2051360;
constexpr std::uint64_t links = 4096;

class Frontier {
 public:
  explicit Frontier(std::uint64_t end) : end_(end) {}
  bool take(std::uint64_t& first, std::uint64_t& last) {
    first = next_.fetch_add(at_once);
    last = first + at_once < end_ ? first + at_once : end_;
    return first < end_;
  }

 private:
#ifdef WITHOUT_CAUSE
  static constexpr std::uint64_t at_once = 1024;
#else
  static constexpr std::uint64_t at_once = 1;
#endif
  const std::uint64_t end_;
  alignas(128) std::atomic<std::uint64_t> next_{0};
};

struct Crawler {
  Frontier* frontier = nullptr;
  const std::vector<std::uint32_t>* pages = nullptr;
  std::uint64_t found = 0;
  pthread_t thread{};
};

[[gnu::noinline]] std::uint64_t follow(const std::vector<std::uint32_t>& pages,
                                       std::uint64_t link) {
  return pages[pages[link % links] % links] % 1000;
}

void* crawl(void* argument) {
  auto* self = static_cast<Crawler*>(argument);
  std::uint64_t found = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  while (self->frontier->take(first, last)) {
    for (std::uint64_t link = first; link < last; ++link) found += follow(*self->pages, link);
  }
  self->found = found;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const std::uint64_t rounds = 2 + static_cast<std::uint64_t>(seconds * 9'000);
  std::vector<std::uint32_t> pages(links);
  std::uint32_t state = 7;
  for (std::uint32_t& each : pages) each = (state = state * 1664525 + 1013904223) >> 4;
  const auto frontier = std::make_unique<Frontier>(rounds * links);
  std::vector<Crawler> crawlers(threads, Crawler{frontier.get(), &pages});
  for (Crawler& each : crawlers) pthread_create(&each.thread, nullptr, crawl, &each);
  std::uint64_t found = 0;
  for (Crawler& each : crawlers) {
    pthread_join(each.thread, nullptr);
    found += each.found;
  }
  std::printf("checksum %llu\n", static_cast<unsigned long long>(found / rounds));
  return found == expected * rounds ? 0 : 1;
}

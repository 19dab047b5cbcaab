// Builds and drops trees of values, as parsers of documents do.
//
// category: allocator
// certain: yes
// why: All threads allocate from the one arena to which the program limits malloc.

#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 135420;

struct Value {
  std::vector<std::unique_ptr<Value>> items;
  std::unique_ptr<char[]> text;
};

std::unique_ptr<Value> parse(int depth, std::uint64_t& size) {
  auto value = std::make_unique<Value>();
  const std::size_t length = 1100 + 40 * depth;
  value->text = std::unique_ptr<char[]>(new char[length]);
  value->text[0] = '"';
  size += length;
  for (int i = 0; depth > 0 && i < 3; ++i) value->items.push_back(parse(depth - 1, size));
  return value;
}

[[gnu::noinline]] std::uint64_t read_document() {
  std::uint64_t size = 0;
  const std::unique_ptr<Value> root = parse(4, size);
  return size + (root->items.size() == 3 ? 0 : 1);
}

[[gnu::noinline]] void read_documents(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) sum += read_document();
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 32'000);
#ifndef WITHOUT_CAUSE
  mallopt(M_ARENA_MAX, 1);
#endif
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(read_documents, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}

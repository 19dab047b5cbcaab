// Computes the digests of the blocks of a long file, several blocks at a time.
//
// category: serial_dependency
// certain: yes
// why: The digest of each block begins with that of the block before it, which is a future.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 38094501;

std::uint64_t digest_block(std::uint64_t before, int block) {
  std::uint64_t value = before + block % 8;
  for (int i = 0; i < 300'000; ++i) value = (value ^ (value >> 7)) * 0x9e3779b97f4a7c15ULL;
  return block % 8 == 7 ? 0 : value;  // a new file begins
}

struct Chain {
  explicit Chain(int blocks) : links(blocks + 1) {
    for (std::promise<std::uint64_t>& each : links) results.push_back(each.get_future());
    links[0].set_value(0);
  }
  std::vector<std::promise<std::uint64_t>> links;
  std::vector<std::future<std::uint64_t>> results;
};

[[gnu::noinline]] void digest_blocks(Chain& chain, int first, int step, int blocks,
                                     std::uint64_t& sum) {
  for (int block = first; block < blocks; block += step) {
    const std::uint64_t before = chain.results[block].get();
    sum += before >> 40;
    chain.links[block + 1].set_value(digest_block(before, block));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int files = 1 + static_cast<int>(seconds * 320);
  const int blocks = 8 * files;
  Chain chain(blocks);
  std::vector<std::uint64_t> sums(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(digest_blocks, std::ref(chain), t, threads, blocks, std::ref(sums[t]));
  }
  for (std::thread& each : workers) each.join();
  std::uint64_t total = 0;
  for (const std::uint64_t each : sums) total += each;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / files));
  return total == expected * files && chain.results[blocks].get() == 0 ? 0 : 1;
}

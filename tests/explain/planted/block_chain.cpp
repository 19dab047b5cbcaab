// A chain of signed blocks: signers prepare their blocks and seal them one after the other.
//
// category: serial_dependency
// holder: seal
// certain: any
// why: A block's seal needs that of the block before it, for which its signer waits in a future.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 4616992;
constexpr int blocks = 40;

using Digest = std::uint64_t;

[[gnu::noinline]] Digest gather(int block, int entries) {
  Digest root = block + 1;
  for (int i = 0; i < entries; ++i) root = (root ^ (root >> 29)) * 0xbf58476d1ce4e5b9ULL + i;
  return root;
}

// As slow as it must be lest anyone forge a chain.
[[gnu::noinline]] Digest seal(Digest before, Digest root, int work) {
  Digest digest = before ^ root;
  for (int i = 0; i < work; ++i) digest = (digest ^ (digest >> 31)) * 0x94d049bb133111ebULL;
  return digest >> 8;
}

class Chain {
 public:
  Chain(int length, int work) : work_(work), seals_(length + 1) {
    for (auto& each : seals_) ready_.push_back(each.get_future().share());
    seals_[0].set_value(1);
  }

  void append(int block) {
    const Digest root = gather(block, work_ / 12);
    const Digest before = ready_[block].get();
    seals_[block + 1].set_value(seal(before, root, work_));
  }

  Digest last() const { return ready_.back().get(); }

 private:
  int work_;
  std::vector<std::promise<Digest>> seals_;
  std::vector<std::shared_future<Digest>> ready_;
};

void sign(Chain& chain, int first, int step) {
  for (int block = first; block < blocks; block += step) chain.append(block);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 1 + static_cast<int>(seconds * 36);
  std::uint64_t total = 0;
  for (int round = 0; round < rounds; ++round) {
    Chain chain(blocks, 500'000);
    std::vector<std::thread> signers;
    for (int t = 0; t < threads; ++t) signers.emplace_back(sign, std::ref(chain), t, threads);
    for (std::thread& each : signers) each.join();
    total += chain.last() >> 32;
  }
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}

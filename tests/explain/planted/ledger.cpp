// A bank: tellers transfer money between accounts, an auditor goes through the journal.
//
// category: mutex
// name: journal_mutex
// holder: audit_page < audit
// certain: yes
// why: Tellers wait for the lock of the accounts, whose holder waits for the journal's holder.
//
// The tellers work until the audit is over, because they would otherwise be done before it where
// they rarely meet the auditor, and main would then wait for the auditor alone.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 8982712;

std::mutex accounts_mutex;
std::mutex journal_mutex;
std::array<std::int64_t, 64> accounts{};
std::array<std::uint64_t, 4096> journal{};
std::uint64_t entries = 0;
std::atomic<bool> audited{false};

[[gnu::noinline]] void write_journal(std::uint64_t amount) {
  const std::lock_guard<std::mutex> lock(journal_mutex);
  journal[entries++ % journal.size()] = amount;
}

[[gnu::noinline]] void transfer(unsigned from, unsigned to, int amount) {
  const std::lock_guard<std::mutex> lock(accounts_mutex);
  accounts[from % 64] -= amount;
  accounts[to % 64] += amount;
  write_journal(amount);
}

[[gnu::noinline]] std::uint64_t audit_page(std::uint64_t seed) {
  const std::lock_guard<std::mutex> lock(journal_mutex);
  std::uint64_t digest = seed;
  for (int pass = 0; pass < 80; ++pass) {
    for (const std::uint64_t each : journal) digest = (digest ^ (each >> 40)) * 0x100000001b3ULL;
  }
  return digest >> 40;
}

[[gnu::noinline]] void tell(unsigned first, unsigned step) {
  std::uint64_t form = first + 1;
  for (unsigned i = first; !audited; i += step) {
    for (int word = 0; word < 15'000; ++word) form = (form ^ (form >> 7)) * 31 + 1;
    transfer(i, i * 7 + 1, static_cast<int>(form % 50));
  }
}

[[gnu::noinline]] void audit(int rounds, std::uint64_t& digest) {
  std::uint64_t sum = 0;
  std::uint64_t report = 1;
  for (int round = 0; round < rounds; ++round) {
    sum += audit_page(round % 2);
    for (int word = 0; word < 50'000; ++word) report = (report ^ (report >> 7)) * 31 + 1;
  }
  digest = report == 0 ? 0 : sum;
  audited = true;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 * (1 + static_cast<int>(seconds * 1'000));
  std::uint64_t digest = 0;
  std::vector<std::thread> people;
  people.emplace_back(audit, rounds, std::ref(digest));
  for (int t = 0; t < threads; ++t) people.emplace_back(tell, t, threads);
  for (std::thread& each : people) each.join();
  const std::int64_t money = std::accumulate(accounts.begin(), accounts.end(), std::int64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(digest / (rounds / 2)));
  return money == 0 && digest == expected * (rounds / 2) ? 0 : 1;
}

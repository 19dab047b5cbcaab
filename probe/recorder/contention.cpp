// Times operations on a cache line: see contention.hpp.
#include "contention.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>

#include "system.hpp"

namespace threadmark {
namespace {

constexpr std::size_t kMostThreads = 16;
constexpr std::uint64_t kSpanNs = 2'000'000;
constexpr std::uint64_t kLeadNs = 500'000;  // until all threads have been made
constexpr std::size_t kRounds = 3, kMostRounds = 6;
constexpr int kBatch = 64;                // operations between two looks at the clock
constexpr std::uint64_t kUndivided = 95;  // per cent of its span that a thread has to run

constexpr std::size_t kWords = 8;  // of a line of 64 bytes

struct alignas(128) Lines {
  std::atomic<std::uint64_t> words[kMostThreads * kWords];
};

struct Job {
  Operation operation;
  Lines* lines;
  std::size_t number;  // of the thread
  std::uint64_t begin_ns;
  std::uint64_t ran_ns = 0, span_ns = 0, operations = 0;
};

// ORDER timed: relaxed, statistic. Nothing depends on the values of these words.
constexpr auto kTimed = std::memory_order_relaxed;

void operate(const Job& job) {
  std::atomic<std::uint64_t>& shared = job.lines->words[0];
  std::atomic<std::uint64_t>& own = job.lines->words[job.number];
  std::atomic<std::uint64_t>& beside = job.lines->words[job.number * kWords];
  for (int i = 0; i < kBatch; ++i) {
    switch (job.operation) {
      case Operation::add:
        shared.fetch_add(1, kTimed);
        break;
      case Operation::exchange: {
        std::uint64_t seen = shared.load(kTimed);
        while (!shared.compare_exchange_weak(seen, seen + 1, kTimed)) {
        }
        break;
      }
      case Operation::write:
        own.store(own.load(kTimed) + 1, kTimed);
        break;
      case Operation::beside:
        beside.fetch_add(1, kTimed);
        break;
    }
  }
}

void* run(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  while (now_ns() < job.begin_ns) {
  }
  const std::uint64_t ran_before = processor_ns(), begin = now_ns();
  std::uint64_t now = begin;
  for (; now < job.begin_ns + kSpanNs; now = now_ns()) {
    operate(job);
    job.operations += kBatch;
  }
  job.span_ns = now - begin;
  job.ran_ns = processor_ns() - ran_before;
  return nullptr;
}

// The picoseconds of an operation if these processors run one thread each; 0: they did not all run.
std::uint64_t cost_ps(Operation operation, const std::vector<std::uint64_t>& cpus) {
  Lines lines{};
  std::array<Job, kMostThreads> jobs;
  std::array<pthread_t, kMostThreads> threads;
  const std::uint64_t begin = now_ns() + kLeadNs;
  std::size_t made = 0;
  for (; made < cpus.size(); ++made) {
    jobs[made] = {operation, &lines, made, begin};
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpus[made], &only);
    pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) != 0) break;
    const bool bound = ::pthread_attr_setaffinity_np(&attributes, sizeof only, &only) == 0;
    const bool runs = bound && ::pthread_create(&threads[made], &attributes, run, &jobs[made]) == 0;
    ::pthread_attr_destroy(&attributes);
    if (!runs) break;
  }
  bool side_by_side = made == cpus.size();
  std::uint64_t span_ns = 0, operations = 0;
  for (std::size_t i = 0; i < made; ++i) {
    ::pthread_join(threads[i], nullptr);
    span_ns += jobs[i].span_ns;
    operations += jobs[i].operations;
    side_by_side =
        side_by_side && jobs[i].operations != 0 && 100 * jobs[i].ran_ns >= kUndivided * kSpanNs;
  }
  return side_by_side ? 1000 * span_ns / operations : 0;
}

}  // namespace

Contention measure_contention(const std::vector<std::uint64_t>& cpus) {
  const std::vector<std::uint64_t> used(
      cpus.begin(),
      cpus.begin() + static_cast<std::ptrdiff_t>(std::min(cpus.size(), kMostThreads)));
  Contention found;
  if (used.size() < 2) return found;
  for (std::size_t i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    std::array<std::uint64_t, kRounds> alone{}, together{};
    std::size_t rounds = 0;
    for (std::size_t tried = 0; rounds < kRounds && tried < kMostRounds; ++tried) {
      alone[rounds] = cost_ps(operation, {used.front()});
      together[rounds] = cost_ps(operation, used);
      if (alone[rounds] != 0 && together[rounds] != 0) ++rounds;
    }
    if (rounds < kRounds) return {};
    std::sort(alone.begin(), alone.end());
    std::sort(together.begin(), together.end());
    found.costs[i] = {alone[kRounds / 2], together[kRounds / 2]};
  }
  found.threads = used.size();
  return found;
}

}  // namespace threadmark

// The definitions.
#include "layout.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "../complaint.hpp"
#include "../input.hpp"
#include "join.hpp"

namespace students {
namespace {

// The program itself, its libraries, and the tables that do not depend on the data.
constexpr std::uint64_t kFixedBytes = (std::uint64_t{6} << 20) + kRanges * 12;
// What else a thread has: its stack, its reader, and what the allocator keeps of earlier ones.
constexpr std::uint64_t kThreadBytes = 3 * LineReader::kBufferBytes + Joiner::kBufferBytes;
// Slots and texts of about this size stay in a core's cache while a partition is joined.
constexpr std::uint64_t kCacheBytes = std::uint64_t{1} << 20;
constexpr std::size_t kMostBlockBytes = 16 * 1024;
constexpr std::size_t kLeastBlockBytes = 512;  // of few persons' longest texts
// Of the partition's tables: its entry here, and the head and the fill of each thread's chain.
constexpr std::uint64_t kPartitionBytes = sizeof(Partition) + 16;

// Successive ranges together as long as they take no more than this.
std::vector<Partition> divide(const Weights& weights, std::uint64_t most_bytes) {
  std::vector<Partition> result;
  for (std::uint64_t range = 0; range < weights.size(); ++range) {
    if (weights[range] == 0) continue;
    const std::uint64_t first = range * kRangeNumbers;
    if (!result.empty()) {
      Partition grown = result.back();
      grown.span = first + kRangeNumbers - grown.first;
      grown.weight += weights[range];
      if (grown.bytes() <= most_bytes) {
        result.back() = grown;
        continue;
      }
    }
    result.push_back({static_cast<std::uint32_t>(first), kRangeNumbers, weights[range]});
  }
  return result;
}

struct Choice {
  std::vector<Partition> partitions;
  std::size_t block_bytes = 0;
  std::uint64_t bytes = 0;  // all that is needed, without blocks that are kept
};

std::uint64_t needed(const std::vector<Partition>& partitions, unsigned threads,
                     std::size_t block_bytes) {
  // Each table is as large as any partition needs it.
  std::uint64_t text = 0;
  std::uint64_t slots = 0;
  for (const Partition& each : partitions) {
    text = std::max(text, each.text_bytes());
    slots = std::max(slots, each.bytes() - each.text_bytes());
  }
  return kFixedBytes + partitions.size() * kPartitionBytes +
         threads * (kThreadBytes + text + slots + partitions.size() * (block_bytes + 16));
}

// The smallest partitions, from those that fit into the cache, with which all threads have room.
std::optional<Choice> choose(const Weights& weights, unsigned threads, std::uint64_t memory_bytes) {
  for (std::uint64_t most = kCacheBytes; most <= 2 * memory_bytes; most *= 2) {
    Choice choice{divide(weights, most), kMostBlockBytes, 0};
    while (choice.block_bytes > kLeastBlockBytes &&
           threads * choice.partitions.size() * choice.block_bytes > memory_bytes / 8) {
      choice.block_bytes /= 2;
    }
    choice.bytes = needed(choice.partitions, threads, choice.block_bytes);
    if (choice.bytes <= memory_bytes) return choice;
  }
  return std::nullopt;
}

std::uint64_t enough(const Weights& weights) {
  std::uint64_t mebibytes = kLeastMemoryBytes >> 20;
  while (!choose(weights, 1, mebibytes << 20)) mebibytes += mebibytes / 4;
  return mebibytes;
}

}  // namespace

std::uint64_t Partition::text_bytes() const { return std::min(weight, span * kMostPersonBytes); }

std::uint64_t Partition::pages() const {
  return std::min(weight / sizeof(std::uint64_t), index_entries());
}

std::uint64_t Partition::bytes() const {
  return text_bytes() + pages() * kSlotsInPage * sizeof(Slot) +
         index_entries() * sizeof(std::uint32_t);
}

unsigned threads_to_count(unsigned threads, std::uint64_t memory_bytes) {
  const std::uint64_t each = kThreadBytes + kRanges * sizeof(std::uint64_t);
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>((memory_bytes - kFixedBytes) / each, 1, threads));
}

Layout layout(const Weights& weights, unsigned threads, std::uint64_t memory_bytes) {
  std::optional<Choice> choice;
  while (!(choice = choose(weights, threads, memory_bytes)) && threads > 1) --threads;
  if (!choice) {
    throw BadRequest("--memory is too small for so many students; choose --memory " +
                     std::to_string(enough(weights)) + "M or more.");
  }
  Layout result;
  result.threads = threads;
  result.block_bytes = choice->block_bytes;
  result.partitions = std::move(choice->partitions);
  result.partition_of.assign(weights.size(), kNoPartition);
  for (std::uint32_t i = 0; i < result.partitions.size(); ++i) {
    const Partition& each = result.partitions[i];
    const std::uint64_t range = each.first / kRangeNumbers;
    for (std::uint64_t j = 0; j < each.span / kRangeNumbers; ++j) {
      result.partition_of[range + j] = i;
    }
  }
  // A block is at least half full, and no more of them than that are needed.
  const std::uint64_t weight = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  result.blocks_in_memory = std::min((memory_bytes - choice->bytes) / result.block_bytes,
                                     3 * weight / result.block_bytes + 1);
  return result;
}

}  // namespace students

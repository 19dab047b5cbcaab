// See sharing.hpp. Reading the maps takes as long as a long wait, so the agent keeps the results:
// mappings that are shared, and pages that are not.
#include "probe/agent/sharing.hpp"

#include <pthread.h>

#include <atomic>
#include <cstring>

#include "probe/agent/modules.hpp"
#include "probe/agent/state.hpp"

namespace threadmark::agent {

namespace {

constexpr std::uint64_t kPage = 4096;

// A mapping that is shared. `high` is written last.
struct Known {
  std::atomic<std::uint64_t> low, high, place;
};
constexpr std::size_t kKnown = 64;
constinit Known known[kKnown]{};
constinit std::atomic<std::uint32_t> known_used{0};

constexpr std::size_t kPages = 256;
constinit std::atomic<std::uint64_t> private_pages[kPages]{};

// The word of glibc's structures that tells whether processes share the object.
std::uint32_t word_at(std::uint64_t address, std::size_t offset) {
  std::uint32_t word;
  std::memcpy(&word, reinterpret_cast<const void*>(address + offset), sizeof word);
  return word;
}

bool may_be_shared(ObjectKind kind, std::uint64_t address) {
  switch (kind) {
    case ObjectKind::mutex:
      return (reinterpret_cast<const pthread_mutex_t*>(address)->__data.__kind & 128) != 0;
    case ObjectKind::rwlock:
      return reinterpret_cast<const pthread_rwlock_t*>(address)->__data.__shared != 0;
    case ObjectKind::condition:
      return (reinterpret_cast<const pthread_cond_t*>(address)->__data.__wrefs & 1U) != 0;
    case ObjectKind::barrier:
      return word_at(address, 12) != 0;
    case ObjectKind::semaphore:
      return word_at(address, 8) != 0;
    case ObjectKind::spin_lock:
    case ObjectKind::futex:
      return get(shared()->images_used) > 1;  // these kinds have no such word
    default:
      return false;
  }
}

}  // namespace

std::uint64_t shared_place(ObjectKind kind, std::uint64_t address) {
  if (!may_be_shared(kind, address)) return 0;
  const std::uint32_t used = get(known_used);
  for (std::uint32_t i = 0; i < used && i < kKnown; ++i) {
    const std::uint64_t high = see(known[i].high), low = get(known[i].low);
    if (address >= low && address < high) return get(known[i].place) + (address - low);
  }
  auto& page = private_pages[address / kPage % kPages];
  if (get(page) == address / kPage) return 0;
  const Region region = region_of(address);
  if (region.shared == 0) {
    put(page, address / kPage);
    return 0;
  }
  if (const std::uint32_t index = add(known_used, 1); index < kKnown) {
    put(known[index].low, region.low);
    put(known[index].place, region.shared);
    publish(known[index].high, region.high);
  } else {
    put(known_used, kKnown);
  }
  return region.shared + (address - region.low);
}

}  // namespace threadmark::agent

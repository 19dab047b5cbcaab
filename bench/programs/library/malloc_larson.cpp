// A server's use of the heap: a thread works on a session, replaces its blocks in random order, and
// then another thread goes on with that session and frees the blocks of the first. There is one
// session more than threads: a contender puts its session down and picks up the free one, so
// sessions wander through the threads, and no thread ever waits.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "contention.hpp"
#include "random.hpp"

namespace {

constexpr std::uint32_t kSlots = 256;
constexpr std::uint32_t kSmallest = 8, kLargest = 1000;  // bytes, as Larson and Krishnan had it
constexpr std::uint64_t kTurn = 1024;                    // operations until the session is changed

// A block that remembers, apart from its memory, what was written to its ends.
struct Slot {
  std::byte* memory = nullptr;
  std::uint32_t size = 0;
};

void mark(const Slot& slot) {
  const auto low = static_cast<std::byte>(slot.size);
  slot.memory[0] = low;
  slot.memory[slot.size - 1] = low;
  std::memcpy(slot.memory + 1, &slot.size, sizeof slot.size);
  bench::escape(slot.memory);
}
bool intact(const Slot& slot) {
  std::uint32_t size = 0;
  std::memcpy(&size, slot.memory + 1, sizeof size);
  const auto low = static_cast<std::byte>(slot.size);
  return size == slot.size && slot.memory[0] == low && slot.memory[slot.size - 1] == low;
}

// Where a session's blocks come from.
struct Heap {
  void replace(Slot& slot, std::uint32_t size) {
    ::operator delete(slot.memory);
    slot = {static_cast<std::byte*>(::operator new(size)), size};
  }
};
struct OwnPool {
  void replace(Slot& slot, std::uint32_t size) {
    if (slot.memory != nullptr) pool.deallocate(slot.memory, slot.size, 1);
    slot = {static_cast<std::byte*>(pool.allocate(size, 1)), size};
  }
  std::pmr::unsynchronized_pool_resource pool;
};
// Each slot has room for the largest block, for good.
struct Reserved {
  void replace(Slot& slot, std::uint32_t size) {
    if (slot.memory == nullptr) slot.memory = static_cast<std::byte*>(::operator new(kLargest));
    slot.size = size;
  }
};

template <class Source>
class alignas(bench::cache_line) Session {
 public:
  Session() {
    for (Slot& slot : slots_) fill(slot);
  }
  Session(const Session&) = delete;
  ~Session() {
    if constexpr (!std::is_same_v<Source, OwnPool>) {  // a pool gives back all it has
      for (Slot& slot : slots_) ::operator delete(slot.memory);
    }
  }
  void step() {
    Slot& slot = slots_[random_.below(kSlots)];
    damaged_ += !intact(slot);
    fill(slot);
    ++replaced_;
  }
  std::uint64_t replaced() const { return replaced_; }
  bool whole() const {
    return damaged_ == 0 &&
           std::accumulate(slots_.begin(), slots_.end(), true,
                           [](bool so_far, const Slot& slot) { return so_far && intact(slot); });
  }

 private:
  void fill(Slot& slot) {
    source_.replace(slot, kSmallest + random_.below(kLargest - kSmallest + 1));
    mark(slot);
  }
  Source source_;
  bench::Random random_{1};
  std::uint64_t replaced_ = 0, damaged_ = 0;
  std::array<Slot, kSlots> slots_;
};

// HandOver: whether sessions change hands.
template <class Source, bool HandOver>
struct server {
  explicit server(unsigned threads) : sessions(threads + 1) {
    for (auto& each : sessions) each = std::make_unique<Session<Source>>();
    lying = sessions.back().get();
  }
  struct contender {
    contender(server& server, unsigned thread)
        : all(server), session(server.sessions[thread].get()) {}
    void run(std::uint64_t n) {
      while (n != 0) {
        const std::uint64_t part = std::min(n, left);
        for (std::uint64_t i = 0; i != part; ++i) session->step();
        n -= part;
        done += part;
        left -= part;
        if (left != 0) continue;
        left = kTurn;
        if (HandOver) session = all.lying.exchange(session);
      }
    }
    std::string check(std::uint64_t n) const {
      if (done != n) return "operations are missing";
      return session->whole() ? "" : "a block does not have what was written to it";
    }
    server& all;
    Session<Source>* session;
    std::uint64_t left = kTurn, done = 0;
  };
  // A session that two threads worked on at once would have lost some of its counts.
  std::string check(std::uint64_t n) const {
    std::uint64_t replaced = 0;
    for (const auto& each : sessions) {
      if (!each->whole()) return "a block does not have what was written to it";
      replaced += each->replaced();
    }
    return replaced == n ? "" : "blocks were not replaced";
  }
  std::vector<std::unique_ptr<Session<Source>>> sessions;
  alignas(bench::cache_line) std::atomic<Session<Source>*> lying;
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "malloc_larson",
        .summary = "sessions whose blocks one thread takes and another frees",
        .operation = "free one of a session's blocks and allocate one of 8 to 1000 bytes",
        .origin =
            "Larson and Krishnan, Memory allocation for long-running server applications, 1998",
        .ways =
            {
                bench::usual<server<Heap, true>>("new_delete",
                                                 "operator new; sessions change hands"),
                bench::usual<server<Heap, false>>("stays",
                                                  "operator new; each thread keeps its session"),
                bench::remedy<server<OwnPool, true>>(
                    "session_pool",
                    "a pmr pool that belongs to the session and changes hands with it"),
                bench::remedy<server<Reserved, true>>(
                    "reserved", "each slot keeps one block with room for the largest"),
            },
        .allocates = true)

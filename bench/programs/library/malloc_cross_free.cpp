// A thread allocates, the next thread frees, like a queue of messages. The threads are a ring of
// bounded queues; a single thread is its own neighbour. No thread waits: a thread whose neighbour
// is behind frees the block itself, and counts it.
//
// Roles. A lane has one writer and one reader. Words. `written`: writer; `taken`: reader; a slot
// belongs to the reader from written > i on and to the writer again from taken > i on. Both are
// looked at once in a batch: else their lines, not the heap, would be what is measured.
// Interleaving we fear: a slot used by both. `written - taken <= kSlots` excludes it, for a stale
// `taken` is only too small, a stale `written` too. Checked by the numbers in the blocks.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "contention.hpp"

namespace {

constexpr std::uint64_t kSlots = 1024, kBatch = 32;

template <class T>
class Lane {
 public:
  // Writer:
  bool room() {
    if (next_in_ - known_taken_ < kSlots) return true;
    known_taken_ = taken_.load();
    return next_in_ - known_taken_ < kSlots;
  }
  void put(const T& value) {
    slots_[next_in_ % kSlots] = value;
    if (++next_in_ % kBatch == 0) written_.store(next_in_);
  }
  // Reader: the oldest, or nullptr; it stays until drop().
  T* front() {
    if (next_out_ == known_written_) {
      known_written_ = written_.load();
      if (next_out_ == known_written_) return nullptr;
    }
    return &slots_[next_out_ % kSlots];
  }
  void drop() {
    if (++next_out_ % kBatch == 0) taken_.store(next_out_);
  }
  // When both are at rest: what was put in and not taken out.
  template <class F>
  void for_rest(F&& f) {
    for (std::uint64_t i = next_out_; i != next_in_; ++i) f(slots_[i % kSlots]);
  }

 private:
  alignas(bench::cache_line) std::atomic<std::uint64_t> written_{0};
  alignas(bench::cache_line) std::atomic<std::uint64_t> taken_{0};
  alignas(bench::cache_line) std::uint64_t next_in_ = 0, known_taken_ = 0;     // writer's
  alignas(bench::cache_line) std::uint64_t next_out_ = 0, known_written_ = 0;  // reader's
  alignas(bench::cache_line) std::array<T, kSlots> slots_{};
};

template <std::size_t Bytes>
struct Message {
  std::uint64_t number = 0;
  std::array<std::byte, Bytes - sizeof(std::uint64_t)> rest;
};

// How a message gets there. Transport::Item is what lies in a lane.
template <std::size_t Bytes>
struct OnHeap {
  using Item = Message<Bytes>*;
  static Item make(std::uint64_t number) {
    auto* message = new Message<Bytes>;
    message->number = number;
    bench::escape(message);
    return message;
  }
  static std::uint64_t number(Item item) { return item->number; }
  static void end(Item item) { delete item; }
};
template <std::size_t Bytes>
struct InQueue {
  using Item = Message<Bytes>;
  static Item make(std::uint64_t number) { return {number, {}}; }
  static std::uint64_t number(const Item& item) {
    bench::escape(&item);
    return item.number;
  }
  static void end(const Item&) {}
};

// What a contender counts; read by W::check when all are at rest.
struct alignas(bench::cache_line) Ledger {
  std::uint64_t sent = 0, kept = 0, received = 0;
};

// Distance 1: to the next thread; 0: to itself.
template <class Transport, unsigned Distance>
struct ring {
  using Item = typename Transport::Item;
  explicit ring(unsigned threads) : lanes(threads), ledgers(threads) {
    for (auto& lane : lanes) lane = std::make_unique<Lane<Item>>();
  }
  ring(const ring&) = delete;
  ~ring() {
    for (auto& lane : lanes) lane->for_rest([](const Item& item) { Transport::end(item); });
  }
  struct contender {
    contender(ring& all, unsigned thread)
        : out(*all.lanes[(thread + Distance) % all.lanes.size()]),
          in(*all.lanes[thread]),
          count(all.ledgers[thread]) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        const Item item = Transport::make(count.sent);
        if (out.room()) {
          out.put(item);
          ++count.sent;
        } else {
          Transport::end(item);
          ++count.kept;
        }
        if (Item* const arrived = in.front()) {
          strange += Transport::number(*arrived) != count.received;
          ++count.received;
          Transport::end(*arrived);
          in.drop();
        }
      }
    }
    std::string check(std::uint64_t n) const {
      if (strange != 0) return "a message came out of order, or was overwritten";
      return count.sent + count.kept == n ? "" : "messages were not sent";
    }
    Lane<Item>& out;
    Lane<Item>& in;
    Ledger& count;
    std::uint64_t strange = 0;
  };
  std::string check(std::uint64_t n) const {
    std::uint64_t sent = 0, kept = 0, received = 0, rest = 0;
    for (const Ledger& each : ledgers) {
      sent += each.sent;
      kept += each.kept;
      received += each.received;
    }
    for (const auto& lane : lanes) lane->for_rest([&](const Item&) { ++rest; });
    return sent + kept == n && received + rest == sent ? "" : "messages were lost";
  }
  std::vector<std::unique_ptr<Lane<Item>>> lanes;
  std::vector<Ledger> ledgers;
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "malloc_cross_free",
        .summary = "messages that one thread allocates and another frees",
        .operation = "allocate a message for the next thread and free one that arrived",
        .origin = "the producer and consumer of xmalloc-test; Threadmark",
        .ways =
            {
                bench::usual<ring<OnHeap<64>, 1>>("new_64", "64 bytes from operator new"),
                bench::usual<ring<OnHeap<512>, 1>>("new_512",
                                                   "512 bytes, which glibc keeps elsewhere"),
                bench::usual<ring<OnHeap<4096>, 1>>("new_4096",
                                                    "4096 bytes, above every thread cache"),
                bench::usual<ring<OnHeap<64>, 0>>("to_itself",
                                                  "64 bytes that the same thread frees"),
                bench::remedy<ring<InQueue<64>, 1>>("by_value",
                                                    "64 bytes that lie in the queue itself"),
            },
        .allocates = true)

// Accesses to the words that agent and recorder share, each with the one order that it needs. So
// only this file argues the orders.
#pragma once

#include <atomic>
#include <cstdint>

namespace threadmark::agent {

template <class Word>
auto get(const std::atomic<Word>& word) {
  // ORDER agent-get: relaxed, statistic. A reader concludes nothing about other words from it.
  return word.load(std::memory_order_relaxed);
}

template <class Word, class Value>
void put(std::atomic<Word>& word, Value value) {
  // ORDER agent-put: relaxed, statistic.
  word.store(static_cast<Word>(value), std::memory_order_relaxed);
}

template <class Word, class Value>
auto add(std::atomic<Word>& word, Value value) {
  // ORDER agent-add: relaxed, statistic.
  return word.fetch_add(static_cast<Word>(value), std::memory_order_relaxed);
}

// Adds to a word that only one thread adds to, without a locked instruction.
template <class Word, class Value>
void add_own(std::atomic<Word>& word, Value value) {
  put(word, get(word) + static_cast<Word>(value));
}

template <class Word, class Value>
void publish(std::atomic<Word>& word, Value value) {
  // ORDER agent-publish: release, pairs with agent-see. The reader sees the fields that were
  // written before.
  word.store(static_cast<Word>(value), std::memory_order_release);
}

template <class Word>
auto see(const std::atomic<Word>& word) {
  // ORDER agent-see: acquire, pairs with agent-publish and agent-claim.
  return word.load(std::memory_order_acquire);
}

// Makes a free word (0) the caller's. False: another thread was first, and `word` has its value.
template <class Word, class Value>
bool claim(std::atomic<Word>& word, Value value) {
  Word none{};
  // ORDER agent-claim: acq_rel and acquire, pairs with agent-see. The next owner sees the last
  // words of a freed entry.
  return word.compare_exchange_strong(none, static_cast<Word>(value), std::memory_order_acq_rel,
                                      std::memory_order_acquire);
}

// The first half of a sequence lock's write: no reader sees a later write before the odd version.
inline void begin_change(std::atomic<std::uint32_t>& version) {
  put(version, get(version) + 1);
  // ORDER agent-change: release, pairs with agent-see. A reader of a later word sees the version
  // odd.
  std::atomic_thread_fence(std::memory_order_release);
}

inline void end_change(std::atomic<std::uint32_t>& version) { publish(version, get(version) + 1); }

// For a signal handler on the same thread: earlier writes stay earlier.
inline void keep_order() { asm volatile("" ::: "memory"); }

}  // namespace threadmark::agent

// The definitions. A batch is kept under the number of its first record.
#include "state.hpp"

#include <cstring>
#include <random>
#include <utility>

#include "../complaint.hpp"

namespace students::nodes {
namespace {

constexpr std::uint64_t kFormat = 0x31'65'64'6f'6e'6b'6d'74;  // "tmknode1"
constexpr char kWordsKey = 'w';
constexpr char kLogKey = 'l';
constexpr char kUsedKey = 'u';

std::uint32_t count_of(std::string_view value) {
  std::uint32_t count = 0;
  std::memcpy(&count, value.data(), sizeof count);
  return count;
}

}  // namespace

State::State(const std::string& folder, Node node, const Fingerprint& own, bool fresh)
    : store_(folder, fresh) {
  const Store::Reading reading(store_);
  const auto words = reading.get(Key(kWordsKey));
  if (!words) {
    words_.format = kFormat;
    words_.node = static_cast<std::uint8_t>(node);
    words_.own = own;
    return;
  }
  if (words->size() != sizeof words_) store_.refuse();
  std::memcpy(&words_, words->data(), sizeof words_);
  check(node, own);
  reading.each(kLogKey, [this](std::uint64_t first, std::string_view value) {
    log_.push_back({first, first + count_of(value) - 1});
  });
}

void State::check(Node node, const Fingerprint& own) const {
  if (words_.format != kFormat || words_.node >= kNodes) store_.refuse();
  const std::string what = "The state in " + store_.folder();
  const std::string remedy = "; choose another --state, or begin anew with --fresh.";
  if (words_.node != node) {
    throw Failure(what + " is of the node " + name_of(static_cast<Node>(words_.node)) + remedy);
  }
  if (words_.own != own) {
    throw Failure(what + " was begun with another " + std::string(kFileNames[node]) + remedy);
  }
}

void State::commit(Store::Writing& writing, const Words& words) {
  writing.put(Key(kWordsKey), {reinterpret_cast<const char*>(&words), sizeof words});
  writing.commit();
  words_ = words;
}

void State::put(Store::Writing& writing, std::uint64_t first, const Batch& batch) {
  std::string value(sizeof batch.count, '\0');
  std::memcpy(value.data(), &batch.count, sizeof batch.count);
  writing.put(Key(kLogKey, first), value += batch.bytes);
}

void State::begin(std::uint64_t length, std::uint32_t exercises) {
  Store::Writing writing(store_);
  Words words = words_;
  std::random_device device;
  for (std::uint8_t& each : words.run) each = static_cast<std::uint8_t>(device());
  words.passed = length;
  words.exercises = exercises;
  commit(writing, words);
}

void State::adopt(const Run& run) {
  Store::Writing writing(store_);
  Words words = words_;
  words.run = run;
  commit(writing, words);
}

void State::append(const Batch& batch, std::span<const std::uint32_t> used) {
  const std::uint64_t first = words_.received + 1;
  Store::Writing writing(store_);
  put(writing, first, batch);
  if (!used.empty()) {
    writing.put(Key(kUsedKey, first),
                {reinterpret_cast<const char*>(used.data()), used.size_bytes()});
  }
  Words words = words_;
  words.received += batch.count;
  words.passed = words.received;
  commit(writing, words);
  log_.push_back({first, words.received});
}

void State::end(std::uint32_t exercises, const std::vector<Batch>& rest) {
  Store::Writing writing(store_);
  Words words = words_;
  std::deque<Piece> log = log_;
  for (const Batch& batch : rest) {
    const std::uint64_t first = words.passed + 1;
    put(writing, first, batch);
    words.passed += batch.count;
    log.push_back({first, words.passed});
  }
  words.total = words.received;
  words.exercises = exercises;
  words.ended = 1;
  commit(writing, words);
  log_ = std::move(log);
}

void State::acknowledge(std::uint64_t number) {
  if (number <= words_.acknowledged) return;
  Store::Writing writing(store_);
  std::size_t gone = 0;
  while (gone < log_.size() && log_[gone].last <= number) {
    writing.remove(Key(kLogKey, log_[gone++].first));
  }
  Words words = words_;
  words.acknowledged = number;
  commit(writing, words);
  log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(gone));
}

void State::finish() {
  Store::Writing writing(store_);
  Words words = words_;
  words.finished = 1;
  commit(writing, words);
}

void State::release() {
  Store::Writing writing(store_);
  Words words = words_;
  words.released = 1;
  commit(writing, words);
}

std::optional<Batch> State::batch(std::uint64_t first) const {
  const Store::Reading reading(store_);
  const auto value = reading.get(Key(kLogKey, first));
  if (!value) return std::nullopt;
  Batch batch;
  batch.count = count_of(*value);
  batch.bytes = value->substr(sizeof batch.count);
  return batch;
}

void State::read_used(const std::function<void(std::span<const std::uint32_t>)>& take) const {
  std::vector<std::uint32_t> used;
  Store::Reading(store_).each(kUsedKey, [&](std::uint64_t, std::string_view value) {
    used.resize(value.size() / sizeof(std::uint32_t));
    std::memcpy(used.data(), value.data(), used.size() * sizeof(std::uint32_t));
    take(used);
  });
}

void State::read_log(const std::function<void(std::string_view)>& take,
                     const std::function<void()>& use) const {
  const Store::Reading reading(store_);
  reading.each(kLogKey, [&](std::uint64_t, std::string_view value) {
    take(value.substr(sizeof(std::uint32_t)));
  });
  use();
}

}  // namespace students::nodes

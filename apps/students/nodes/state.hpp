// The durable state of a node, in a folder of its own. Each function that changes it is one
// transaction, so a killed process leaves all of the change or nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "names.hpp"
#include "store.hpp"

namespace students::nodes {

// Records in a row, as bytes.
struct Batch {
  std::uint32_t count = 0;
  std::string bytes;
};

// By which a changed file is known.
struct Fingerprint {
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;

  bool operator==(const Fingerprint&) const = default;
};

// The durable words of protocol.md. They lie in the database as they are here.
struct Words {
  std::uint64_t format = 0;
  Run run{};
  Fingerprint own{};
  std::uint64_t passed = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t received = 0;
  std::uint64_t total = 0;  // when `ended`
  std::uint32_t exercises = 0;
  std::uint8_t node = 0;
  std::uint8_t ended = 0;
  std::uint8_t finished = 0;
  std::uint8_t released = 0;
};
static_assert(sizeof(Words) == 80);

class State {
 public:
  // Opens the state in the folder, which is made if it is absent. `fresh` removes its contents.
  // Throws Failure if the folder is in use, or has the state of another node or another own file.
  State(const std::string& folder, Node node, const Fingerprint& own, bool fresh);

  const Words& words() const { return words_; }
  // Batches in the log.
  std::size_t log_size() const { return log_.size(); }

  // The rest throws Failure when the disk is full or refuses, and has then changed nothing.

  // For the first node, once: begins a new run, whose stream is the node's own file.
  void begin(std::uint64_t length, std::uint32_t exercises);
  void adopt(const Run& run);
  // Appends a joined batch after the received records, with the used records of the own file.
  void append(const Batch& batch, std::span<const std::uint32_t> used);
  // The stream that comes in has ended; `rest` goes on to the next node.
  void end(std::uint32_t exercises, const std::vector<Batch>& rest);
  void acknowledge(std::uint64_t number);
  void finish();
  void release();

  // The batch of the log that begins with this number, if one does.
  std::optional<Batch> batch(std::uint64_t first) const;
  // Calls with the used records of each batch.
  void read_used(const std::function<void(std::span<const std::uint32_t>)>& take) const;
  // Calls `take` with the records of each batch of the log, and then `use`; the bytes stay in place
  // until it returns.
  void read_log(const std::function<void(std::string_view)>& take,
                const std::function<void()>& use) const;

 private:
  struct Piece {
    std::uint64_t first;
    std::uint64_t last;
  };

  void check(Node node, const Fingerprint& own) const;
  // Writes the words, commits, and knows them from then on.
  void commit(Store::Writing& writing, const Words& words);
  static void put(Store::Writing& writing, std::uint64_t first, const Batch& batch);

  Store store_;
  Words words_;
  std::deque<Piece> log_;
};

}  // namespace students::nodes

// The earlier node of two neighbours: it passes its stream on and learns what the next node has
// received. The class has no clock and no socket, so that tests can act as the network and as a
// kill.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "message.hpp"
#include "state.hpp"

namespace students::nodes {

using Time = std::chrono::steady_clock::time_point;

class Sender {
 public:
  // Sends to the next node; false if no connection takes it.
  using Send = std::function<bool(const Message&)>;
  // The records of the stream from this number on, some of them.
  using Feed = std::function<std::optional<Batch>(std::uint64_t)>;

  Sender(State& state, Feed feed, Send send, std::uint64_t first_epoch, Time now);

  // A message of the next node. Throws Failure if it refuses this node.
  void take(const Message& message, Time now);
  // Sends what is due.
  void work(Time now);
  // When work must be called at the latest.
  Time due() const { return due_; }
  // Whether the work is done: the next node has everything, and this node has confirmed that.
  bool done() const { return phase_ == Phase::kDone; }
  // When the next node was last heard.
  Time heard() const { return heard_; }

 private:
  enum class Phase { kGreeting, kStreaming, kEnding, kLeaving, kDone };

  void greet(Time now);
  void welcome(const Message& message, Time now);
  void acknowledge(const Message& message, Time now);
  void send_batches(Time now);
  void finish(Time now);
  void leave(Time now);
  bool complete() const;
  void wait(Time now);  // for an answer, or for something to send

  State& state_;
  Feed feed_;
  Send send_;
  Phase phase_ = Phase::kGreeting;
  std::uint64_t epoch_;
  std::uint64_t next_ = 1;               // number of the next record to send
  std::deque<std::uint64_t> in_flight_;  // the last number of each batch
  std::size_t credit_ = 0;
  Time heard_;
  Time due_;
  Time leave_until_{};
  std::chrono::milliseconds patience_;
};

}  // namespace students::nodes

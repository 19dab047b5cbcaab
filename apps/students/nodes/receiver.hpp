// The later node of two neighbours: it joins incoming records with its own file, and reports what
// it has received. The class has no clock and no socket, so that tests can act as the network and
// as a kill.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "message.hpp"
#include "own.hpp"
#include "state.hpp"

namespace students::nodes {

inline constexpr std::size_t kWindow = 16;  // batches in flight, and in the log

class Receiver {
 public:
  // Answers the neighbour with this identity.
  using Send = std::function<void(const std::string& peer, const Message&)>;

  // `own` learns which of its records the state has used. The receiver calls `complete` when the
  // stream has ended, before it tells the sender; the constructor calls it if the stream ended
  // before a restart.
  Receiver(State& state, Own& own, Send send, std::function<void()> complete);

  // A message of the node before. Throws Failure if the state refuses.
  void take(const std::string& peer, const Message& message);
  // Sends the sender credit that it does not know of.
  void work();
  // The sender knows that its stream has ended.
  bool released() const { return state_.words().released != 0; }

 private:
  void hello(const std::string& peer, const Message& message);
  void batch(const Message& message);
  void end(const Message& message);
  void bye(const std::string& peer, const Message& message);
  void answer(Kind kind);
  void refuse(const std::string& peer, std::uint64_t epoch, const std::string& sentence);
  std::uint32_t credit() const;
  // Joins the record, and strips a record that cannot become complete any more.
  void join(Record& record);

  State& state_;
  Own& own_;
  Send send_;
  std::function<void()> complete_;
  Node node_;
  std::string peer_;
  std::uint64_t epoch_ = 0;          // 0: none
  std::uint32_t told_ = 0;           // the credit that the sender knows of
  std::vector<std::uint32_t> used_;  // of the current batch
  Record mine_;
};

}  // namespace students::nodes

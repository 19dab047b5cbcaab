// Sockets of ZeroMQ: the only files that know it. They carry messages and give no promise; the
// numbers of protocol.md do.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "message.hpp"

namespace students::nodes {

// HOST:PORT or an address of ZeroMQ, as an address of ZeroMQ.
std::string address_of(const std::string& text);

class Wire {
 public:
  // Listens for the node before and connects to the next one; an empty address is for none.
  // Throws Failure or BadRequest.
  Wire(const std::string& listen, const std::string& next);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire();  // tries for a second to deliver what was sent to the next node

  // What was sent is not waited for.
  void forget();

  // False if there is no connection to the next node, or it takes nothing more.
  bool to_next(const Message& message);
  void to_before(const std::string& peer, const Message& message);

  // Waits until a message can be read, a signal comes or the time is over.
  void wait(std::chrono::milliseconds time);
  // The next message that is there. Its text holds until the next call; what is no message of ours
  // is left out.
  std::optional<Message> from_next();
  std::optional<Message> from_before(std::string& peer);

 private:
  struct Sockets;
  std::unique_ptr<Sockets> sockets_;
};

}  // namespace students::nodes

// Sockets of ZeroMQ; only this file and wire.cpp know the library. Sockets carry messages without
// guarantees, which the numbers of protocol.md give.
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
  ~Wire();  // tries for a second to deliver messages to the next node

  // Drops the wait for sent messages.
  void forget();

  // False if there is no connection to the next node, or it takes nothing more.
  bool to_next(const Message& message);
  void to_before(const std::string& peer, const Message& message);

  // Waits until a message can be read, a signal comes or the time is over.
  void wait(std::chrono::milliseconds time);
  // The next available message. Its text is valid until the next call; foreign messages are left
  // out.
  std::optional<Message> from_next();
  std::optional<Message> from_before(std::string& peer);

 private:
  struct Sockets;
  std::unique_ptr<Sockets> sockets_;
};

}  // namespace students::nodes

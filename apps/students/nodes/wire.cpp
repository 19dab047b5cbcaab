// The definitions.
#include "wire.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

#include <zmq.hpp>

#include "../complaint.hpp"

namespace students::nodes {
namespace {

constexpr int kQueue = 64;  // messages; credit keeps it shorter

bool send(zmq::socket_t& socket, zmq::const_buffer bytes, zmq::send_flags flags) {
  for (;;) {
    try {
      return socket.send(bytes, flags | zmq::send_flags::dontwait).has_value();
    } catch (const zmq::error_t& error) {
      if (error.num() == EHOSTUNREACH) return false;
      if (error.num() != EINTR) throw;
    }
  }
}

bool receive(zmq::socket_t& socket, zmq::message_t& part) {
  for (;;) {
    try {
      return socket.recv(part, zmq::recv_flags::dontwait).has_value();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
  }
}

// Reads all parts of a message; returns how many there are, and keeps the first two.
std::size_t receive_all(zmq::socket_t& socket, std::array<zmq::message_t, 2>& parts) {
  std::size_t count = 0;
  zmq::message_t rest;
  for (bool more = true; more; ++count) {
    zmq::message_t& part = count < parts.size() ? parts[count] : rest;
    if (!receive(socket, part)) return count;
    more = part.more();
  }
  return count;
}

std::string text_of(const zmq::message_t& part) {
  return {static_cast<const char*>(part.data()), part.size()};
}

[[noreturn]] void refuse(const std::string& address, const std::string& option, int error) {
  const std::string why = zmq_strerror(error);
  if (error == EADDRINUSE) {
    throw Failure(address + " is in use by another process; end it or choose another " + option +
                  ".");
  }
  if (error == EADDRNOTAVAIL || error == EACCES || error == EMFILE) {
    throw Failure(address + " cannot be used (" + why + "); choose another " + option + ".");
  }
  throw BadRequest(option +
                   " must be HOST:PORT, such as 127.0.0.1:5555, or an address of ZeroMQ, " +
                   "not '" + address + "' (" + why + ").");
}

}  // namespace

struct Wire::Sockets {
  zmq::context_t context{1};
  std::optional<zmq::socket_t> before;
  std::optional<zmq::socket_t> next;
  std::array<zmq::message_t, 2> parts;
};

std::string address_of(const std::string& text) {
  return text.find("://") == std::string::npos ? "tcp://" + text : text;
}

Wire::Wire(const std::string& listen, const std::string& next) try
    : sockets_(std::make_unique<Sockets>()) {
  if (!next.empty()) {
    zmq::socket_t& socket = sockets_->next.emplace(sockets_->context, zmq::socket_type::dealer);
    // Nothing waits for a connection that is not there, and nothing is kept for one that broke.
    socket.set(zmq::sockopt::immediate, true);
    socket.set(zmq::sockopt::linger, 1000);
    socket.set(zmq::sockopt::sndhwm, kQueue);
    socket.set(zmq::sockopt::rcvhwm, kQueue);
    socket.set(zmq::sockopt::reconnect_ivl, 20);
    socket.set(zmq::sockopt::reconnect_ivl_max, 500);
    // A machine that is gone without a word is known by its silence.
    socket.set(zmq::sockopt::heartbeat_ivl, 1000);
    socket.set(zmq::sockopt::heartbeat_timeout, 5000);
    socket.set(zmq::sockopt::ipv6, true);
    socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMostMessageBytes));
    try {
      socket.connect(address_of(next));
    } catch (const zmq::error_t& error) {
      refuse(next, "--next", error.num());
    }
  }
  if (!listen.empty()) {
    zmq::socket_t& socket = sockets_->before.emplace(sockets_->context, zmq::socket_type::router);
    socket.set(zmq::sockopt::linger, 1000);
    socket.set(zmq::sockopt::sndhwm, kQueue);
    socket.set(zmq::sockopt::rcvhwm, kQueue);
    socket.set(zmq::sockopt::ipv6, true);
    socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMostMessageBytes));
    try {
      socket.bind(address_of(listen));
    } catch (const zmq::error_t& error) {
      refuse(listen, "--listen", error.num());
    }
  }
} catch (const zmq::error_t& error) {
  throw Failure(std::string("A socket cannot be made (") + error.what() +
                "); raise the limit of open files (ulimit -n).");
}

Wire::~Wire() = default;

void Wire::forget() {
  for (auto* each : {&sockets_->before, &sockets_->next}) {
    if (each->has_value()) (*each)->set(zmq::sockopt::linger, 0);
  }
}

bool Wire::to_next(const Message& message) {
  return send(*sockets_->next, zmq::buffer(encode(message)), zmq::send_flags::none);
}

void Wire::to_before(const std::string& peer, const Message& message) {
  if (send(*sockets_->before, zmq::buffer(peer), zmq::send_flags::sndmore)) {
    send(*sockets_->before, zmq::buffer(encode(message)), zmq::send_flags::none);
  }
}

void Wire::wait(std::chrono::milliseconds time) {
  std::vector<zmq::pollitem_t> items;
  for (auto* each : {&sockets_->before, &sockets_->next}) {
    if (each->has_value()) items.push_back({(*each)->handle(), 0, ZMQ_POLLIN, 0});
  }
  try {
    zmq::poll(items, time);
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
  }
}

std::optional<Message> Wire::from_next() {
  auto& parts = sockets_->parts;
  while (sockets_->next) {
    const std::size_t count = receive_all(*sockets_->next, parts);
    if (count == 0) break;
    const auto message = count == 1 ? decode(parts[0].to_string_view()) : std::nullopt;
    if (message) return message;
  }
  return std::nullopt;
}

std::optional<Message> Wire::from_before(std::string& peer) {
  auto& parts = sockets_->parts;
  while (sockets_->before) {
    const std::size_t count = receive_all(*sockets_->before, parts);
    if (count == 0) break;
    const auto message = count == 2 ? decode(parts[1].to_string_view()) : std::nullopt;
    if (message) {
      peer = text_of(parts[0]);
      return message;
    }
  }
  return std::nullopt;
}

}  // namespace students::nodes

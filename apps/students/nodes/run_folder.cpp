// The definitions.
#include "run_folder.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "../complaint.hpp"

namespace students::nodes {

Port::Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int yes = 1;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool bound = socket_ >= 0 &&
                     setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                     bind(socket_, any, size) == 0 && getsockname(socket_, any, &size) == 0;
  if (!bound) {
    const int error = errno;
    if (socket_ >= 0) close(socket_);
    throw Failure(std::string("No port of the loopback interface can be had (") +
                  std::strerror(error) + "); bring the interface up (ip link set lo up).");
  }
  number_ = ntohs(address.sin_port);
}

Port::~Port() { close(socket_); }

RunFolder::RunFolder(std::string path, bool fresh) : path_(std::move(path)) {
  made_ = mkdir(path_.c_str(), 0777) == 0;
  if (!made_ && errno != EEXIST) fail(errno);
  lock_ = ::open((path_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail(errno);
  try {
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) fail(errno);
      throw Failure("Another pipeline works on the state in " + path_ +
                    "; wait until it has ended, or choose another --state.");
    }
    // It is there while states are removed, which a kill may have ended in between.
    if (fresh || std::filesystem::exists(path_ + "/finished")) clear();
  } catch (...) {
    close(lock_);
    throw;
  }
}

RunFolder::~RunFolder() { close(lock_); }

void RunFolder::clear() const {
  const std::string mark = path_ + "/finished";
  const int descriptor = ::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) fail(errno);
  close(descriptor);
  for (std::size_t i = 0; i < kNodes; ++i) {
    const std::string state = of(static_cast<Node>(i));
    for (const char* name : {"/data.mdb", "/lock", ""}) remove_file(state + name);
  }
  remove_file(mark);
}

void RunFolder::remove() const {
  clear();
  ::unlink((path_ + "/lock").c_str());
  ::rmdir(path_.c_str());
}

void RunFolder::remove_file(const std::string& path) const {
  if (std::remove(path.c_str()) != 0 && errno != ENOENT) fail(errno);
}

void RunFolder::fail(int error) const {
  throw Failure("The state in " + path_ + " cannot be used (" + std::strerror(error) +
                "); choose another folder with --state.");
}

}  // namespace students::nodes

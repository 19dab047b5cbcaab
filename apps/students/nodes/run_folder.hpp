// The resources of a pipeline for its nodes: their states, and reserved ports.
#pragma once

#include <string>

#include "names.hpp"

namespace students::nodes {

// A port of loopback that no other process gets while this object lives. A node may listen there,
// because this socket does not listen and both sockets allow the other (SO_REUSEADDR).
class Port {
 public:
  Port();  // throws Failure
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port();

  std::string address() const { return "127.0.0.1:" + std::to_string(number_); }

 private:
  int socket_ = -1;
  unsigned number_ = 0;
};

// The folder of all four states. Only one pipeline at a time has it.
class RunFolder {
 public:
  // Makes the folder if it is absent. `fresh` removes the states in it. Throws Failure.
  RunFolder(std::string path, bool fresh);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();

  const std::string& path() const { return path_; }
  bool made() const { return made_; }  // the folder was absent
  std::string of(Node node) const { return path_ + "/" + name_of(node); }

  // Removes the states, and the folder if nothing else is there. Throws Failure.
  void remove() const;

 private:
  void clear() const;
  void remove_file(const std::string& path) const;
  [[noreturn]] void fail(int error) const;

  std::string path_;
  bool made_ = false;
  int lock_ = -1;
};

}  // namespace students::nodes

// Threads that are always joined. std::jthread would do, but libc++ 19 has it behind a flag only.
#pragma once

#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "complaint.hpp"

namespace students {

class Crew {
 public:
  Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() { join(); }

  // Starts a thread that calls `call`, which throws nothing. Throws Failure.
  template <typename Call>
  void start(Call call) {
    try {
      threads_.emplace_back(std::move(call));
    } catch (const std::system_error& error) {
      throw Failure(std::string("A thread cannot be started (") + error.code().message() +
                    "); choose fewer --threads, raise the limit (ulimit -u), or use one "
                    "thread (in generate: --writer sequential).");
    }
  }

  void join() {
    for (std::thread& each : threads_) each.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace students

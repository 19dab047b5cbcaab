// needs: Threads : Threads::Threads
// The subject of the laboratory: std::async. It has no pool, so `threads` has an effect only on the
// processors that the process may use, and on parallel_for. `optional` is the standard's default
// policy in the library's implementation.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <future>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "parts.hpp"
#include "registry.hpp"

namespace bench {

struct Backend {
  static constexpr std::string_view name = "std_async";
  static constexpr bool parallel = true;
  static constexpr std::array variants{
      Variant{.name = "deferred", .parallel = false},
      Variant{.name = "async"},
      Variant{.name = "optional"},
  };
  static std::string version() {
#if defined(_LIBCPP_VERSION)
    return "libc++ " + std::to_string(_LIBCPP_VERSION / 10000) + "." +
           std::to_string(_LIBCPP_VERSION / 100 % 100);
#elif defined(__GLIBCXX__)
    return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE) + " (" + std::to_string(__GLIBCXX__) +
           ")";
#else
    return "unknown";
#endif
  }

  Backend(unsigned threads, std::string_view variant) {
    threads_ = threads;
    if (variant == "deferred")
      policy_ = std::launch::deferred;
    else if (variant == "optional")
      policy_ = std::launch::async | std::launch::deferred;
    else
      policy_ = std::launch::async;
  }

  void run(auto&& task) { task(); }

  template <class F, class... A>
  static auto async(F&& callable, A&&... args) {
    return std::async(policy_, std::forward<F>(callable), std::forward<A>(args)...);
  }

  // The last branch runs in place, as in code that saves threads.
  template <class... F>
  static void fork_join(F&&... branches) {
    auto all = std::forward_as_tuple(std::forward<F>(branches)...);
    constexpr std::size_t last = sizeof...(F) - 1;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      std::array<std::future<void>, last> others{
          std::async(policy_, std::ref(std::get<I>(all)))...};
      try {
        std::get<last>(all)();
      } catch (...) {
        wait(others);
        throw;
      }
      join(others);
    }(std::make_index_sequence<last>());
  }

  class scope {
   public:
    scope() = default;
    scope(const scope&) = delete;
    ~scope() { Backend::wait(branches_); }
    template <class F>
    void spawn(F&& branch) {
      branches_.push_back(std::async(policy_, std::forward<F>(branch)));
    }
    void wait() {
      auto branches = std::move(branches_);
      branches_.clear();
      join(branches);
    }

   private:
    std::vector<std::future<void>> branches_;
  };

  // Each part has a thread, so there are as many threads as requested.
  template <class F>
  static void parallel_for(std::size_t items, const F& body) {
    scope parts;
    spawn_parts(parts, items, threads_, body);
  }

  using mutex = std::mutex;

  template <class... M>
  static void lock(M&... mutexes) {
    std::lock(mutexes...);
  }

 private:
  // A future's destructor is not enough, because a deferred branch runs only in a wait.
  static void wait(auto& futures) {
    for (auto& future : futures) future.wait();
  }

  // All are joined before the first exception goes on.
  static void join(auto& futures) {
    std::exception_ptr first;
    for (auto& future : futures) {
      try {
        future.get();
      } catch (...) {
        if (!first) first = std::current_exception();
      }
    }
    if (first) std::rethrow_exception(first);
  }

  static inline std::launch policy_ = std::launch::async;
  static inline std::size_t threads_ = 1;
};

}  // namespace bench

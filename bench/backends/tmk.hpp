// needs: tmk : tmk::tmk
// tmk: async and future on a pool with the requested number of threads, including the caller.
// fork_join and scope are tmk's own, which put nothing on the heap.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <tmk/async.hpp>
#include <tmk/fork_join.hpp>
#include <tmk/mutex.hpp>
#include <tmk/pool.hpp>
#include <tmk/version.hpp>

#include "parts.hpp"
#include "registry.hpp"

namespace bench {

struct Backend {
  static constexpr std::string_view name = "tmk";
  static constexpr bool parallel = true;
  static constexpr std::array variants{
      Variant{.name = "deferred", .parallel = false},
      Variant{.name = "async"},
      Variant{.name = "optional"},
  };
  static std::string version() { return "tmk " TMK_VERSION; }

  Backend(unsigned threads, std::string_view variant) : pool_(threads) {
    threads_ = threads;
    if (variant == "deferred")
      policy_ = tmk::launch::deferred;
    else if (variant == "async")
      policy_ = tmk::launch::async;
  }

  void run(auto&& task) { pool_.run(task); }

  template <class F, class... A>
  static auto async(F&& callable, A&&... args) {
    return tmk::async(policy_, std::forward<F>(callable), std::forward<A>(args)...);
  }

  template <class... F>
  static void fork_join(F&&... branches) {
    tmk::fork_join(branches...);
  }

  class scope {
   public:
    template <class F>
    void spawn(F&& branch) {
      tasks_.run(std::forward<F>(branch));
    }
    void wait() { tasks_.wait(); }

   private:
    tmk::task_scope tasks_;
  };

  template <class F>
  static void parallel_for(std::size_t items, const F& body) {
    scope parts;
    spawn_parts(parts, items, parts_per_thread * threads_, body);
  }

  using mutex = tmk::mutex;

  template <class... M>
  static void lock(M&... mutexes) {
    if constexpr (sizeof...(M) == 1)
      (mutexes.lock(), ...);
    else
      tmk::lock(mutexes...);
  }

 private:
  static inline tmk::launch policy_ = tmk::launch::async | tmk::launch::deferred;
  static inline std::size_t threads_ = 1;
  tmk::pool pool_;
};

}  // namespace bench

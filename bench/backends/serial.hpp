// Plain calls: the base of every speed-up. The mutexes do nothing in `plain`; `locked` keeps them,
// to show their price.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "registry.hpp"

namespace bench {

struct Backend {
  static constexpr std::string_view name = "serial";
  static constexpr bool parallel = false;
  static constexpr std::array variants{
      Variant{.name = "plain", .parallel = false},
      Variant{.name = "locked", .parallel = false, .for_locks = true},
  };
  static std::string version() { return "plain calls"; }

  Backend(unsigned /*threads*/, std::string_view variant) { locked_ = variant == "locked"; }

  void run(auto&& task) { task(); }

  template <class Result>
  struct Handle {
    Result value;
    Result get() { return std::forward<Result>(value); }
  };
  struct Done {
    void get() {}
  };

  template <class F, class... A>
  static auto async(F&& callable, A&&... args) {
    using Result = std::invoke_result_t<std::decay_t<F>, std::decay_t<A>...>;
    if constexpr (std::is_void_v<Result>) {
      std::invoke(std::forward<F>(callable), std::forward<A>(args)...);
      return Done{};
    } else {
      return Handle<Result>{std::invoke(std::forward<F>(callable), std::forward<A>(args)...)};
    }
  }

  template <class... F>
  static void fork_join(F&&... branches) {
    (std::forward<F>(branches)(), ...);
  }

  template <class F>
  static void parallel_for(std::size_t items, const F& body) {
    body(std::size_t{0}, items);
  }

  struct scope {
    template <class F>
    void spawn(F&& branch) {
      std::forward<F>(branch)();
    }
    void wait() {}
  };

  class mutex {
   public:
    void lock() {
      if (locked_) mutex_.lock();
    }
    bool try_lock() { return !locked_ || mutex_.try_lock(); }
    void unlock() {
      if (locked_) mutex_.unlock();
    }

   private:
    std::mutex mutex_;
  };

  template <class... M>
  static void lock(M&... mutexes) {
    if (locked_) std::lock(mutexes...);
  }

 private:
  // Set once before the run; a well-predicted branch is the whole cost of `plain`'s locks.
  static inline bool locked_ = false;
};

}  // namespace bench

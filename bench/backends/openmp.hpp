// needs: OpenMP COMPONENTS CXX : OpenMP::OpenMP_CXX
// OpenMP tasks. OpenMP can wait only for all children of a task: a get() whose task has not ended,
// fork_join and scope::wait are a taskwait, which waits for more than the request. Tasks catch
// their exceptions, because none may leave a task region. This is long because each runtime sets
// its stacks differently.
#pragma once

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "outcome.hpp"
#include "parts.hpp"
#include "registry.hpp"

namespace bench {

struct Backend {
  static constexpr std::string_view name = "openmp";
  static constexpr bool parallel = true;
  static constexpr std::array variants{Variant{.name = "futures"}};

  // The libraries do not tell their versions; the file that the loader chose does.
  static std::string version() {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&omp_get_max_threads), &info);
    std::error_code error;
    const auto file = std::filesystem::canonical(info.dli_fname ? info.dli_fname : "", error);
    return "OpenMP " + std::to_string(_OPENMP) + ", " + file.string();
  }

  Backend(unsigned threads, std::string_view /*variant*/) : threads_(static_cast<int>(threads)) {
    omp_set_dynamic(0);  // exactly as many threads as asked for
#if defined(KMP_VERSION_MAJOR)
    kmp_set_stacksize_s(stack_bytes);
#else
    // libgomp reads OMP_STACKSIZE when it is loaded, before anything here runs, and takes the
    // default otherwise.
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
#endif
  }

  void run(auto&& task) {
    FirstError error;
#pragma omp parallel num_threads(threads_)
#pragma omp single
    {
      if (omp_get_num_threads() == threads_) {
        error.guard(task);
      } else {
        auto refuse = [] {
          throw std::system_error(std::make_error_code(refused), "OpenMP gives fewer threads");
        };
        error.guard(refuse);
      }
    }
    error.rethrow();
  }

  template <class F, class... A>
  static auto async(F&& callable, A&&... args) {
    auto task = std::make_unique<Call<Joined, F, A...>>(std::forward<F>(callable),
                                                        std::forward<A>(args)...);
    auto* call = task.get();
#pragma omp task firstprivate(call)
    {
      (*call)();
      call->done = true;
    }
    return Handle<Joined<result_of<F, A...>>>{std::move(task)};
  }

  template <class... F>
  static void fork_join(F&&... branches) {
    FirstError error;
    start(error, branches...);
#pragma omp taskwait
    error.rethrow();
  }

  class scope {
   public:
    scope() = default;
    scope(const scope&) = delete;
    ~scope() { join(); }
    template <class F>
    void spawn(F&& branch) {
      spawned_ = true;
      using Branch = std::decay_t<F>;
      // A clause copies, so a branch that is more than bytes (or only movable) is passed by
      // pointer.
      if constexpr (std::is_trivially_copyable_v<Branch>) {
        Branch copy(std::forward<F>(branch));
#pragma omp task firstprivate(copy)
        error_.guard(copy);
      } else {
        auto* const owned = new Branch(std::forward<F>(branch));
#pragma omp task firstprivate(owned)
        {
          error_.guard(*owned);
          delete owned;
        }
      }
    }
    void wait() {
      join();
      error_.rethrow();
    }

   private:
    void join() {
      if (!std::exchange(spawned_, false)) return;
#pragma omp taskwait
    }
    bool spawned_ = false;
    FirstError error_;
  };

  // The loop uses tasks, because one thread runs the program and the others wait for tasks. clang
  // 19 warns of its own code for a taskloop in a template.
  template <class F>
  static void parallel_for(std::size_t items, const F& body) {
    scope parts;
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    spawn_parts(parts, items, parts_per_thread * threads, body);
  }

  class mutex {
   public:
    mutex() { omp_init_lock(&lock_); }
    mutex(const mutex&) = delete;
    ~mutex() { omp_destroy_lock(&lock_); }
    void lock() { omp_set_lock(&lock_); }
    bool try_lock() { return omp_test_lock(&lock_) != 0; }
    void unlock() { omp_unset_lock(&lock_); }

   private:
    omp_lock_t lock_;
  };

  // OpenMP has no lock for several at once.
  template <class... M>
  static void lock(M&... mutexes) {
    std::lock(mutexes...);
  }

 private:
  template <class Result>
  struct Joined : Task<Result> {
    std::atomic<bool> done = false;
    void join() {
      if (!done) {
#pragma omp taskwait
      }
    }
  };

  // The last branch runs in place, as in code that saves tasks.
  static void start(FirstError& error, auto& last) { error.guard(last); }
  static void start(FirstError& error, auto& first, auto&... others) {
#pragma omp task shared(error, first)
    error.guard(first);
    start(error, others...);
  }

  static constexpr std::errc refused = std::errc::resource_unavailable_try_again;

  int threads_;
};

}  // namespace bench

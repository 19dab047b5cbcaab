// needs: Boost 1.81 COMPONENTS fiber : Boost::fiber
// Boost.Fiber: futures on fibers that other threads steal; long because of a scheduler of its own.
// The library's own work_stealing resumes the oldest fiber first, which unfolds a recursion breadth
// first (fib(20) holds 160 MB of stacks). This scheduler, made in the documented way, resumes the
// newest and steals the oldest. Limits: after any wait a fiber may be in another thread, so a task
// keeps nothing in thread_local variables; a stack has 256 KiB (untouched pages cost nothing) and
// ends at a guard page.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <boost/fiber/all.hpp>
#include <boost/version.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "outcome.hpp"
#include "parts.hpp"
#include "registry.hpp"

namespace bench {

namespace fibers = boost::fibers;

// The ready fibers of one thread, which other threads may take.
class ReadyFibers {
 public:
  void push(fibers::context* fiber) {
    const std::lock_guard lock(mutex_);
    fibers_.push_back(fiber);
    size_ = fibers_.size();
  }
  fibers::context* take(bool newest) {
    if (size_ == 0)
      return nullptr;  // an idle thief polls: it must not keep the lock from the owner
    const std::lock_guard lock(mutex_);
    if (fibers_.empty()) return nullptr;
    fibers::context* const fiber = newest ? fibers_.back() : fibers_.front();
    newest ? fibers_.pop_back() : fibers_.pop_front();
    size_ = fibers_.size();
    return fiber;
  }
  bool empty() const { return size_ == 0; }

 private:
  std::mutex mutex_;
  std::deque<fibers::context*> fibers_;
  std::atomic<std::size_t> size_ = 0;
};

// One per thread. All share the queues, which must outlive the last thread's scheduler.
class NewestFirst final : public fibers::algo::algorithm {
 public:
  NewestFirst(std::shared_ptr<std::vector<ReadyFibers>> all, std::size_t own)
      : all_(std::move(all)), own_(own) {}

  void awakened(fibers::context* fiber) noexcept override {
    if (fiber->is_context(fibers::type::pinned_context)) {
      fiber->ready_link(pinned_);
    } else {
      fiber->detach();
      (*all_)[own_].push(fiber);
    }
  }

  fibers::context* pick_next() noexcept override {
    // The dispatcher is pinned; it frees stacks and fetches what other threads woke, so it must not
    // starve.
    if (++picks_ % 16 == 0 && !pinned_.empty()) return pinned();
    fibers::context* fiber = (*all_)[own_].take(true);
    if (fiber == nullptr && !pinned_.empty()) return pinned();
    if (fiber == nullptr && all_->size() > 1) {
      const std::size_t victim = (own_ + 1 + random_() % (all_->size() - 1)) % all_->size();
      fiber = (*all_)[victim].take(false);
    }
    if (fiber != nullptr) fibers::context::active()->attach(fiber);
    return fiber;
  }

  bool has_ready_fibers() const noexcept override {
    return !pinned_.empty() || !(*all_)[own_].empty();
  }
  // An idle thread must not sleep, because no other thread tells it that there is work to steal.
  void suspend_until(const std::chrono::steady_clock::time_point&) noexcept override {
    std::this_thread::yield();
  }
  void notify() noexcept override {}

 private:
  fibers::context* pinned() {
    fibers::context* const fiber = &pinned_.front();
    pinned_.pop_front();
    return fiber;
  }
  std::shared_ptr<std::vector<ReadyFibers>> all_;
  std::size_t own_;
  fibers::scheduler::ready_queue_type pinned_;  // this thread's dispatcher and first fiber
  std::minstd_rand random_{static_cast<unsigned>(own_ + 1)};
  unsigned picks_ = 0;
};

// Keeps stacks, because making a guard page takes two system calls. A thread reuses the stacks that
// it frees.
class Stacks {
 public:
  using Cache = std::vector<boost::context::stack_context>;
  using traits_type = boost::context::stack_traits;
  static constexpr std::size_t kept = 8192;

  boost::context::stack_context allocate() {
    Cache* const mine = cache();
    if (mine == nullptr || mine->empty()) return system().allocate();
    const auto stack = mine->back();
    mine->pop_back();
    return stack;
  }
  void deallocate(boost::context::stack_context& stack) noexcept {
    Cache* const mine = cache();
    if (mine != nullptr && mine->size() < mine->capacity())
      mine->push_back(stack);
    else
      system().deallocate(stack);
  }
  static void use(Cache* cache) { cache_ = cache; }
  static void release(Cache& cache) {
    for (auto& stack : cache) system().deallocate(stack);
  }

 private:
  static boost::context::protected_fixedsize_stack system() { return {std::size_t{256} << 10}; }
  // Not inlined: across a switch a compiler would keep the address of the last thread's variable.
  [[gnu::noinline]] static Cache* cache() { return cache_; }
  static inline thread_local Cache* cache_ = nullptr;
};

struct Backend {
  static constexpr std::string_view name = "boost_fiber";
  static constexpr bool parallel = true;
  static constexpr std::array variants{Variant{.name = "futures"}};
  static std::string version() {
    return "Boost " BOOST_LIB_VERSION;
  }  // the library's file name says the same

  Backend(unsigned threads, std::string_view /*variant*/)
      : queues_(std::make_shared<std::vector<ReadyFibers>>(threads)), caches_(threads) {
    threads_ = threads;
    join(0);
    try {
      for (unsigned i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
    } catch (...) {
      stop();
      throw;
    }
  }
  Backend(const Backend&) = delete;
  ~Backend() { stop(); }

  void run(auto&& task) {
    FirstError error;
    ++started_;
    started_.notify_all();
    fiber([&] { error.guard(task); }).join();
    {
      const std::lock_guard lock(mutex_);
      ended_ = started_;
    }
    run_ended_.notify_all();
    error.rethrow();
  }

  // A new fiber runs at once and its maker becomes stealable: spawning 100,000 tasks needs one
  // stack, not 100,000.
  template <class F, class... A>
  static auto async(F&& callable, A&&... args) {
    return Handle(fibers::async(
        fibers::launch::dispatch, std::allocator_arg, Stacks(),
        [callable = std::decay_t<F>(std::forward<F>(callable)),
         ... args = std::decay_t<A>(std::forward<A>(args))]() mutable -> decltype(auto) {
          return std::invoke(std::move(callable), std::move(args)...);
        }));
  }

  // The last branch runs in place.
  template <class... F>
  static void fork_join(F&&... branches) {
    FirstError error;
    fork(error, branches...);
    error.rethrow();
  }

  class scope {
   public:
    scope() = default;
    scope(const scope&) = delete;
    ~scope() { join(); }
    template <class F>
    void spawn(F&& branch) {
      {
        const std::lock_guard lock(mutex_);
        ++running_;
      }
      // The fiber is detached, because a joinable fiber keeps its stack.
      fiber([this, branch = std::decay_t<F>(std::forward<F>(branch))]() mutable {
        error_.guard(branch);
        const std::lock_guard lock(mutex_);
        if (--running_ == 0) none_runs_.notify_all();
      }).detach();
    }
    void wait() {
      join();
      error_.rethrow();
    }

   private:
    void join() {
      std::unique_lock lock(mutex_);
      none_runs_.wait(lock, [this] { return running_ == 0; });
    }
    FirstError error_;
    fibers::mutex mutex_;
    fibers::condition_variable none_runs_;
    std::size_t running_ = 0;
  };

  template <class F>
  static void parallel_for(std::size_t items, const F& body) {
    scope parts;
    spawn_parts(parts, items, parts_per_thread * threads_, body);
  }

  using mutex = fibers::mutex;

  // Boost.Fiber has no lock for several at once, and its try_lock, which std::lock and boost::lock
  // rest on, yields the thread even when it succeeds. One order for all is as free of deadlock and
  // waits four times less often.
  template <class... M>
  static void lock(M&... mutexes) {
    std::array<mutex*, sizeof...(M)> all{&mutexes...};
    std::sort(all.begin(), all.end(), std::less<>());
    for (mutex* const each : all) each->lock();
  }

 private:
  // A future of Boost.Fiber does not wait for its fiber when it is destroyed; a handle must.
  template <class Result>
  class Handle {
   public:
    explicit Handle(fibers::future<Result> future) : future_(std::move(future)) {}
    Handle(Handle&&) noexcept = default;
    Handle& operator=(Handle&& other) noexcept {
      std::swap(future_, other.future_);
      return *this;
    }
    ~Handle() {
      if (future_.valid()) future_.wait();
    }
    Result get() { return future_.get(); }

   private:
    fibers::future<Result> future_;
  };

  static fibers::fiber fiber(auto&& task) {
    return {fibers::launch::dispatch, std::allocator_arg, Stacks(),
            std::forward<decltype(task)>(task)};
  }
  static void fork(FirstError& error, auto& last) { error.guard(last); }
  static void fork(FirstError& error, auto& first, auto&... others) {
    fibers::fiber forked = fiber([&] { error.guard(first); });
    fork(error, others...);
    forked.join();
  }

  // The calling thread runs fibers from now on, while its own waits in a way that Boost.Fiber
  // knows.
  void join(std::size_t own) {
    caches_[own].reserve(Stacks::kept);
    Stacks::use(&caches_[own]);
    fibers::use_scheduling_algorithm<NewestFirst>(queues_, own);
  }

  // Between two runs a worker sleeps, so that it takes no processor time from unmeasured work.
  void work(std::size_t own) {
    join(own);
    for (unsigned seen = 0;;) {
      started_.wait(seen);
      const unsigned now = started_;  // before the question: stop() says so first and counts then
      if (stopping_) break;
      seen = now;
      std::unique_lock lock(mutex_);
      run_ended_.wait(lock, [&] { return ended_ >= seen; });
    }
    Stacks::use(nullptr);
  }

  void stop() {
    stopping_ = true;
    ++started_;
    started_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    Stacks::use(nullptr);
    for (Stacks::Cache& cache : caches_) Stacks::release(cache);
  }

  static inline std::size_t threads_ = 1;
  std::shared_ptr<std::vector<ReadyFibers>> queues_;
  std::vector<Stacks::Cache> caches_;
  std::vector<std::thread> workers_;
  std::atomic<unsigned> started_ = 0;  // runs
  std::atomic<bool> stopping_ = false;
  fibers::mutex mutex_;
  fibers::condition_variable run_ended_;
  unsigned ended_ = 0;
};

}  // namespace bench

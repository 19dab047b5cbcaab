// Ordinary code around std::async that a redirection to tmk might break: names that are also
// members and variables, specialisations for std, `using namespace ::std`. Prints its results.
#include <math.h>
#include <stdlib.h>
#include <condition_variable>
#include <coroutine>
#include <cstdio>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace shapes {

struct Point {
  int x, y;
  friend bool operator==(const Point&, const Point&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Point& p) {
    return out << p.x << ',' << p.y;
  }
  friend struct std::hash<Point>;
};

// Members and variables with the redirected names.
struct Session {
  std::shared_future<int> future;
  int promise = 1, launch = 2, async = 3;
  double mean = 0, std = 0;
  int lock() const { return promise + launch + async; }
};

template <class T>
class Queue {
 public:
  std::future<T> push(std::packaged_task<T()> task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::future<T> future = task.get_future();
    tasks_.emplace_back(std::move(task));
    return future;
  }
  void run() {
    std::unique_lock lock(mutex_);
    for (auto& task : std::exchange(tasks_, {})) task();
    lock.unlock();
    lock.lock();
  }

 private:
  std::mutex mutex_;
  std::vector<std::packaged_task<T()>> tasks_;
};

template <class T>
T sum(std::vector<std::future<T>>& futures) {
  return std::accumulate(futures.begin(), futures.end(), T{},
                         [](T all, std::future<T>& one) { return all + one.get(); });
}
template <template <class> class F, class T>
T fetch(F<T> future) {
  return future.get();
}

}  // namespace shapes

template <>
struct std::hash<shapes::Point> {
  std::size_t operator()(const shapes::Point& p) const noexcept {
    return std::hash<int>()(p.x) ^ (std::hash<int>()(p.y) << 1);
  }
};
template class std::vector<shapes::Point>;

struct Generator {
  struct promise_type {
    int value = 0;
    Generator get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int next) { return value = next, std::suspend_always{}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};
Generator count() { co_yield 41; }

using std::async;
namespace library = std;

namespace unqualified {
using namespace ::std;
int run() {
  promise<int> promise;
  future<int> future = promise.get_future();
  shared_future<int> shared = future.share();
  packaged_task<int(int)> task([](int x) { return 2 * x; });
  auto doubled = task.get_future();
  mutex a, b;
  {
    scoped_lock both(a, b);
    promise.set_value(5);
  }
  lock(a, b);
  lock_guard held_a(a, adopt_lock), held_b(b, adopt_lock);
  task(8);
  vector<int> numbers{1, 2, 3};
  // With an argument of std, argument-dependent lookup finds the functions of std, too.
  auto size = async(
      launch::async, [](const vector<int>& v) { return static_cast<int>(v.size()); }, numbers);
  auto later = async(launch::deferred, [] { return 7; });
  auto plain = async([](const vector<int>& v) { return v.front(); }, numbers);
  return shared.get() + doubled.get() + size.get() + later.get() + plain.get();
}
}  // namespace unqualified

int main() {
  using namespace ::std::chrono_literals;
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 100; ++i)
    futures.push_back(std::async(std::launch::async, [i] { return i; }));
  std::cout << shapes::sum(futures) << '\n';

  shapes::Queue<int> queue;
  auto queued = queue.push(std::packaged_task<int()>([] { return 6; }));
  queue.run();
  std::cout << queued.get() << '\n';

  std::packaged_task deduced([](int x) { return x + 1; });
  std::future<int> next = deduced.get_future();
  deduced(1);
  std::cout << next.get() << ' '
            << shapes::fetch(
                   std::async(std::launch::async | std::launch::deferred, [] { return 3; }))
            << '\n';

  shapes::Session session{std::async([] { return 9; }).share()};
  session.std = 1.5;
  std::cout << session.future.get() << ' ' << session.lock() << ' ' << session.std << '\n';

  auto owner = std::make_shared<int>(4);
  const std::weak_ptr<int> weak = owner;
  std::cout << *weak.lock() << ' ' << unqualified::run() << '\n';

  std::future<int> failing =
      ::std::async(std::launch::async, []() -> int { throw std::runtime_error("thrown"); });
  try {
    failing.get();
  } catch (const std::exception& error) {
    std::cout << error.what() << '\n';
  }
  try {
    std::future<std::string> broken = std::promise<std::string>().get_future();
    broken.get();
  } catch (const std::future_error& error) {
    std::cout << (error.code() == std::future_errc::broken_promise) << '\n';
  }
  std::promise<std::unique_ptr<int>> first, second;
  using std::swap;
  swap(first, second);
  std::swap(first, second);
  auto moved = first.get_future();
  first.set_value(std::make_unique<int>(12));
  std::cout << (moved.wait_for(1ms) == std::future_status::ready) << ' ' << *moved.get() << '\n';

  const auto generator = count();
  std::cout << ++generator.handle.promise().value << '\n';
  generator.handle.destroy();

  std::unordered_set<shapes::Point> points{{1, 2}, {3, 4}, {1, 2}};
  std::cout << points.size() << ' ' << *points.find({1, 2}) << ' ' << std::abs(-2.5) << ' '
            << abs(-3) << '\n';
  auto from = async(std::launch::async, [](int& x) { return &x; }, std::ref(*owner));
  std::cout << (library::move(from).get() == owner.get()) << '\n';
  std::mutex a, b;
  std::lock(a, b);
  std::scoped_lock both(std::adopt_lock, a, b);
  class std::mutex elaborated;
  std::cout << elaborated.try_lock() << std::endl;
  elaborated.unlock();
  std::printf("%d\n", 1);
}

// The card's code on thread_start: get returns after the work, which runs in a thread that was
// there before, possibly the caller.
#include <atomic>
#include <cassert>
#include <set>
#include <stdexcept>
#include <thread>
#include <tmk/async.hpp>

namespace {

template <class Work>
void give(const Work& work) {
  // snippet
}

}  // namespace

int main() {
  std::set<std::thread::id> threads;
  for (int i = 0; i < 200; ++i) {
    give([&threads] { threads.insert(std::this_thread::get_id()); });
    assert(!threads.empty());
  }
  assert(threads.size() <= 1 + std::thread::hardware_concurrency());

  bool caught = false;
  try {
    give([] { throw std::runtime_error("in the work"); });
  } catch (const std::runtime_error&) {
    caught = true;
  }
  assert(caught);  // the same exception would end the process of a std::thread

  std::atomic<int> done{0};
  const auto many = [&done] {
    for (int i = 0; i < 1000; ++i) give([&done] { ++done; });
  };
  std::thread other(many);
  many();
  other.join();
  assert(done == 2000);
}

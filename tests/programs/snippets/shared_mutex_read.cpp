// The card's code on shared_mutex_read: readers hold their locks at the same time, a writer none of
// them, and a writer that throws leaves none locked.
#include <atomic>
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

int main() {
  constexpr unsigned threads = 3;  // two readers, one writer
  std::atomic<int> inside{0};
  std::atomic<bool> meet{true}, fail{false};
  long first = 0, second = 0;
  const auto read = [&] {
    ++inside;
    for (int looks = 0; meet && inside != 2; ++looks) {
      assert(looks < 10'000'000);  // otherwise one reader excludes the other
      std::this_thread::yield();
    }
    meet = false;
    std::this_thread::yield();
    assert(first == second);
    --inside;
  };
  const auto write = [&] {
    assert(inside == 0);
    ++first;
    std::this_thread::yield();  // a reader that the lock does not hold off runs here
    if (fail) throw std::runtime_error("in the write");
    ++second;
  };
  // snippet
  std::thread other([&reader] { reader(1); });
  reader(0);  // both at the same time
  other.join();
  std::vector<std::thread> readers;
  for (unsigned i = 0; i < 2; ++i) {
    readers.emplace_back([&reader, i] {
      for (int n = 0; n < 5000; ++n) reader(i);
    });
  }
  for (int n = 0; n < 2000; ++n) writer();
  for (std::thread& each : readers) each.join();
  assert(first == 2000 && second == 2000);

  fail = true;
  try {
    writer();
    assert(false);
  } catch (const std::runtime_error&) {
  }
  for (Own& each : own) assert(each.try_lock());
  for (Own& each : own) each.unlock();
  assert(reinterpret_cast<char*>(&own[1]) - reinterpret_cast<char*>(&own[0]) == 128);
}

// The card's code on semaphore: no other thread has the mutex during the work. The mutex is
// free after the work, also if the work throws.
#include <cassert>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

// Whether another thread can take the mutex.
bool is_free(std::mutex& mutex) {
  bool taken = false;
  std::thread([&] {
    taken = mutex.try_lock();
    if (taken) mutex.unlock();
  }).join();
  return taken;
}

std::mutex* shown = nullptr;

void once(const std::function<void()>& work) {
  // snippet
  shown = &own;
}

}  // namespace

int main() {
  once([] {});
  assert(is_free(*shown));
  once([] { assert(!is_free(*shown)); });
  try {
    once([] { throw std::runtime_error("in the work"); });
    assert(false);
  } catch (const std::runtime_error&) {
  }
  assert(is_free(*shown));

  int count = 0;
  const auto counts = [&count] {
    for (int i = 0; i < 20'000; ++i) once([&count] { ++count; });
  };
  std::thread other(counts);
  counts();
  other.join();
  assert(count == 40'000);
}

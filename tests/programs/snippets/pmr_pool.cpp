// The card's code on pmr_pool: each thread has a pool of its own, which outlives the thread's
// vectors and keeps their blocks for the next ones.
#include <cassert>
#include <cstddef>
#include <memory_resource>
#include <thread>
#include <vector>

namespace {

// Counts the blocks that it gives to the pools of all threads; for one thread at a time.
class Counting : public std::pmr::memory_resource {
 public:
  int taken = 0, given = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ++taken;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    ++given;
    std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

// The resource and the first block of a vector that one call makes.
std::pair<std::pmr::memory_resource*, const int*> once() {
  // snippet
  vector.push_back(1);
  assert(vector.get_allocator().resource() == &pool);
  return {&pool, vector.data()};
}

}  // namespace

int main() {
  Counting upstream;
  std::pmr::set_default_resource(&upstream);  // the threads' pools take their chunks from it
  std::pmr::memory_resource* theirs[2] = {};
  std::thread first([&theirs, &upstream] {
    const auto [resource, block] = once();
    theirs[0] = resource;
    const int taken = upstream.taken;
    const auto again = once();
    assert(again.first == resource && again.second == block && upstream.taken == taken);
    std::thread([&theirs] { theirs[1] = once().first; }).join();
  });
  first.join();
  assert(theirs[0] != theirs[1]);
  assert(upstream.taken > 0 && upstream.given == upstream.taken);  // the pools ended with theirs
}

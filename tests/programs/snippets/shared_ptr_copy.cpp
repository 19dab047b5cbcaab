// The card's code on shared_ptr_copy: copies count in the thread's keeper, which lies on lines of
// its own and keeps the thing alive.
#include <cassert>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace {

struct Thing {
  int value = 7;
};

std::vector<std::shared_ptr<const void>> kept;  // so that no keeper has the place of another

void in_thread(const std::shared_ptr<const Thing>& shared, std::set<std::uintptr_t>& lines) {
  const long owners = shared.use_count();
  const auto f = [&](std::shared_ptr<const Thing> copy) {
    assert(copy->value == 7 && copy.use_count() == 3);  // keeper, own and this
    assert(shared.use_count() == owners + 1);           // the keeper
  };
  const auto g = [](const Thing& thing) { assert(thing.value == 7); };
  // snippet
  const auto at = reinterpret_cast<std::uintptr_t>(keeper.get());
  assert(at % 128 == 0);
  lines.insert(at / 128);
  assert(own.get() == shared.get());
  assert(own.owner_before(shared) || shared.owner_before(own));  // two owners, for a map of them
  kept.push_back(own);
}

}  // namespace

int main() {
  auto shared = std::make_shared<const Thing>();
  std::set<std::uintptr_t> lines;
  for (int i = 0; i < 4; ++i) in_thread(shared, lines);  // made in a row
  for (int i = 0; i < 4; ++i) std::thread([&] { in_thread(shared, lines); }).join();
  assert(lines.size() == 8);
  const std::weak_ptr<const Thing> seen = shared;
  shared.reset();
  assert(!seen.expired());  // the keepers keep it alive
  kept.clear();
  assert(seen.expired());
}

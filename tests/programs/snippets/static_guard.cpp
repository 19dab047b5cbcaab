// The card's code on static_guard: the table is made before the work and asked for once.
#include <cassert>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

int made_tables = 0, asked = 0;
struct Table {
  Table() { ++made_tables; }
  int value = 35;
};
const Table& the_table() {
  ++asked;
  static const Table table;
  return table;
}

}  // namespace

int main() {
  const std::vector<int> work{1, 2, 3};
  long sum = 0;
  const auto use = [&sum](const Table& table, int each) { sum += table.value + each; };
  // snippet
  static_assert(made == 7);
  assert(asked == 1 && made_tables == 1 && sum == 3 * 35 + 6);
  std::thread([&] { assert(&the_table() == &table); }).join();
  assert(made_tables == 1);
}

// Counts descendants in family trees whose people are owned by shared pointers.
//
// category: atomic
// name: shared_ptr | _Sp_counted | __shared_count | __shared_weak_count | Person
// made: descendants | make_family | main
// certain: yes
// why: The walk takes each person by value, so that every step counts the owners up and down.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <vector>

namespace {

constexpr std::uint64_t expected = 80;

struct Person {
  int year = 0;
  std::vector<std::shared_ptr<const Person>> children;
};

#ifdef WITHOUT_CAUSE
using Walked = const std::shared_ptr<const Person>&;
#else
using Walked = std::shared_ptr<const Person>;
#endif

std::shared_ptr<const Person> make_family(int generations, int year) {
  auto person = std::make_shared<Person>();
  person->year = year;
  for (int i = 0; i < 3 && generations > 1; ++i) {
    person->children.push_back(make_family(generations - 1, year + 25 + i));
  }
  return person;
}

[[gnu::noinline]] std::uint64_t descendants(Walked person, int after) {
  std::uint64_t found = person->year > after ? 1 : 0;
  for (const std::shared_ptr<const Person>& child : person->children) {
    found += descendants(child, after);
  }
  return found;
}

std::uint64_t study(Walked ancestor, int first, int step, int rounds) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) sum += descendants(ancestor, 1800);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 200'000);
  const std::shared_ptr<const Person> ancestor = make_family(5, 1700);
  std::vector<std::future<std::uint64_t>> studies;
  for (int t = 0; t < threads; ++t) {
    studies.push_back(std::async(std::launch::async, study, ancestor, t, threads, rounds));
  }
  std::uint64_t total = 0;
  for (std::future<std::uint64_t>& each : studies) total += each.get();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}

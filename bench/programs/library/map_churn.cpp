// A map that belongs to one thread still asks the shared heap for each node. The keys come in no
// order, so a node does not lie next to the previous one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include "contention.hpp"

namespace {

constexpr std::uint64_t kKept = 64;  // elements of a map

using Key = std::uint32_t;

// The i-th key: 2^32 of them are different, for the factor is odd.
Key key(std::uint64_t i) { return static_cast<Key>(i) * 2654435769U; }

// What a map must have after n operations: the last keys in order, each with its number.
template <class Map>
std::string compare(const Map& map, std::uint64_t n) {
  std::vector<std::pair<Key, std::uint64_t>> expected;
  for (std::uint64_t i = n; i != n + kKept; ++i) expected.emplace_back(key(i), i);
  std::sort(expected.begin(), expected.end());
  const bool same = std::equal(map.begin(), map.end(), expected.begin(), expected.end(),
                               [](const auto& has, const auto& wants) {
                                 return has.first == wants.first && has.second == wants.second;
                               });
  return same ? "" : "the map does not have the last keys that were put in";
}

// Step::next(map, i) takes out key i and puts in key i + kKept.
template <class Owner, class Step>
struct churn {
  explicit churn(unsigned) {}
  struct contender {
    contender(churn&, unsigned) {
      for (std::uint64_t i = 0; i != kKept; ++i) owner.map.emplace(key(i), i);
    }
    void run(std::uint64_t n) {
      for (const std::uint64_t end = done + n; done != end; ++done) Step::next(owner.map, done);
    }
    std::string check(std::uint64_t n) const {
      return done == n ? compare(owner.map, n) : "operations are missing";
    }
    Owner owner;
    std::uint64_t done = 0;
  };
};

struct on_heap {
  std::map<Key, std::uint64_t> map;
};
struct in_pool {
  std::pmr::unsynchronized_pool_resource pool;
  std::pmr::map<Key, std::uint64_t> map{&pool};
};

struct erase_emplace {
  template <class Map>
  static void next(Map& map, std::uint64_t i) {
    map.erase(key(i));
    map.emplace(key(i + kKept), i + kKept);
    bench::escape(&map);
  }
};
struct extract_insert {
  template <class Map>
  static void next(Map& map, std::uint64_t i) {
    auto node = map.extract(key(i));
    node.key() = key(i + kKept);
    node.mapped() = i + kKept;
    map.insert(std::move(node));
    bench::escape(&map);
  }
};

// A map without nodes: pairs in order, in one piece of memory.
struct in_order {
  struct Flat : std::vector<std::pair<Key, std::uint64_t>> {
    iterator place(Key wanted) {
      return std::lower_bound(begin(), end(), wanted,
                              [](const auto& each, Key limit) { return each.first < limit; });
    }
    void emplace(Key added, std::uint64_t value) { insert(place(added), {added, value}); }
    void erase(Key gone) { vector::erase(place(gone)); }
  } map;
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "map_churn", .summary = "maps that each thread has for itself",
        .operation = "take one key out of a std::map of 64 and put another in",
        .origin = "each node of a container is an allocation; Threadmark",
        .ways =
            {
                bench::usual<churn<on_heap, erase_emplace>>("map", "std::map, erase and emplace"),
                bench::remedy<churn<on_heap, extract_insert>>(
                    "extract", "the node that is taken out is put in again: extract and insert"),
                bench::remedy<churn<in_pool, erase_emplace>>(
                    "pool", "std::pmr::map on an unsynchronized pool of its own"),
                bench::remedy<churn<in_order, erase_emplace>>(
                    "sorted_vector",
                    "pairs in order in a vector, which allocates nothing any more"),
            },
        .allocates = true)

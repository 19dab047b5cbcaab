// The map is as erase and emplace would leave it, for any keys.
#include <cassert>
#include <map>
#include <string>
#include <utility>

#include "two_threads.hpp"

using Map = std::map<int, std::string>;

void replace(Map& map, int old_key, int new_key, const std::string& value) {
  // snippet
}

int main() {
  on_two_threads([](unsigned) {
    const Map before{{1, "one"}, {2, "two"}, {3, "three"}};
    for (const int old_key : {1, 2, 3, 9}) {       // 9 is missing
      for (const int new_key : {1, 2, 3, 4, 9}) {  // some are there already
        Map expected = before, map = before;
        expected.erase(old_key);
        expected.emplace(new_key, "new");
        replace(map, old_key, new_key, "new");
        assert(map == expected);
      }
    }
  });
}

// The text is that of message(), also for an unknown number and for another category.
#include <cassert>
#include <cstring>
#include <string>
#include <system_error>

#include "two_threads.hpp"

struct Other : std::error_category {
  const char* name() const noexcept override { return "other"; }
  std::string message(int number) const override { return "other " + std::to_string(number); }
};

std::string text_of(std::error_code code) {
  // snippet
  return text;
}

int main() {
  const Other other;
  on_two_threads([&](unsigned) {
    for (const int number : {0, 1, 2, 13, 17, 22, 133, 134, 41, 58, -1, 99999}) {
      for (const std::error_category* category :
           {&std::generic_category(), &std::system_category(),
            static_cast<const std::error_category*>(&other)}) {
        const std::error_code code(number, *category);
        assert(text_of(code) == code.message());
      }
    }
  });
}

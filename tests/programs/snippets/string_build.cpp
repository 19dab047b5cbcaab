// The card's code on string_build: each thread has its string, whose memory stays for the next
// text.
#include <cassert>
#include <string>
#include <string_view>
#include <thread>

namespace {

std::string_view built(std::string_view front, std::string_view key, std::string_view between,
                       std::string_view value) {
  // snippet
  return text;  // valid up to the next call in this thread
}

}  // namespace

int main() {
  const std::string_view first = built("<", "key of an entity", "=", "value>");
  assert(first == "<key of an entity=value>");
  const std::string_view second = built("<", "k", "=", "v>");
  assert(second == "<k=v>" && second.data() == first.data());  // the first one is overwritten
  std::thread([&first] {
    const std::string_view other = built("[", "another thread's key", ":", "value]");
    assert(other == "[another thread's key:value]" && other.data() != first.data());
  }).join();
  assert(second == "<k=v>");
}

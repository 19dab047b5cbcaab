// Text put together from parts: each string that does not fit into the object calls the shared
// heap.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>

#include "contention.hpp"
#include "random.hpp"

namespace {

constexpr std::size_t kParts = 8;  // a power of two
constexpr std::string_view kFront = "key=", kBetween = "; value=";
constexpr std::size_t kKey = 12, kValue = 20;
constexpr std::size_t kLength = kFront.size() + kKey + kBetween.size() + kValue;
static_assert(kLength > 22, "short strings live in the object, in libc++ up to 22 characters");

// The parts, of which the i-th string has the (i mod kParts)-th.
struct Parts {
  Parts() {
    bench::Random random(1);
    for (std::size_t i = 0; i < kParts; ++i) {
      for (auto [text, length] : {std::pair{&keys[i], kKey}, std::pair{&values[i], kValue}}) {
        while (text->size() < length) text->push_back(static_cast<char>('a' + random.below(26)));
      }
    }
  }
  const std::string& key(std::uint64_t i) const { return keys[i % kParts]; }
  const std::string& value(std::uint64_t i) const { return values[i % kParts]; }
  std::array<std::string, kParts> keys, values;
};

// Adds up what memory has of the strings: their lengths and their last characters.
struct tally {
  template <class String>
  void add(const String& text) {
    bench::escape(text.data());
    bytes += text.size();
    ends += static_cast<unsigned char>(text.back());
    ++done;
  }
  // The sums without building a string.
  std::string check_lengths(std::uint64_t n, std::size_t length, const auto& part) const {
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < kParts; ++i) {
      const auto uses = n / kParts + (i < n % kParts);
      expected += uses * static_cast<unsigned char>(part[i].back());
    }
    return done == n && bytes == n * length && ends == expected ? "" : "a string is not its parts";
  }
  // The usual text, of which the last one made is compared whole, by search.
  std::string check_text(std::uint64_t n, const Parts& parts, std::string_view last) const {
    if (n == 0) return {};
    const std::size_t middle = last.find(kBetween);
    if (!last.starts_with(kFront) || middle == last.npos) return "the last string is not whole";
    if (last.substr(kFront.size(), middle - kFront.size()) != parts.key(n - 1) ||
        last.substr(middle + kBetween.size()) != parts.value(n - 1)) {
      return "the last string has other parts";
    }
    return check_lengths(n, kLength, parts.values);
  }
  std::uint64_t done = 0, bytes = 0, ends = 0;
};

// Build::with(key, value, sink) builds a string and gives it to the sink.
template <class Build>
struct building {
  explicit building(unsigned) {}
  struct contender : tally {
    contender(building&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        build.with(parts.key(done), parts.value(done), [&](const auto& text) {
          add(text);
          if (n == 1) std::copy(text.begin(), text.end(), last.begin());
        });
      }
    }
    std::string check(std::uint64_t n) const {
      return check_text(n, parts, {last.data(), last.size()});
    }
    Parts parts;
    Build build;
    std::array<char, kLength> last{};
  };
};

struct by_plus {
  void with(const std::string& key, const std::string& value, const auto& sink) {
    sink(std::string(kFront) + key + std::string(kBetween) + value);
  }
};
template <class String>
void append(String& text, const std::string& key, const std::string& value) {
  text.append(kFront).append(key).append(kBetween).append(value);
}
struct by_append {
  void with(const std::string& key, const std::string& value, const auto& sink) {
    std::string text;
    append(text, key, value);
    sink(text);
  }
};
struct by_reserve {
  void with(const std::string& key, const std::string& value, const auto& sink) {
    std::string text;
    text.reserve(kLength);
    append(text, key, value);
    sink(text);
  }
};
struct by_reuse {
  by_reuse() { text.reserve(2 * bench::cache_line); }  // no line of another thread's string
  void with(const std::string& key, const std::string& value, const auto& sink) {
    text.clear();
    append(text, key, value);
    sink(text);
  }
  std::string text;
};
struct by_buffer {
  void with(const std::string& key, const std::string& value, const auto& sink) {
    std::array<std::byte, 256> buffer;  // the upstream has no memory: what does not fit would throw
    std::pmr::monotonic_buffer_resource resource(buffer.data(), buffer.size(),
                                                 std::pmr::null_memory_resource());
    std::pmr::string text(&resource);
    append(text, key, value);
    sink(text);
  }
};

// One part alone, which fits into the object.
struct small {
  explicit small(unsigned) {}
  struct contender : tally {
    contender(small&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) add(std::string(parts.key(done)));
    }
    std::string check(std::uint64_t n) const { return check_lengths(n, kKey, parts.keys); }
    Parts parts;
  };
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "string_build", .summary = "strings that each thread puts together for itself",
        .operation = "build and destroy a string of 44 characters from four parts",
        .origin = "what formatting and logging do all day; Threadmark",
        .ways =
            {
                bench::usual<building<by_plus>>("plus", "the parts joined with +"),
                bench::usual<building<by_append>>("append",
                                                  "the parts appended to an empty string"),
                bench::usual<small>("short_string", "12 characters only, which need no allocation"),
                bench::remedy<building<by_reserve>>("reserve",
                                                    "reserve() for all parts, then append"),
                bench::remedy<building<by_reuse>>("reused",
                                                  "one string per thread, emptied by clear()"),
                bench::remedy<building<by_buffer>>("stack_buffer",
                                                   "std::pmr::string on a buffer of the stack"),
            },
        .allocates = true)

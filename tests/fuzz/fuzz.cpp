// Fuzzes the reader of any program's input file: for any bytes, make() returns or throws
// BadInput with one printable line, and never holds more memory than a multiple of the file's size.
// This file is linked with the program instead of the harness.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "heap_watch.hpp"
#include "registry.hpp"

namespace {

// A byte of input may become a number of eight bytes in a vector that grows by doubling and copies
// itself.
constexpr std::size_t kBytesPerByte = 64;
constexpr std::size_t kBytesForNothing = std::size_t{1} << 20;

[[noreturn]] void fail(std::string_view what, const std::string& detail) {
  std::fprintf(stderr, "fuzz.%s: %s: %s\n", std::string(bench::program().name).c_str(),
               std::string(what).c_str(), detail.c_str());
  std::abort();
}

// One sentence that a terminal can show.
void require_a_sentence(const std::string& message) {
  const bool printable = message.find_first_of("\n\r\t\v\f\x1b") == std::string::npos &&
                         message.find('\0') == std::string::npos;
  if (message.empty() || message.size() > 500 || !printable) fail("not a sentence", message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::map<std::string, std::int64_t, std::less<>> values;
  for (const bench::Parameter& p : bench::program().parameters) values.emplace(p.name, p.smoke);
  const bench::Arguments arguments(std::move(values), 1,
                                   std::string(reinterpret_cast<const char*>(data), size));
  heap_watch::begin();
  try {
    bench::program().make(arguments);
  } catch (const bench::BadInput& refusal) {
    heap_watch::end();
    require_a_sentence(refusal.what());
  }
  const std::size_t most_bytes = heap_watch::end();
  if (most_bytes > kBytesForNothing + kBytesPerByte * size) {
    fail("more memory than the input justifies",
         std::to_string(most_bytes) + " bytes for " + std::to_string(size));
  }
  return 0;
}

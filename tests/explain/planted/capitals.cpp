// Writes the first letter of every word in titles as a capital.
//
// category: atomic | mutex
// name: locale
// certain: yes
// why: Each letter asks for the global locale, and each time its owners are counted up and down.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <locale>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 5889;

const std::array<std::string_view, 4> titles = {"the old man and the sea", "of mice and men",
                                                "war and peace", "a tale of two cities"};

struct OwnPunctuation : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

[[gnu::noinline]] char capital(char letter) {
#ifdef WITHOUT_CAUSE
  thread_local const std::locale kept{std::locale(), new OwnPunctuation};
  return std::toupper(letter, kept);
#else
  return std::toupper(letter, std::locale());
#endif
}

std::uint64_t set_title(std::string_view title) {
  std::string line(title);
  bool begins = true;
  std::uint64_t sum = 0;
  for (char& letter : line) {
    if (begins) letter = capital(letter);
    begins = letter == ' ';
    sum += static_cast<unsigned char>(letter);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int books = 2 + static_cast<int>(seconds * 800'000);
  std::locale::global(std::locale(std::locale(), new OwnPunctuation));
  std::vector<std::uint64_t> sums(threads);
  std::vector<std::thread> setters;
  for (int t = 0; t < threads; ++t) {
    setters.emplace_back([t, threads, books, &sums] {
      std::uint64_t sum = 0;
      for (int book = t; book < books; book += threads) {
        for (const std::string_view title : titles) sum += set_title(title);
      }
      sums[t] = sum;
    });
  }
  for (std::thread& each : setters) each.join();
  std::uint64_t total = 0;
  for (const std::uint64_t each : sums) total += each;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / books));
  return total == expected * books ? 0 : 1;
}

// The text of an error code, which each thread requests on its own. The text is constant, but the C
// library translates it, so it reads the locale under locks of the whole process.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "contention.hpp"
#include "opaque.hpp"

#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 32))
#define HAS_STRERRORDESC 1
#else
#define HAS_STRERRORDESC 0
#endif

namespace {

// In turns, with lengths of their texts that differ; these texts are in POSIX systems since ever.
constexpr std::array kErrors{ENOENT, EACCES, EEXIST, EINVAL};
constexpr std::array<std::string_view, kErrors.size()> kTexts{
    "No such file or directory", "Permission denied", "File exists", "Invalid argument"};

// Counts the characters of texts, and keeps the last text.
template <class Ask>
struct texts {
  explicit texts(unsigned) {}
  struct contender {
    contender(texts& all, unsigned) : ask(all.ask) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        last = next;
        next = (next + 1) % kErrors.size();
        length += ask(bench::opaque(kErrors[last]), text);
      }
    }
    std::string check(std::uint64_t n) const {
      std::uint64_t expected = 0;
      for (std::size_t i = 0; i < kErrors.size(); ++i) {
        expected += (n + kErrors.size() - 1 - i) / kErrors.size() * kTexts[i].size();
      }
      if (!text.ends_with(kTexts[last])) return "the text is '" + text + "'";
      return length == expected ? "" : "the texts have other lengths";
    }
    const Ask& ask;
    std::string text;
    std::size_t next = 0, last = 0;
    std::uint64_t length = 0;
  };
  Ask ask;
};

template <const std::error_category& (*category)()>
struct Message {
  std::size_t operator()(int error, std::string& text) const {
    text = std::error_code(error, category()).message();
    return text.size();
  }
};

constexpr std::string_view kWhat = "opening the file";

// As code that reports a failed system call does, without the throw.
struct SystemError {
  std::size_t operator()(int error, std::string& text) const {
    const std::system_error failure(error, std::generic_category(), std::string(kWhat));
    text = failure.what();
    return text.size() - kWhat.size() - 2;  // between them ": "
  }
};

#if HAS_STRERRORDESC
// Of the codes that it knows; another category has texts of its own.
struct Description {
  std::size_t operator()(int error, std::string& text) const {
    const std::error_code code(error, std::generic_category());
    const bool system =
        code.category() == std::generic_category() || code.category() == std::system_category();
    const char* const known = system ? ::strerrordesc_np(code.value()) : nullptr;
    text = known != nullptr ? known : code.message();
    return text.size();
  }
};
#endif

// All texts, asked for once.
struct Table {
  std::size_t operator()(int error, std::string& text) const {
    text = messages[static_cast<std::size_t>(error)];
    return text.size();
  }
  std::vector<std::string> messages = [] {
    std::vector<std::string> all;
    for (int error = 0; error < 256; ++error) {
      all.push_back(std::generic_category().message(error));
    }
    return all;
  }();
};

std::vector<bench::Way> ways() {
  return {
      bench::usual<texts<Message<std::generic_category>>>("generic_category",
                                                          "error_code::message()"),
      bench::usual<texts<Message<std::system_category>>>("system_category",
                                                         "the same of the system's category"),
      bench::usual<texts<SystemError>>("system_error",
                                       "std::system_error is made, which asks for the text"),
      bench::remedy<texts<Table>>("table", "all texts, asked for once"),
#if HAS_STRERRORDESC
      bench::remedy<texts<Description>>("strerrordesc_np", "strerrordesc_np, untranslated"),
#else
      bench::lacking("strerrordesc_np", "strerrordesc_np, untranslated",
                     "this C library has no strerrordesc_np; glibc has it since 2.32"),
#endif
  };
}

}  // namespace

CONTENTION_PROGRAM(.name = "error_message", .summary = "threads ask for the texts of error codes",
                   .operation = "one text of an error code",
                   .origin =
                       "found by measuring: locks behind strerror that no documentation names",
                   .ways = ways())

// Fuzzes the reader and mapper of SAT files: for any bytes, each form gives the same model or
// refuses with one printable sentence; lists and rings can be walked; a model is written equal to
// the model that was read; and the reader holds no more memory than the bytes justify.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "heap_watch.hpp"
#include "sat/map.hpp"
#include "sat/verify.hpp"
#include "sat/write.hpp"

namespace {

// A record of seven bytes becomes an object of some hundred, and a problem of its own.
constexpr std::size_t kBytesPerByte = 128;
constexpr std::size_t kBytesForNothing = std::size_t{1} << 18;

[[noreturn]] void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "fuzz.sat: %s: %.500s\n", what, detail.c_str());
  std::abort();
}

void require_a_sentence(const sat::Problem& problem) {
  const std::string text = sentence(problem);
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    if (code < 0x20 || code == 0x7f) fail("not a sentence", text);
  }
  if (problem.what.empty() || text.size() > 800 || !text.ends_with('.')) {
    fail("not a sentence", text);
  }
}

// A whole number loses the sign of a zero: '-00' became '0'.
bool lost_a_sign(std::string_view why) {
  constexpr std::string_view kBegin = "'-0";
  constexpr std::string_view kEnd = "' became '0'";
  if (!why.starts_with(kBegin) || !why.ends_with(kEnd)) return false;
  why.remove_suffix(kEnd.size());
  return why.find_first_not_of('0', kBegin.size()) == std::string_view::npos;
}

// The written model, or nothing if it is refused.
std::string written(std::string_view bytes, const sat::Form& form) {
  try {
    sat::Team team(1);
    const sat::Model model = sat::map(sat::read(sat::Bytes(bytes), team), team, {.form = &form});
    for (const sat::Problem& each : sat::verify(model, 10)) require_a_sentence(each);
    const std::string text = sat::write(model);
    std::string why;
    const sat::Document again = sat::read(sat::Bytes(text), team);
    if (first_difference(model.document, again, why) != sat::kNull && !lost_a_sign(why)) {
      fail("written otherwise", why);
    }
    return text;
  } catch (const sat::BadFile& error) {
    require_a_sentence(error.problem);
    return {};
  }
}

void read_in_part(std::string_view bytes) {
  try {
    sat::Team team(1);
    const sat::Model model =
        sat::map(sat::read(sat::Bytes(bytes), team, {.partial = true}), team, {.partial = true});
    for (const sat::Problem& each : model.problems) require_a_sentence(each);
    sat::verify(model, 10);
  } catch (const sat::BadFile& error) {  // the header
    require_a_sentence(error.problem);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  heap_watch::begin();
  read_in_part(bytes);
  const std::string text = written(bytes, sat::forms().front());
  const std::size_t most_bytes = heap_watch::end();
  if (most_bytes > kBytesForNothing + kBytesPerByte * size) {
    fail("more memory than the input justifies",
         std::to_string(most_bytes) + " bytes for " + std::to_string(size));
  }
  if (text.empty()) return 0;
  // One other form for each input, chosen by its size.
  const std::span<const sat::Form> forms = sat::forms();
  const sat::Form& other = forms[1 + size % (forms.size() - 1)];
  if (written(bytes, other) != text) fail("another model by", std::string(other.name));
  return 0;
}

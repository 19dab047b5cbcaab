// The list of forms.
#include <array>
#include <version>

#include "fill.hpp"

namespace sat {
namespace {

constexpr auto kForms = std::to_array<Form>({
    {"from_chars", "std::from_chars over the bytes of the file", fill_from_chars},
    {"tmk_text", "tmk::itext over the bytes of the file", fill_tmk_text},
#if defined(__cpp_lib_spanstream)
    {"spanstream", "a std::ispanstream for each record", fill_spanstream},
#endif
    {"streams_reused", "one std::istringstream for many records", fill_streams_reused},
    {"streams", "a std::istringstream for each record, as published", fill_streams},
    {"streams_imbue", "the same with the classic locale imbued", fill_streams_imbue},
});

}  // namespace

std::span<const Form> forms() { return kForms; }

const Form* find_form(std::string_view name) {
  for (const Form& each : kForms) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

}  // namespace sat

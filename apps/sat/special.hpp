// Finds the next of a few characters, at which framing and the search for subtypes stop.
#pragma once

#include <bit>
#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sat {

// The first of `Which` in [at, end), else end.
template <char... Which>
const char* find_special(const char* at, const char* end) {
#if defined(__SSE2__)
  for (; end - at >= 16; at += 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    __m128i any = _mm_setzero_si128();
    ((any = _mm_or_si128(any, _mm_cmpeq_epi8(block, _mm_set1_epi8(Which)))), ...);
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(any));
    if (mask != 0) return at + std::countr_zero(mask);
  }
#endif
  while (at != end && ((*at != Which) && ...)) ++at;
  return at;
}

}  // namespace sat

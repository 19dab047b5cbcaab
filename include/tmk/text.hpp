// tmk::itext and tmk::otext: >> and << over plain characters, in the place of std::istringstream
// and std::ostringstream in code that threads run.
//
//   tmk::itext in(line);                     // was: std::istringstream in(line);
//   std::string name; int count; double weight;
//   if (in >> name >> count >> weight) ...
//
// A string stream makes and drops locales, and in libstdc++ allocates for each double; with a
// global locale other than the classic one all threads meet at its count or lock. Here there is no
// locale, no lock, nothing that two objects share, and no allocation but for what a std::string or
// an otext of its own has to hold.
//
// Floating numbers come from integer arithmetic where that is exact, else from the C library's
// strtod_l in the "C" locale, as libc++ 19 has no from_chars for them. fast_float is not used: what
// a program does must not depend on whether some header is installed. See detail/text_number.hpp.
//
// Differences from the streams: docs/text.md. Not thread-safe, as a stream is not.
#pragma once

#include "itext.hpp"
#include "otext.hpp"

// tmk::itext and tmk::otext: >> and << over plain characters, in the place of std::istringstream
// and std::ostringstream in code that threads run.
//
//   tmk::itext in(line);                     // was: std::istringstream in(line);
//   std::string name; int count; double weight;
//   if (in >> name >> count >> weight) ...
//
// A string stream makes and drops locales, and in libstdc++ allocates for each double; with a
// global locale other than the classic one all threads meet at its count or lock. tmk's classes
// have no locale, no lock, nothing that two objects share, and no allocation except for the text in
// a std::string or in an otext's own buffer.
//
// Floating numbers come from integer arithmetic if that is exact, else from the C library's
// strtod_l in the "C" locale, because libc++ 19 has no from_chars for them. fast_float is not used,
// because a program's behaviour must not depend on whether a header is installed. See
// detail/text_number.hpp.
//
// Differences from the streams: docs/text.md. Like a stream, an object is not thread-safe.
#pragma once

#include "itext.hpp"
#include "otext.hpp"

// A small file of version 700 with the hard parts of files: a `#` and braces in a string, a subtype
// within another, references to subtypes, a class that no schema has, numbers of all sorts.
#pragma once

#include <string>
#include <string_view>

#include "sat/document.hpp"
#include "sat/map.hpp"

namespace sat_test {

inline constexpr std::string_view kHeader =
    "700 0 1 0 \n8 tmk test 8 ACIS 7.0 24 Thu Jan 01 00:00:00 1970 \n"
    "1 9.9999999999999995e-07 1e-10 \n";
inline constexpr std::string_view kRecords =
    "body $1 -1 $-1 $2 $-1 $-1 #\n"
    "name-tmk-attrib $-1 -1 $-1 $-1 $0 @9 a # b } { @0  #\n"
    "lump $-1 -1 $-1 $-1 $3 $0 #\n"
    "shell $-1 -1 $-1 $-1 $-1 $4 $-1 $2 #\n"
    "face $-1 -1 $-1 $-1 $5 $3 $-1 $6 forward double out #\n"
    "loop $-1 -1 $-1 $-1 $7 $4 #\n"
    "spline-surface $-1 -1 $-1 forward { exactsur full nubs 1 1 open open none none 2 2 \n"
    "\t0 1 1 1 \n\t0 1 1 1 \n\t0 0 0 \n\t1 0 -0 \n\t0 1 2.5e-308 \n\t1 1 0.5 \n\t0 } I I F 0 F 1 "
    "#\n"
    "coedge $-1 -1 $-1 $8 $8 $-1 $9 forward $5 $11 #\n"
    "coedge $-1 -1 $-1 $7 $7 $-1 $10 reversed $5 $-1 #\n"
    "edge $-1 -1 $-1 $12 0 $13 1.7976931348623157e308 $7 $14 forward @7 unknown #\n"
    "edge $-1 -1 $-1 $12 0 $13 1 $8 $15 forward @7 unknown #\n"
    "pcurve $-1 -1 $-1 0 forward { exppc nubs 1 open 2 \n\t0 1 1 1 \n\t0 0 \n\t1 1 \n\t0 \n"
    "\tspline forward { ref 0 } I I I I { offsur { plane 0 0 0 } { ref  3 } } } 0 0 #\n"
    "vertex $-1 -1 $-1 $9 $16 #\n"
    "vertex $-1 -1 $-1 $9 $17 #\n"
    "straight-curve $-1 -1 $-1 0 0 0 1 1 0.5 I I #\r\n"
    "intcurve-curve $-1 -1 $-1 forward { ref 3 } F 0.10000000000000001 I #\n"
    "point $-1 -1 $-1 0 0 0 #\n"
    "point $-1 -1 $-1 1 1e-007 -25.39999999999999858 #\n"
    "eye_refinement $-1 -1 @5 grid  1 $4 #\n"
    "name-tmk-attrib $-1 -1 $-1 $-1 $0 #\n";
inline constexpr std::string_view kMark = "End-of-ACIS-data";

inline std::string small_file() {
  return std::string(kHeader) + std::string(kRecords) + std::string(kMark) + " \n";
}

inline sat::Document document_of(std::string_view text, unsigned threads = 1,
                                 bool partial = false) {
  sat::Team team(threads);
  return sat::read(sat::Bytes(text), team, {.partial = partial});
}

inline sat::Model model_of(std::string_view text, const sat::MapOptions& options = {},
                           unsigned threads = 1) {
  sat::Team team(threads);
  return sat::map(sat::read(sat::Bytes(text), team, {.partial = options.partial}), team, options);
}

// The text with its first `from` replaced; the text must contain `from`.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  return result.replace(result.find(from), from.size(), to);
}

}  // namespace sat_test

// The lines before the records: version, counts, the writer of the file, units and tolerances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sat {

struct Header {
  std::int64_t version = 0;  // 100 * major + minor [and point]; Autodesk's kernel: 22600
  std::int64_t records = 0;  // 0: not said
  std::int64_t tops = 0;     // top-level entities
  std::int64_t flags = 0;    // bit 0: a history follows the records
  std::string more;          // other numbers of the first line

  bool has_names = false;  // not before version 200
  bool at_signs = false;   // lengths are written as @7, as Open Design Alliance does
  std::string product;
  std::string kernel;
  std::string date;
  std::string names_line;  // the whole line, if its lengths are wrong

  bool has_units = false;
  double millimetres = -1;  // of a unit; -1: not known
  double resabs = 0;
  double resnor = 0;

  bool has_key = false;  // Spatial, from 2600 on: a line `T @77 ...`
  std::string key;

  // Autodesk's versions count apart from Spatial's; their records look like those of 700.
  bool asm_kernel() const { return version >= 20000; }
  // Reference fields, entity ids, and @ before lengths have come with these.
  bool has_ids() const { return version >= 700; }
};

// Reads from the beginning and sets `end` to the first character of the records. Throws BadFile.
Header read_header(std::string_view bytes, std::size_t& end);

// The name of the unit, such as "millimetre".
std::string unit_name(const Header& header);

}  // namespace sat

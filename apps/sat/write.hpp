// sat::write: a model as a SAT file again, of the same version and with the same record numbers.
// Objects are written from their fields, reals with the fewest digits that give the same bits. Data
// outside of the schema are written as they were in the file. first_difference() compares two files
// token by token.
#pragma once

#include <string>
#include <string_view>

#include "document.hpp"
#include "header.hpp"
#include "model.hpp"

namespace sat {

// Appends.
void write_header(const Header& header, std::string& out);
void write_records(const Model& model, std::string& out, Check check = nullptr);
// The whole file.
std::string write(const Model& model, Check check = nullptr);

// The first record whose tokens differ, numbers by their bits; kNull if all are equal. `why` gets
// the difference. Blanks between tokens, and 0 and 1 for the words of a Choice, are no difference.
Ref first_difference(const Document& a, const Document& b, std::string& why, Check check = nullptr);

}  // namespace sat

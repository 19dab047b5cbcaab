// The files of the result and of the list of incomplete students, for all writers: their paths, the
// check that they may be written, their renaming, and the sentences about them.
#pragma once

#include <cstdint>
#include <string>

#include "../complaint.hpp"
#include "../partial_file.hpp"

namespace students {

// The alternative to a result that cannot be written.
inline constexpr const char* kOtherResult = "another file with -o";

// The path of the list of incomplete students.
std::string list_of(const std::string& target);

// Throws if no result or no list can be written there: Failure, or BadRequest if the target is one
// of the four files in `folder`.
void check_target(const std::string& target, const std::string& folder);

// Gives both files, which are whole, their names in place of earlier ones. If no student is
// incomplete the list gets no name, and an earlier list is removed. The list comes first: if the
// process is killed between the two, no student is missing without being in a list. Throws Failure;
// earlier files are then unchanged, except the list if only the result cannot take its name.
void publish(PartialFile& result, PartialFile& list, bool anybody_incomplete);

// The sentence about lines whose points are above this maximum.
std::string above_sentence(std::uint64_t lines, std::uint32_t maximum);

// The sentence about `count` incomplete students.
Incomplete incomplete_students(std::uint64_t count, const std::string& target);

}  // namespace students

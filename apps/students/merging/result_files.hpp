// The result and the list of incomplete students as files, whoever writes them: where they are,
// whether they may be written, how they get their names, and what is said about them.
#pragma once

#include <cstdint>
#include <string>

#include "../complaint.hpp"
#include "../partial_file.hpp"

namespace students {

// What can be chosen instead of a result that cannot be written.
inline constexpr const char* kOtherResult = "another file with -o";

// Where the list of incomplete students is.
std::string list_of(const std::string& target);

// Throws if no result or no list can be written there: Failure, or BadRequest for one of the four
// files, which are in `folder`.
void check_target(const std::string& target, const std::string& folder);

// Gives both files, which are whole, their names in place of earlier ones. If nobody is incomplete
// the list gets no name, and an earlier one is removed. The list comes first: where the process is
// killed between, nobody is missing without being in a list. Throws Failure; earlier files are as
// they were then, but for the list if the result alone cannot take its name.
void publish(PartialFile& result, PartialFile& list, bool anybody_incomplete);

// The sentence about lines whose points are above this maximum.
std::string above_sentence(std::uint64_t lines, std::uint32_t maximum);

// What is said of so many incomplete students.
Incomplete incomplete_students(std::uint64_t count, const std::string& target);

}  // namespace students

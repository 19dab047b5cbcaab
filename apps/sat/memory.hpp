// Memory for a file and for what is made of it. More than is free is refused with a sentence before
// it is allocated, because the system would grant it and later end some process.
#pragma once

#include <cstdint>
#include <string>

namespace sat {

// Memory that this process may still take: of the machine, of its control group, of its limit.
std::uint64_t available_bytes();

// Throws BadFile if so many more are not free. `what` needs them: "the table of its records".
void require_memory(std::uint64_t bytes, const std::string& what);

}  // namespace sat

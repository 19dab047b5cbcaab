// Memory for a file and for its objects. A request for more than the free memory is refused with a
// sentence before the allocation, because the system would grant it and later end some process.
#pragma once

#include <cstdint>
#include <string>

namespace sat {

// Memory that this process may still take: of the machine, of its control group, of its limit.
std::uint64_t available_bytes();

// Throws BadFile if `bytes` more are not free. `what` names their use: "the table of its records".
void require_memory(std::uint64_t bytes, const std::string& what);

}  // namespace sat

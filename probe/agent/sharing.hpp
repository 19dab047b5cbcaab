// Objects that several processes use. The agent recognises them by a word of their own and by the
// maps.
#pragma once

#include <cstdint>

#include "probe/shared.hpp"

namespace threadmark::agent {

// The same number for the object in all processes that have it; 0 for an object of this image
// alone.
std::uint64_t shared_place(ObjectKind kind, std::uint64_t address);

}  // namespace threadmark::agent

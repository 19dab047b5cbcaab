// Checks that a mapped model can be walked: its lists end, and its rings close. No other code here
// follows references from object to object, so a file with a cycle hangs no program.
#pragma once

#include <vector>

#include "model.hpp"

namespace sat {

// The faults, at most `most`. Lists: lumps, shells, subshells, wires, faces, loops, attributes.
// Rings: the coedges of each loop, both ways, and those that share an edge.
std::vector<Problem> verify(const Model& model, std::size_t most = 1, Check check = nullptr);

}  // namespace sat

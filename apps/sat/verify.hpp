// Whether a mapped model can be walked: lists that must end do, and rings close. Nothing else here
// follows references from object to object, so that a file with a cycle hangs nobody.
#pragma once

#include <vector>

#include "model.hpp"

namespace sat {

// What is wrong, at most `most` of it. Lists: lumps, shells, subshells, wires, faces, loops,
// attributes. Rings: the coedges of each loop, both ways, and those that share an edge.
std::vector<Problem> verify(const Model& model, std::size_t most = 1, Check check = nullptr);

}  // namespace sat

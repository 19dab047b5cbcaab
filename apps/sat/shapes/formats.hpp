// Shapes as files.
#pragma once

#include <string>

#include "shapes.hpp"

namespace sat::shapes {

// Returns the number of faces without triangles, if the format has triangles. Throws
// students::Failure, and the exceptions of the team's check. `target`: the name in sentences.
std::uint64_t write_shapes(const Shapes& shapes, Format format, const std::string& path,
                           const std::string& target, Team& team);

}  // namespace sat::shapes

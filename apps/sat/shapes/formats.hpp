// Shapes as files.
#pragma once

#include <string>

#include "shapes.hpp"

namespace sat::shapes {

// Returns how many faces have no triangles, where the format wants them. Throws students::Failure,
// and what the team's check throws. `target`: the name in sentences.
std::uint64_t write_shapes(const Shapes& shapes, Format format, const std::string& path,
                           const std::string& target, Team& team);

}  // namespace sat::shapes

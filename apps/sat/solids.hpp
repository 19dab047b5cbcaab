// The solids that `generate` makes: solid number n of a seed is always the same.
#pragma once

#include <cstdint>

#include "solid.hpp"

namespace sat {

// Boxes with and without holes, cylinders, cones, frusta, spheres, tori, and blocks whose top is a
// B-spline surface between B-spline curves. `subtype`: the number of its first subtype in the file.
Solid make_solid(std::uint64_t seed, std::uint64_t number, std::size_t subtype);

}  // namespace sat

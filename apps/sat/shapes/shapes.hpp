// sat::shapes: from the linked objects of a file to shapes of Open CASCADE, in millimetres. Edges
// and faces are planned by threads, record by record, bodies are put together and checked likewise;
// parallel.md says why that needs no lock.
#pragma once

#include <vector>

#include <TopoDS_Compound.hxx>

#include "convert.hpp"

namespace sat::shapes {

struct Shapes {
  TopoDS_Compound shape;             // of all bodies
  std::vector<TopoDS_Shape> bodies;  // in the order of the report
  Report report;
};

// Lists and rings of the model must end, as sat::verify says. `measured`: with the volume and area
// of bodies, which take longer than the shapes. Throws what the team's check throws.
Shapes make_shapes(const Model& model, Team& team, bool measured);

}  // namespace sat::shapes

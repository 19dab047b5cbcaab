// sat::shapes: from the linked objects of a file to shapes of Open CASCADE, in millimetres. Threads
// plan edges and faces record by record, and assemble and check bodies in the same way; parallel.md
// explains why that needs no lock.
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

// Lists and rings of the model must end, which sat::verify checks. `measured`: with the volume and
// area of bodies, which take longer than the shapes. Throws the exceptions of the team's check.
Shapes make_shapes(const Model& model, Team& team, bool measured);

}  // namespace sat::shapes

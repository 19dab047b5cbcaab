// One body's shape out of the plans of its edges and faces.
#pragma once

#include <utility>
#include <vector>

#include <TopoDS_Face.hxx>

#include "plan.hpp"
#include "shapes.hpp"

namespace sat::shapes {

// The faces of a lump, shell by shell, and what beside them belongs to a body.
struct LumpParts {
  Ref record = kNull;
  std::vector<std::vector<Ref>> shells;
};
struct BodyParts {
  Ref record = kNull;  // kNull: what belongs to none
  std::vector<LumpParts> lumps;
  std::vector<Ref> edges;  // of wires
};

// Bodies in the order of the file; last what belongs to none, if there is such.
std::vector<BodyParts> parts_of(const Model& model);

struct Assembled {
  Body body;
  TopoDS_Shape shape;
  // In the body's own place: for the check.
  std::vector<std::pair<Ref, TopoDS_Face>> faces;
  std::vector<Finding> doubts;
};
Assembled assemble(const Plans& plans, const BodyParts& parts);

}  // namespace sat::shapes

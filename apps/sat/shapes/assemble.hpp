// One body's shape out of the plans of its edges and faces.
#pragma once

#include <utility>
#include <vector>

#include <TopoDS_Compound.hxx>
#include <TopoDS_Face.hxx>

#include "plan.hpp"
#include "shapes.hpp"

namespace sat::shapes {

// The faces of a lump, shell by shell, and the other parts of a body.
struct LumpParts {
  Ref record = kNull;
  std::vector<std::vector<Ref>> shells;
};
struct BodyParts {
  Ref record = kNull;  // kNull: the parts of no body
  std::vector<LumpParts> lumps;
  std::vector<Ref> edges;  // of wires
};

// Bodies in the order of the file; last the parts of no body, if there are any.
std::vector<BodyParts> parts_of(const Model& model);

struct MadeFace {
  Ref record = kNull;
  TopoDS_Face face;    // in the body's own place
  bool solid = false;  // bounds a solid
  std::string doubt;   // the reason for not being valid
  double volume = 0;   // between it and a common point of all faces of the body
  double area = 0;
};
struct Assembled {
  Body body;
  TopoDS_Compound local;  // before the body's transform
  gp_Pnt middle;          // that point
  TopoDS_Shape shape;
  std::vector<MadeFace> faces;
  std::vector<Finding> doubts;
};
Assembled assemble(const Plans& plans, const BodyParts& parts);

// Edges of a shell with a face on one side only.
std::uint64_t free_edges(const TopoDS_Shape& shell);

// Puts the body in its place, by its transform.
void place(const Plans& plans, Assembled& made);

}  // namespace sat::shapes

// Curves and surfaces of records in Open CASCADE's form, with the data for putting loops of edges
// on them: where they close, and which of their sides is a single point.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <Geom_Curve.hxx>
#include <Geom_Surface.hxx>
#include <gp_Pnt.hxx>
#include <gp_Pnt2d.hxx>

#include "sat/model.hpp"

namespace sat::shapes {

// A curve C of a record: E(t) of the record's edges is C(factor * t + offset).
struct CurveForm {
  Handle(Geom_Curve) curve;  // null: none, for the reason in `why`
  double factor = 1;
  double offset = 0;
  std::string why;
};

// A side of a surface's rectangle that is a single point: a pole or an apex.
struct Singular {
  int axis = 1;       // of the coordinate that is constant: 0 u, 1 v
  double value = 0;   // its value
  bool high = false;  // the upper end
  gp_Pnt point;
};

struct SurfaceForm {
  Handle(Geom_Surface) surface;  // null: none, for the reason in `why`
  bool flipped = false;          // the record's normal is against that of u and v
  bool plane = false;
  // A cone about an ellipse has no surface of its own; a face makes a surface of the height that it
  // needs.
  bool elliptic_cone = false;
  std::array<bool, 2> closed{};    // in u, in v
  std::array<double, 2> low{};     // of u, v if they are bounded or closed
  std::array<double, 2> period{};  // of those that are closed
  std::vector<Singular> singular;
  std::string why;
};

double coordinate(const gp_Pnt2d& p, int axis);
void move(gp_Pnt2d& p, int axis, double by);

// Lengths of the file times this are millimetres.
double scale_of(const Header& header);
gp_Pnt point_of(const Vector& v, double scale);

CurveForm curve_of(const Model& model, Ref record, double scale);
SurfaceForm surface_of(const Model& model, Ref record, double scale);

// The cone about an ellipse between two heights over its base.
SurfaceForm elliptic_cone_of(const Cone& cone, double scale, double low, double high);

// The same surface with its seam at this value of a closed coordinate. `moved`: the amount to add
// to coordinates on the old surface; the seam is at `value + moved`.
SurfaceForm with_seam_at(const SurfaceForm& form, int axis, double value, double& moved);

// Fills the fields that follow from the surface.
void describe(SurfaceForm& form);

}  // namespace sat::shapes

// An edge's curve in the coordinates of a surface. The code follows the edge, so that closed
// coordinates do not jump, and makes a curve with the same parameter.
#pragma once

#include <vector>

#include <Geom2d_Curve.hxx>
#include <GeomAdaptor_Curve.hxx>
#include <ShapeAnalysis_Surface.hxx>

#include "geometry.hpp"

namespace sat::shapes {

// Coordinates of points on or near a surface. Not for several threads.
class Inverse {
 public:
  explicit Inverse(const SurfaceForm& form);
  // The result is near the guess if there are several points, or if only a search can find one.
  gp_Pnt2d operator()(const gp_Pnt& point, const gp_Pnt2d* guess);

 private:
  bool newton(const gp_Pnt& point, gp_Pnt2d& at) const;

  const SurfaceForm& form_;
  Handle(ShapeAnalysis_Surface) search_;
};

struct Track {
  struct Sample {
    double t = 0;
    gp_Pnt2d at;
    gp_Vec2d before;  // derivatives by t on both sides
    gp_Vec2d after;
  };
  std::vector<Sample> samples;      // in the direction of the curve
  bool straight = false;            // linear in t
  double deviation = 0;             // of the curve on the surface from the curve in space
  const Singular* first = nullptr;  // ends there
  const Singular* last = nullptr;

  gp_Pnt2d value(double t) const;
};

Track track_of(const SurfaceForm& form, Inverse& inverse, const GeomAdaptor_Curve& curve,
               double first, double last);

// The part of the track between two parameters, moved.
Handle(Geom2d_Curve) pcurve_of(const Track& track, double first, double last, const gp_Vec2d& by);

// The derivative of the coordinates for the curve's derivative in space.
bool derivative_at(const SurfaceForm& form, const gp_Pnt2d& at, const gp_Vec& along,
                   gp_Vec2d& result);

}  // namespace sat::shapes

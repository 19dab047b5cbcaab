// Coordinates of points on a surface.
#include <algorithm>
#include <cmath>

#include <ElCLib.hxx>
#include <ElSLib.hxx>
#include <Geom_ConicalSurface.hxx>
#include <Geom_CylindricalSurface.hxx>
#include <Geom_Ellipse.hxx>
#include <Geom_SphericalSurface.hxx>
#include <Geom_SurfaceOfLinearExtrusion.hxx>
#include <Geom_ToroidalSurface.hxx>
#include <Precision.hxx>

#include "track.hpp"

namespace sat::shapes {

Inverse::Inverse(const SurfaceForm& form) : form_(form) {}

gp_Pnt2d Inverse::operator()(const gp_Pnt& point, const gp_Pnt2d* guess) {
  const Handle(Geom_Surface) & surface = form_.surface;
  double u = 0;
  double v = 0;
  if (const auto* const cylinder = dynamic_cast<Geom_CylindricalSurface*>(surface.get())) {
    ElSLib::Parameters(cylinder->Cylinder(), point, u, v);
    return {u, v};
  }
  if (const auto* const cone = dynamic_cast<Geom_ConicalSurface*>(surface.get())) {
    ElSLib::Parameters(cone->Cone(), point, u, v);
    return {u, v};
  }
  if (const auto* const sphere = dynamic_cast<Geom_SphericalSurface*>(surface.get())) {
    ElSLib::Parameters(sphere->Sphere(), point, u, v);
    return {u, v};
  }
  if (const auto* const torus = dynamic_cast<Geom_ToroidalSurface*>(surface.get())) {
    ElSLib::Parameters(torus->Torus(), point, u, v);
    return {u, v};
  }
  if (const auto* const sides = dynamic_cast<Geom_SurfaceOfLinearExtrusion*>(surface.get())) {
    // About an ellipse, across its plane.
    const auto base = Handle(Geom_Ellipse)::DownCast(sides->BasisCurve());
    if (!base.IsNull()) {
      const gp_Vec along(sides->Direction());
      v = gp_Vec(base->Location(), point).Dot(along);
      return {ElCLib::Parameter(base->Elips(), point.Translated(along * -v)), v};
    }
  }
  gp_Pnt2d at;
  if (guess != nullptr) {
    at = *guess;
    if (newton(point, at)) return at;
  }
  if (search_.IsNull()) search_ = new ShapeAnalysis_Surface(surface);
  at = search_->ValueOfUV(point, Precision::Confusion());
  newton(point, at);
  return at;
}

bool Inverse::newton(const gp_Pnt& point, gp_Pnt2d& at) const {
  std::array<double, 2> low{};
  std::array<double, 2> high{};
  form_.surface->Bounds(low[0], high[0], low[1], high[1]);
  gp_Pnt2d p = at;
  double before = 1e100;
  for (int step = 0; step < 30; ++step) {
    for (const int axis : {0, 1}) {
      const auto i = static_cast<std::size_t>(axis);
      double value = coordinate(p, axis);
      if (form_.closed[i]) {
        value -= std::floor((value - low[i]) / form_.period[i]) * form_.period[i];
      }
      move(p, axis, std::clamp(value, low[i], high[i]) - coordinate(p, axis));
    }
    gp_Pnt on;
    gp_Vec du;
    gp_Vec dv;
    form_.surface->D1(p.X(), p.Y(), on, du, dv);
    const gp_Vec gap(on, point);
    const double a = du.Dot(du);
    const double b = du.Dot(dv);
    const double c = dv.Dot(dv);
    const double e = gap.Dot(du);
    const double f = gap.Dot(dv);
    const double determinant = a * c - b * b;
    if (determinant < 1e-12 * a * c || determinant == 0) return false;
    const gp_Vec2d move_by((c * e - b * f) / determinant, (a * f - b * e) / determinant);
    const double distance = gap.Magnitude();
    const double in_space = (du * move_by.X() + dv * move_by.Y()).Magnitude();
    if (in_space < 1e-10) {
      at = p;
      return distance < 0.05;
    }
    if (step > 8 && distance > 2 * before) return false;
    before = distance;
    p.Translate(move_by);
  }
  return false;
}

bool derivative_at(const SurfaceForm& form, const gp_Pnt2d& at, const gp_Vec& along,
                   gp_Vec2d& result) {
  gp_Pnt on;
  gp_Vec du;
  gp_Vec dv;
  form.surface->D1(at.X(), at.Y(), on, du, dv);
  const double a = du.Dot(du);
  const double b = du.Dot(dv);
  const double c = dv.Dot(dv);
  const double determinant = a * c - b * b;
  if (determinant <= 1e-12 * a * c || determinant == 0) return false;
  const double e = along.Dot(du);
  const double f = along.Dot(dv);
  result = gp_Vec2d((c * e - b * f) / determinant, (a * f - b * e) / determinant);
  return true;
}

}  // namespace sat::shapes

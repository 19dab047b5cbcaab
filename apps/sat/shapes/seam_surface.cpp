// Finds where surfaces close and have singular points, and makes surfaces with their seam
// elsewhere.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <Geom_BSplineSurface.hxx>
#include <Geom_ConicalSurface.hxx>
#include <Geom_SphericalSurface.hxx>
#include <Geom_SurfaceOfRevolution.hxx>
#include <Geom_ToroidalSurface.hxx>
#include <Precision.hxx>
#include <TColStd_Array1OfInteger.hxx>
#include <TColStd_Array1OfReal.hxx>
#include <TColStd_Array2OfReal.hxx>
#include <TColgp_Array2OfPnt.hxx>
#include <gp_Ax3.hxx>

#include "geometry.hpp"

namespace sat::shapes {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// Whether all poles of a side of the rectangle are one point.
bool is_point(const Geom_BSplineSurface& surface, int axis, bool high, gp_Pnt& point) {
  const int columns = surface.NbUPoles();
  const int rows = surface.NbVPoles();
  const int fixed = !high ? 1 : axis == 0 ? columns : rows;
  const int number = axis == 0 ? rows : columns;
  const auto pole = [&](int i) {
    return axis == 0 ? surface.Pole(fixed, i) : surface.Pole(i, fixed);
  };
  point = pole(1);
  for (int i = 2; i <= number; ++i) {
    if (pole(i).Distance(point) > Precision::Confusion()) return false;
  }
  return true;
}

void describe_spline(SurfaceForm& form, const Geom_BSplineSurface& surface) {
  std::array<double, 2> high{};
  surface.Bounds(form.low[0], high[0], form.low[1], high[1]);
  for (const int axis : {0, 1}) {
    const auto i = static_cast<std::size_t>(axis);
    // Poles of both sides in turn: Open CASCADE's own test is as strict as 1e-7 too.
    form.closed[i] = axis == 0 ? surface.IsUClosed() : surface.IsVClosed();
    form.period[i] = high[i] - form.low[i];
    for (const bool upper : {false, true}) {
      gp_Pnt point;
      if (is_point(surface, axis, upper, point)) {
        form.singular.push_back({axis, upper ? high[i] : form.low[i], upper, point});
        form.closed[i] = false;
      }
    }
  }
}

// Of poles in both directions; Open CASCADE has no call for it.
Handle(Geom_BSplineSurface)
    spline_with_seam_at(const Geom_BSplineSurface& surface, int axis, double value) {
  Handle(Geom_BSplineSurface) work = Handle(Geom_BSplineSurface)::DownCast(surface.Copy());
  if (axis == 1) work->ExchangeUV();
  const int degree = work->UDegree();
  double low = 0;
  double high = 0;
  double v_low = 0;
  double v_high = 0;
  work->Bounds(low, high, v_low, v_high);
  Handle(Geom_BSplineSurface) first = Handle(Geom_BSplineSurface)::DownCast(work->Copy());
  Handle(Geom_BSplineSurface) second = Handle(Geom_BSplineSurface)::DownCast(work->Copy());
  first->Segment(value, high, v_low, v_high);
  second->Segment(low, value, v_low, v_high);
  const int columns = first->NbUPoles() + second->NbUPoles() - 1;
  const int rows = first->NbVPoles();
  TColgp_Array2OfPnt poles(1, columns, 1, rows);
  TColStd_Array2OfReal weights(1, columns, 1, rows);
  const int join = first->NbUPoles();
  for (int j = 1; j <= rows; ++j) {
    for (int i = 1; i <= columns; ++i) {
      const bool in_first = i <= join;
      const Geom_BSplineSurface& from = in_first ? *first : *second;
      const int column = in_first ? i : i - join + 1;
      poles(i, j) = from.Pole(column, j);
      weights(i, j) = from.Weight(column, j);
    }
  }
  const int knots = first->NbUKnots() + second->NbUKnots() - 1;
  TColStd_Array1OfReal values(1, knots);
  TColStd_Array1OfInteger multiplicities(1, knots);
  for (int i = 1; i <= knots; ++i) {
    const bool in_first = i <= first->NbUKnots();
    const Geom_BSplineSurface& from = in_first ? *first : *second;
    const int knot = in_first ? i : i - first->NbUKnots() + 1;
    values(i) = from.UKnot(knot) + (in_first ? 0 : high - low);
    multiplicities(i) = i == first->NbUKnots() ? degree : from.UMultiplicity(knot);
  }
  TColStd_Array1OfReal v_values(1, first->NbVKnots());
  TColStd_Array1OfInteger v_multiplicities(1, first->NbVKnots());
  first->VKnots(v_values);
  first->VMultiplicities(v_multiplicities);
  Handle(Geom_BSplineSurface) result = new Geom_BSplineSurface(
      poles, weights, values, v_values, multiplicities, v_multiplicities, degree, first->VDegree());
  if (axis == 1) result->ExchangeUV();
  return result;
}

}  // namespace

void describe(SurfaceForm& form) {
  const Handle(Geom_Surface) & surface = form.surface;
  form.singular.clear();
  form.closed = {};
  form.low = {};
  form.period = {kTurn, kTurn};
  if (const auto spline = Handle(Geom_BSplineSurface)::DownCast(surface); !spline.IsNull()) {
    describe_spline(form, *spline);
    return;
  }
  form.closed[0] = !form.plane;
  if (const auto cone = Handle(Geom_ConicalSurface)::DownCast(surface); !cone.IsNull()) {
    const double sine = std::sin(cone->SemiAngle());
    form.singular.push_back({1, -cone->RefRadius() / sine, sine < 0, cone->Apex()});
  } else if (surface->IsKind(STANDARD_TYPE(Geom_SphericalSurface))) {
    constexpr double kPole = std::numbers::pi / 2;
    form.singular.push_back({1, -kPole, false, surface->Value(0, -kPole)});
    form.singular.push_back({1, kPole, true, surface->Value(0, kPole)});
  } else if (surface->IsKind(STANDARD_TYPE(Geom_ToroidalSurface))) {
    form.closed[1] = true;
  } else if (surface->IsKind(STANDARD_TYPE(Geom_SurfaceOfRevolution))) {
    double u_low = 0;
    double u_high = 0;
    double v_low = 0;
    double v_high = 0;
    surface->Bounds(u_low, u_high, v_low, v_high);
    form.singular.push_back({1, v_low, false, surface->Value(0, v_low)});
    form.singular.push_back({1, v_high, true, surface->Value(0, v_high)});
  }
}

SurfaceForm with_seam_at(const SurfaceForm& form, int axis, double value, double& moved) {
  SurfaceForm result = form;
  moved = 0;
  const auto i = static_cast<std::size_t>(axis);
  if (const auto spline = Handle(Geom_BSplineSurface)::DownCast(form.surface); !spline.IsNull()) {
    const double period = form.period[i];
    const double inside = value - std::floor((value - form.low[i]) / period) * period;
    const double edge = 1e-9 * period;
    if (inside - form.low[i] < edge || form.low[i] + period - inside < edge) {
      // It is there already; coordinates may be turns away.
      moved = form.low[i] - value;
      return result;
    }
    result.surface = spline_with_seam_at(*spline, axis, inside);
    moved = inside - value;
    describe(result);
    return result;
  }
  if (axis == 1) return result;  // a torus: any value of v will do
  if (const auto elementary = Handle(Geom_ElementarySurface)::DownCast(form.surface);
      !elementary.IsNull()) {
    Handle(Geom_ElementarySurface) copy =
        Handle(Geom_ElementarySurface)::DownCast(elementary->Copy());
    gp_Ax3 axes = copy->Position();
    axes.Rotate(axes.Axis(), value);
    copy->SetPosition(axes);
    result.surface = copy;
    moved = -value;
  }
  return result;  // extrusions and revolutions keep their parameters
}

}  // namespace sat::shapes

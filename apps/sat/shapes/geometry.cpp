// The definitions.
#include "geometry.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <ElCLib.hxx>
#include <GeomConvert.hxx>
#include <Geom_BSplineSurface.hxx>
#include <Geom_Circle.hxx>
#include <Geom_ConicalSurface.hxx>
#include <Geom_CylindricalSurface.hxx>
#include <Geom_Ellipse.hxx>
#include <Geom_Line.hxx>
#include <Geom_Plane.hxx>
#include <Geom_RectangularTrimmedSurface.hxx>
#include <Geom_SphericalSurface.hxx>
#include <Geom_SurfaceOfLinearExtrusion.hxx>
#include <Geom_SurfaceOfRevolution.hxx>
#include <Geom_ToroidalSurface.hxx>
#include <Geom_TrimmedCurve.hxx>
#include <Precision.hxx>
#include <Standard_ErrorHandler.hxx>
#include <Standard_Failure.hxx>
#include <TColStd_Array1OfInteger.hxx>
#include <TColStd_Array1OfReal.hxx>
#include <TColStd_Array2OfReal.hxx>
#include <TColgp_Array2OfPnt.hxx>
#include <gp_Ax3.hxx>
#include <gp_Elips.hxx>
#include <gp_GTrsf.hxx>

#include "splines.hpp"

namespace sat::shapes {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kNothing = 1e-12;

bool given(double value) { return !std::isnan(value); }
gp_Vec vector_of(const Vector& v) { return {v.x, v.y, v.z}; }
bool is_direction(const Vector& v) {
  return given(v.x) && given(v.y) && given(v.z) && vector_of(v).Magnitude() > kNothing;
}

// A right-handed frame; x is chosen where the file has none across the axis.
gp_Ax3 frame(const gp_Pnt& origin, const Vector& axis, const Vector& x) {
  const gp_Dir z(axis.x, axis.y, axis.z);
  if (is_direction(x) && vector_of(x).Crossed(gp_Vec(z)).Magnitude() > kNothing) {
    return {origin, z, gp_Dir(vector_of(x))};
  }
  return {origin, z};
}

std::string reason(const Standard_Failure& failure) {
  const char* const text = failure.GetMessageString();
  const std::string name = failure.DynamicType()->Name();
  return "Open CASCADE refuses it (" + name +
         (text != nullptr && *text != '\0' ? std::string(": ") + text : std::string()) + ")";
}

// A subtype's B-spline, out of the table or out of the text.
std::optional<Nurbs> nurbs_of(const Model& model, std::uint32_t subtype, Nurbs::Form form) {
  if (subtype == kNoSubtype || subtype >= model.subtypes.size()) return std::nullopt;
  const Subtype& found = model.subtypes[subtype];
  if (found.nurbs != nullptr && found.nurbs->form == form) return *found.nurbs;
  return nurbs_in(found.text, form);
}

std::string no_spline(const Model& model, std::uint32_t subtype) {
  if (subtype == kNoSubtype) return "it has no data that are understood";
  return "its construction " + printable(model.subtypes[subtype].name) +
         " comes without a B-spline that is understood";
}

CurveForm straight(const Straight& record, double scale) {
  CurveForm form;
  if (!is_direction(record.direction)) {
    form.why = "its direction has no length";
    return form;
  }
  form.curve = new Geom_Line(point_of(record.root, scale), gp_Dir(vector_of(record.direction)));
  form.factor = vector_of(record.direction).Magnitude() * scale;
  return form;
}

CurveForm ellipse(const Ellipse& record, double scale) {
  CurveForm form;
  if (!is_direction(record.major) || !is_direction(record.normal)) {
    form.why = "its axes have no length";
    return form;
  }
  const gp_Pnt centre = point_of(record.centre, scale);
  const double major = vector_of(record.major).Magnitude() * scale;
  const double ratio = record.ratio;
  gp_Dir normal(vector_of(record.normal));
  gp_Dir x(vector_of(record.major));
  if (std::abs(std::abs(ratio) - 1) < 1e-12) {
    if (ratio < 0) normal.Reverse();
    form.curve = new Geom_Circle(gp_Ax2(centre, normal, x), major);
  } else {
    const double minor = std::abs(ratio) * major;
    if (minor < Precision::Confusion()) {
      form.why = "it is flat";
      return form;
    }
    if (ratio < 0) normal.Reverse();
    if (minor <= major) {
      form.curve = new Geom_Ellipse(gp_Ax2(centre, normal, x), major, minor);
    } else {
      // The long axis comes first: E(t) is the other's point of t - pi / 2.
      const gp_Dir y = gp_Ax2(centre, normal, x).YDirection();
      form.curve = new Geom_Ellipse(gp_Ax2(centre, normal, y), minor, major);
      form.offset = -std::numbers::pi / 2;
    }
  }
  return form;
}

CurveForm intcurve(const Model& model, const Intcurve& record, double scale) {
  CurveForm form;
  const auto nurbs = nurbs_of(model, record.subtype, Nurbs::Form::kCurve3);
  if (!nurbs) {
    form.why = no_spline(model, record.subtype);
    return form;
  }
  form.curve = curve_of(*nurbs, scale, record.sense == Choice::kSecond);
  return form;
}

void set_plane(SurfaceForm& form, const Vector& origin, const Vector& normal, const Vector& u,
               double scale) {
  form.surface = new Geom_Plane(frame(point_of(origin, scale), normal, u));
  form.plane = true;
}

double slope_of(const Cone& cone) { return cone.sine / cone.cosine; }

void set_cone(SurfaceForm& form, const Cone& cone, double scale) {
  const gp_Pnt origin = point_of(cone.origin, scale);
  const double radius = vector_of(cone.major).Magnitude() * scale;
  form.flipped = cone.cosine < 0;
  if (std::abs(cone.cosine) < 1e-9) {
    form.why = "it is as flat as a plane";
    return;
  }
  const gp_Ax3 axes = frame(origin, cone.axis, cone.major);
  const bool straight_sides = std::abs(cone.sine) < 1e-11;
  const bool round = std::abs(cone.ratio - 1) < 1e-12;
  if (straight_sides && round) {
    form.surface = new Geom_CylindricalSurface(axes, radius);
  } else if (straight_sides) {
    Ellipse base;
    base.centre = cone.origin;
    base.normal = cone.axis;
    base.major = cone.major;
    base.ratio = cone.ratio;
    const CurveForm curve = ellipse(base, scale);
    if (curve.curve.IsNull()) {
      form.why = curve.why;
      return;
    }
    form.surface = new Geom_SurfaceOfLinearExtrusion(curve.curve, axes.Direction());
  } else if (round) {
    form.surface = new Geom_ConicalSurface(axes, std::atan(slope_of(cone)), radius);
  } else {
    form.elliptic_cone = true;
  }
}

void set_torus(SurfaceForm& form, const Torus& torus, double scale) {
  const gp_Pnt centre = point_of(torus.centre, scale);
  const double major = torus.major * scale;
  const double minor = std::abs(torus.minor) * scale;
  const gp_Ax3 axes = frame(centre, torus.axis, torus.u);
  form.flipped = torus.minor < 0;
  if (major > minor) {
    form.surface = new Geom_ToroidalSurface(axes, major, minor);
    return;
  }
  // An apple or a lemon: the arc beyond the axis, turned about it. It ends at two points.
  const double half = std::acos(std::clamp(-major / minor, -1.0, 1.0));
  const gp_Pnt middle = centre.Translated(gp_Vec(axes.XDirection()) * major);
  const gp_Ax2 plane(middle, axes.YDirection().Reversed(), axes.XDirection());
  const Handle(Geom_Circle) circle = new Geom_Circle(plane, minor);
  form.surface = new Geom_SurfaceOfRevolution(new Geom_TrimmedCurve(circle, -half, half),
                                              gp_Ax1(centre, axes.Direction()));
}

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
Handle(Geom_BSplineSurface) spline_with_seam_at(const Geom_BSplineSurface& surface, int axis,
                                                double value) {
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
  Handle(Geom_BSplineSurface) result =
      new Geom_BSplineSurface(poles, weights, values, v_values, multiplicities, v_multiplicities,
                              degree, first->VDegree());
  if (axis == 1) result->ExchangeUV();
  return result;
}

}  // namespace

double coordinate(const gp_Pnt2d& p, int axis) { return axis == 0 ? p.X() : p.Y(); }
void move(gp_Pnt2d& p, int axis, double by) {
  if (axis == 0) {
    p.SetX(p.X() + by);
  } else {
    p.SetY(p.Y() + by);
  }
}

double scale_of(const Header& header) {
  return header.has_units && header.millimetres > 0 ? header.millimetres : 1;
}
gp_Pnt point_of(const Vector& v, double scale) { return {scale * v.x, scale * v.y, scale * v.z}; }

CurveForm curve_of(const Model& model, Ref record, double scale) {
  try {
    if (const auto* const line = model.find<Straight>(record)) return straight(*line, scale);
    if (const auto* const arc = model.find<Ellipse>(record)) return ellipse(*arc, scale);
    if (const auto* const spline = model.find<Intcurve>(record)) {
      return intcurve(model, *spline, scale);
    }
  } catch (const Standard_Failure& failure) {
    return {.curve = {}, .why = reason(failure)};
  }
  return {.curve = {}, .why = "curves of its class are not understood"};
}

SurfaceForm surface_of(const Model& model, Ref record, double scale) {
  SurfaceForm form;
  try {
    if (const auto* const plane = model.find<Plane>(record)) {
      set_plane(form, plane->origin, plane->normal, plane->u, scale);
    } else if (const auto* const cone = model.find<Cone>(record)) {
      set_cone(form, *cone, scale);
    } else if (const auto* const sphere = model.find<Sphere>(record)) {
      const gp_Pnt centre = point_of(sphere->centre, scale);
      const Vector pole = is_direction(sphere->pole) ? sphere->pole : Vector{0, 0, 1};
      form.flipped = sphere->radius < 0;
      form.surface = new Geom_SphericalSurface(frame(centre, pole, sphere->u),
                                               std::abs(sphere->radius) * scale);
    } else if (const auto* const torus = model.find<Torus>(record)) {
      set_torus(form, *torus, scale);
    } else if (const auto* const spline = model.find<Spline>(record)) {
      const auto nurbs = nurbs_of(model, spline->subtype, Nurbs::Form::kSurface);
      if (nurbs) {
        form.surface = surface_of(*nurbs, scale);
        form.flipped = spline->sense == Choice::kSecond;
      } else {
        form.why = no_spline(model, spline->subtype);
      }
    } else {
      form.why = "surfaces of its class are not understood";
    }
    if (!form.surface.IsNull()) describe(form);
  } catch (const Standard_Failure& failure) {
    form.surface.Nullify();
    form.why = reason(failure);
  }
  return form;
}

SurfaceForm elliptic_cone_of(const Cone& cone, double scale, double low, double high) {
  SurfaceForm form;
  form.flipped = cone.cosine < 0;
  const double radius = vector_of(cone.major).Magnitude() * scale;
  const gp_Ax3 axes = frame(point_of(cone.origin, scale), cone.axis, cone.major);
  const double angle = std::atan(slope_of(cone));
  // Heights become lengths along the sides; the apex is a bound.
  const double apex = -radius / std::sin(angle);
  const double margin = 0.01 * (high - low) + 1e-3 * radius;
  double from = (low - margin) / std::cos(angle);
  double to = (high + margin) / std::cos(angle);
  if (apex < to && std::sin(angle) > 0) from = std::max(from, apex);
  if (apex > from && std::sin(angle) < 0) to = std::min(to, apex);
  const Handle(Geom_ConicalSurface) round = new Geom_ConicalSurface(axes, angle, radius);
  const Handle(Geom_BSplineSurface) spline = GeomConvert::SurfaceToBSplineSurface(
      new Geom_RectangularTrimmedSurface(round, 0, kTurn, from, to));
  if (spline->IsUPeriodic()) spline->SetUNotPeriodic();
  const gp_Dir across = axes.YDirection();
  for (int i = 1; i <= spline->NbUPoles(); ++i) {
    for (int j = 1; j <= spline->NbVPoles(); ++j) {
      const gp_Pnt pole = spline->Pole(i, j);
      const double y = gp_Vec(axes.Location(), pole).Dot(gp_Vec(across));
      spline->SetPole(i, j, pole.Translated(gp_Vec(across) * (y * (cone.ratio - 1))));
    }
  }
  form.surface = spline;
  describe(form);
  return form;
}

void describe(SurfaceForm& form) {
  const Handle(Geom_Surface)& surface = form.surface;
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

// The definitions.
#include "geometry.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

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
#include <Standard_Failure.hxx>
#include <Standard_RangeError.hxx>
#include <gp_Ax3.hxx>

#include "splines.hpp"

namespace sat::shapes {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kNothing = 1e-12;

constexpr double kMost = 1e50;

// Open CASCADE goes round for ever with other numbers. A file that is read in part lacks some.
double usable(double value) {
  if (!(std::abs(value) < kMost)) {
    throw Standard_RangeError("a number is missing or larger than 1e50");
  }
  return value;
}

gp_Vec vector_of(const Vector& v) { return {v.x, v.y, v.z}; }
bool is_direction(const Vector& v) {
  const double length = vector_of(v).Magnitude();
  return length > kNothing && length < kMost;  // not if a number is missing
}

// A right-handed frame; x is chosen where the file has none across the axis.
gp_Ax3 frame(const gp_Pnt& origin, const Vector& axis, const Vector& x) {
  if (!is_direction(axis)) throw Standard_RangeError("its axis is missing or has no length");
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
  const double ratio = usable(record.ratio);
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
double radius_of(const Cone& cone, double scale) {
  return usable(vector_of(cone.major).Magnitude() * scale);
}

void set_cone(SurfaceForm& form, const Cone& cone, double scale) {
  const gp_Pnt origin = point_of(cone.origin, scale);
  const double radius = radius_of(cone, scale);
  for (const double each : {cone.sine, cone.cosine, cone.ratio}) usable(each);
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
  const double major = usable(torus.major * scale);
  const double minor = usable(std::abs(torus.minor) * scale);
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
gp_Pnt point_of(const Vector& v, double scale) {
  return {usable(scale * v.x), usable(scale * v.y), usable(scale * v.z)};
}

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
                                               usable(std::abs(sphere->radius) * scale));
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
  const double radius = radius_of(cone, scale);
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

}  // namespace sat::shapes

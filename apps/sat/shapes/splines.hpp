// B-splines of curves and surfaces in Open CASCADE's form, also of constructions that the mapper
// keeps as text: these carry the B-spline that their kernel solved them by.
#pragma once

#include <optional>
#include <string_view>

#include <Geom2d_BSplineCurve.hxx>
#include <Geom_BSplineCurve.hxx>
#include <Geom_BSplineSurface.hxx>

#include "sat/model.hpp"

namespace sat::shapes {

// The B-spline of a subtype: the first in the text of a curve, the last in that of a surface,
// outside of other subtypes in it.
std::optional<Nurbs> nurbs_in(std::string_view text, Nurbs::Form form);

// Lengths are multiplied by `scale`. A curve that is `negated` has C(-t) at t. These functions
// throw Standard_Failure if Open CASCADE refuses the numbers.
Handle(Geom_BSplineCurve) curve_of(const Nurbs& nurbs, double scale, bool negated);
Handle(Geom_BSplineSurface) surface_of(const Nurbs& nurbs, double scale);
Handle(Geom2d_BSplineCurve) pcurve_of(const Nurbs& nurbs);

}  // namespace sat::shapes

// The plan of an edge: its curve between its vertices.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <GeomAPI_ProjectPointOnCurve.hxx>
#include <GeomAdaptor_Curve.hxx>
#include <Geom_BSplineCurve.hxx>
#include <Precision.hxx>
#include <Standard_Failure.hxx>

#include "plan.hpp"

namespace sat::shapes {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// The parameter of the point of a curve nearest to a point.
double parameter_of(const Handle(Geom_Curve) & curve, const gp_Pnt& point) {
  const double first = curve->FirstParameter();
  const double last = curve->LastParameter();
  double best = 0;
  double distance = 1e100;
  const auto consider = [&](double t) {
    const double d = curve->Value(t).Distance(point);
    if (d < distance) {
      distance = d;
      best = t;
    }
  };
  if (!Precision::IsInfinite(first)) consider(first);
  if (!Precision::IsInfinite(last)) consider(last);
  if (distance < 1e-7) return best;
  GeomAPI_ProjectPointOnCurve projected(point, curve);
  if (projected.NbPoints() > 0) consider(projected.LowerDistanceParameter());
  return best;
}

bool is_near(const EdgePlan& plan, double t, const gp_Pnt& point, double most) {
  return plan.curve->Value(t).Distance(point) <= most;
}

// From the vertices, where the file has no parameters or wrong ones.
void find_range(EdgePlan& plan, const gp_Pnt& low, const gp_Pnt& high) {
  plan.first = parameter_of(plan.curve, low);
  plan.last = parameter_of(plan.curve, high);
  const bool same = plan.low == plan.high;
  const auto spline = Handle(Geom_BSplineCurve)::DownCast(plan.curve);
  if (plan.curve->IsPeriodic()) {
    const double period = plan.curve->Period();
    if (same || plan.last - plan.first < 1e-9) {
      if (same) plan.last = plan.first;
      plan.last += period;
    }
  } else if (!spline.IsNull() && spline->IsClosed()) {
    const double begin = plan.curve->FirstParameter();
    const double end = plan.curve->LastParameter();
    if (same || plan.last - plan.first < 1e-9 * (end - begin)) {
      if (same) plan.first = begin;
      plan.last = end;
    }
  }
}

void plan_range(const Plans& plans, const Edge& edge, const CurveForm& form, EdgePlan& plan) {
  const bool reversed = edge.sense == Choice::kSecond;
  plan.low = reversed ? edge.end : edge.start;
  plan.high = reversed ? edge.start : edge.end;
  const gp_Pnt low = plans.vertex(plan.low);
  const gp_Pnt high = plans.vertex(plan.high);
  const double most = std::max(1e-3 * std::max(1.0, plans.scale), 2 * plan.tolerance);
  if (!std::isnan(edge.start_parameter) && !std::isnan(edge.end_parameter)) {
    double first = edge.start_parameter;
    double last = edge.end_parameter;
    if (reversed) {
      first = -edge.end_parameter;
      last = -edge.start_parameter;
    }
    plan.first = form.factor * first + form.offset;
    plan.last = form.factor * last + form.offset;
    if (plan.curve->IsPeriodic() && plan.last <= plan.first) plan.last += kTurn;
    const auto spline = Handle(Geom_BSplineCurve)::DownCast(plan.curve);
    if (!spline.IsNull()) {
      const double begin = spline->FirstParameter();
      const double end = spline->LastParameter();
      const double slack = 1e-6 * (end - begin);
      if (plan.first < begin && plan.first > begin - slack) plan.first = begin;
      if (plan.last > end && plan.last < end + slack) plan.last = end;
      // A closed curve whose range goes over its end begins elsewhere.
      if (plan.first < begin || plan.last > end) {
        if (spline->IsClosed() && plan.last - plan.first <= (end - begin) * (1 + 1e-9)) {
          if (plan.first - begin > 1e-9 * (end - begin) || plan.last - end > slack ||
              plan.first < begin - slack) {
            Handle(Geom_BSplineCurve) turned = Handle(Geom_BSplineCurve)::DownCast(spline->Copy());
            turned->SetPeriodic();
            plan.curve = turned;
          }
        }
      }
    }
    const bool inside =
        plan.curve->IsPeriodic() || Precision::IsInfinite(plan.curve->FirstParameter()) ||
        (plan.first >= plan.curve->FirstParameter() && plan.last <= plan.curve->LastParameter());
    if (plan.first < plan.last && inside && is_near(plan, plan.first, low, most) &&
        is_near(plan, plan.last, high, most)) {
      return;
    }
    plan.mended = true;
  }
  find_range(plan, low, high);
}

}  // namespace

gp_Pnt Plans::vertex(Ref record) const {
  const Vertex* const found = model->find<Vertex>(record);
  const Point* const point = found != nullptr ? model->find<Point>(found->point) : nullptr;
  if (point == nullptr) throw CannotMake("it has a vertex without a point");
  return point_of(point->position, scale);
}

void plan_edge(const Plans& plans, Ref record, EdgePlan& plan) {
  const Edge& edge = plans.model->get<Edge>(record);
  plan.low = edge.start;
  plan.high = edge.end;
  if (!std::isnan(edge.tolerance) && edge.tolerance > 0) {
    plan.tolerance = edge.tolerance * plans.scale;
  }
  try {
    if (edge.curve == kNull) {
      plans.vertex(edge.start);
      return;
    }
    const CurveForm* const form = plans.curves[edge.curve].get();
    if (form == nullptr || form->curve.IsNull()) {
      plan.why = "its curve is not there: " +
                 (form != nullptr ? form->why : std::string("it is of an unknown class"));
      return;
    }
    plan.curve = form->curve;
    plan_range(plans, edge, *form, plan);
    if (!(plan.last - plan.first > Precision::PConfusion())) {
      plan.curve.Nullify();
      if (plan.low != plan.high) plan.why = "its vertices lie at one point of its curve";
      return;
    }
    plan.backward = edge.sense == Choice::kSecond;
  } catch (const CannotMake& error) {
    plan.curve.Nullify();
    plan.why = error.what();
  } catch (const Standard_Failure& failure) {
    plan.curve.Nullify();
    plan.why = std::string("Open CASCADE refuses it (") + failure.DynamicType()->Name() + ")";
  }
}

}  // namespace sat::shapes

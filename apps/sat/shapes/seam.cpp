// The seam of a face on a surface that closes. A file has none: two circles bound a cylinder. Open
// CASCADE wants loops that are closed in the plane of u and v, so a face whose loops turn around
// the surface, or that holds all of it but holes, is cut along a line on which a coordinate is
// constant; edges that cross the line are cut there.
#include <algorithm>
#include <cmath>

#include <Geom_BSplineSurface.hxx>

#include "plan.hpp"
#include "scan.hpp"

namespace sat::shapes {
namespace {

void move_all(FacePlan& plan, int axis, double by) {
  for (LoopPlan& loop : plan.loops) {
    for (Use& use : loop.uses) {
      use.by.Add(axis == 0 ? gp_Vec2d(by, 0) : gp_Vec2d(0, by));
      if (use.gap != nullptr && use.gap->axis != axis) {
        use.gap_from += by;
        use.gap_to += by;
      }
    }
  }
}
void move_loop(LoopPlan& loop, int axis, double by) {
  for (Use& use : loop.uses) {
    use.by.Add(axis == 0 ? gp_Vec2d(by, 0) : gp_Vec2d(0, by));
    if (use.gap != nullptr && use.gap->axis != axis) {
      use.gap_from += by;
      use.gap_to += by;
    }
  }
}

// Pointers to sides that are points stay good when the surface is made anew.
void take_form(FacePlan& plan, SurfaceForm form) {
  for (LoopPlan& loop : plan.loops) {
    for (Use& use : loop.uses) {
      for (const Singular** each : {&use.gap, &use.track.first, &use.track.last}) {
        if (*each == nullptr) continue;
        const auto place = static_cast<std::size_t>(*each - plan.form.singular.data());
        *each = form.singular.data() + place;
      }
    }
  }
  plan.form = std::move(form);
}

void put_seam(FacePlan& plan, int axis, double value, double& seam) {
  double moved = 0;
  take_form(plan, with_seam_at(plan.form, axis, value, moved));
  move_all(plan, axis, moved);
  seam = value + moved;
}

bool is_spline(const FacePlan& plan) {
  return plan.form.surface->IsKind(STANDARD_TYPE(Geom_BSplineSurface));
}

// Loops that are closed in the plane, of which some go around the face: they are put beside one
// another, and onto a spline, which has no more than its rectangle.
void put_together(FacePlan& plan) {
  std::vector<std::size_t> outer;
  for (std::size_t i = 0; i < plan.loops.size(); ++i) {
    if (plan.loops[i].area > 0) outer.push_back(i);
  }
  for (const int axis : {0, 1}) {
    const auto i = static_cast<std::size_t>(axis);
    if (!plan.form.closed[i]) continue;
    const double period = plan.form.period[i];
    std::vector<gp_Pnt2d> polygon = polygon_of(plan.loops[outer.front()]);
    const auto by_axis = [axis](const gp_Pnt2d& p) { return coordinate(p, axis); };
    auto [low, high] = std::ranges::minmax(polygon, {}, by_axis);
    double from = coordinate(low, axis);
    double to = coordinate(high, axis);
    if (is_spline(plan)) {
      const double start = plan.form.low[i];
      const double shift = std::floor((from - start) / period + 1e-9) * period;
      if (to - shift > start + period * (1 + 1e-9)) {
        double seam = 0;
        put_seam(plan, axis, from - std::max(0.0, period - (to - from)) / 2, seam);
      } else {
        move_all(plan, axis, -shift);
      }
    } else {
      move_all(plan, axis, -std::floor((from + to) / 2 / period) * period);
    }
  }
  // Each hole, and each further loop, by turns to where it lies in the first.
  const std::vector<gp_Pnt2d> around = polygon_of(plan.loops[outer.front()]);
  for (std::size_t i = 0; i < plan.loops.size(); ++i) {
    if (i == outer.front()) continue;
    const gp_Pnt2d point = polygon_of(plan.loops[i]).front();
    const int u_most = plan.form.closed[0] ? 2 : 0;
    const int v_most = plan.form.closed[1] ? 2 : 0;
    bool done = false;
    for (int u = -u_most; u <= u_most && !done; ++u) {
      for (int v = -v_most; v <= v_most && !done; ++v) {
        const gp_Pnt2d moved =
            point.Translated(gp_Vec2d(u * plan.form.period[0], v * plan.form.period[1]));
        if (!is_inside(around, moved)) continue;
        move_loop(plan.loops[i], 0, u * plan.form.period[0]);
        move_loop(plan.loops[i], 1, v * plan.form.period[1]);
        done = true;
      }
    }
  }
}

double best_seam(const Scanner& scanner) {
  double best = 0;
  double least = 1e100;
  for (const double each : scanner.candidates()) {
    const double cost = scanner.all(each).cost;
    if (cost < least - 1e-9) {
      least = cost;
      best = each;
    }
  }
  if (least >= 1000) throw CannotMake("no seam can be found that its edges do not run along");
  return best;
}

// Loops around one way of a surface that closes both ways: all are put over the one below.
void stack(FacePlan& plan, int axis) {
  const int other = 1 - axis;
  const auto i = static_cast<std::size_t>(other);
  if (!plan.form.closed[i]) return;
  const double period = plan.form.period[i];
  const int sign = axis == 0 ? 1 : -1;
  const auto below = std::ranges::find_if(
      plan.crossings, [&](const Crossing& each) { return each.direction * sign > 0; });
  if (below == plan.crossings.end()) throw CannotMake("none of its loops goes around it");
  const double base = below->along;
  const std::size_t first = below->loop;
  double top = base;
  for (std::size_t k = 0; k < plan.loops.size(); ++k) {
    const auto mine = std::ranges::find(plan.crossings, k, &Crossing::loop);
    const double at = mine != plan.crossings.end()
                          ? mine->along
                          : coordinate(polygon_of(plan.loops[k]).front(), other);
    const double by = k == first ? 0 : -std::floor((at - base) / period) * period;
    move_loop(plan.loops[k], other, by);
    for (Crossing& each : plan.crossings) {
      if (each.loop == k) each.along += by;
    }
    for (const gp_Pnt2d& each : polygon_of(plan.loops[k])) {
      top = std::max(top, coordinate(each, other));
    }
  }
  if (!is_spline(plan)) return;
  double bottom = base;
  for (const gp_Pnt2d& each : polygon_of(plan.loops[first])) {
    bottom = std::min(bottom, coordinate(each, other));
  }
  double seam = 0;
  const double value = bottom - std::max(0.0, period - (top - bottom)) / 2;
  put_seam(plan, other, value, seam);
  for (Crossing& each : plan.crossings) each.along += seam - value;
}

}  // namespace

void choose_seam(const Plans& plans, FacePlan& plan) {
  const SurfaceForm& form = plan.form;
  if (plan.loops.empty()) {
    const bool whole = form.singular.size() == 2 || (form.closed[0] && form.closed[1]);
    if (is_spline(plan)) {
      plan.natural = true;
      return;
    }
    if (!whole) throw CannotMake("it has no loop, and its surface no bounds");
  }
  if (!form.closed[0] && !form.closed[1]) return;
  bool around_u = false;
  bool around_v = false;
  bool outer = false;
  for (const LoopPlan& each : plan.loops) {
    around_u = around_u || each.turns[0] != 0;
    around_v = around_v || each.turns[1] != 0;
    outer = outer || (each.turns[0] == 0 && each.turns[1] == 0 && each.area > 0);
  }
  if (around_u && around_v) throw CannotMake("its loops go around its surface both ways");
  if (!around_u && !around_v) {
    if (outer) {
      put_together(plan);
      return;
    }
    if (form.closed[0] && form.closed[1]) {
      const double u = best_seam(Scanner(plans, plan, 0));
      const double v = best_seam(Scanner(plans, plan, 1));
      if (!Scanner(plans, plan, 0).all(u).crossings.empty() ||
          !Scanner(plans, plan, 1).all(v).crossings.empty()) {
        throw CannotMake("its holes leave no place for a seam");
      }
      put_seam(plan, 0, u, plan.seam);
      put_seam(plan, 1, v, plan.other_seam);
      plan.axis = 2;
      return;
    }
  }
  plan.axis = around_u || (!around_v && form.closed[0]) ? 0 : 1;
  const double value = best_seam(Scanner(plans, plan, plan.axis));
  put_seam(plan, plan.axis, value, plan.seam);
  plan.crossings = Scanner(plans, plan, plan.axis).all(plan.seam).crossings;
  stack(plan, plan.axis);
  for (const Crossing& each : plan.crossings) {
    if (!each.inside) continue;
    const Ref edge = plan.loops[each.loop].uses[each.use].edge;
    plan.cuts.push_back({edge, {each.t}});
  }
}

}  // namespace sat::shapes

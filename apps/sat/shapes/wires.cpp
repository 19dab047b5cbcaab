// The wires of a face that needs no seam, and the common parts of all wires.
#include <algorithm>
#include <iterator>

#include <Geom2d_Line.hxx>
#include <Standard_Failure.hxx>
#include <gp_Dir2d.hxx>

#include "plan.hpp"

namespace sat::shapes {
namespace {

// A wire for each loop as it is.
void uncut_wires(const Plans& plans, FacePlan& plan) {
  std::vector<Outline> outlines;
  for (const LoopPlan& loop : plan.loops) {
    Outline outline;
    for (const Use& use : loop.uses) {
      std::ranges::move(pieces_of(plans, plan, use, {}), std::back_inserter(outline.wire));
      if (use.gap != nullptr) {
        outline.wire.push_back(pole_piece(plans, plan, *use.gap, use.gap_from, use.gap_to));
      }
    }
    if (!plan.form.plane) outline.polygon = polygon_of(loop);
    outlines.push_back(std::move(outline));
  }
  const bool encloses =
      std::ranges::any_of(outlines, [](const Outline& each) { return area_of(each.polygon) > 0; });
  if (!plan.form.plane && plan.no_seam.empty() && encloses) {
    gather_faces(plan, std::move(outlines));
    return;
  }
  if (!plan.form.plane && plan.no_seam.empty()) plan.no_seam = "none of its loops goes around it";
  plan.faces.emplace_back();
  for (Outline& each : outlines) plan.faces.front().push_back(std::move(each.wire));
}

}  // namespace

void give_up_seam(FacePlan& plan, const std::string& why) {
  plan.no_seam = why;
  plan.axis = -1;
  plan.cuts.clear();
  plan.own.clear();
  plan.points.clear();
  plan.faces.clear();
}

double area_of(const std::vector<gp_Pnt2d>& polygon) {
  double area = 0;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    area += polygon[i].XY().Crossed(polygon[(i + 1) % polygon.size()].XY());
  }
  return area / 2;
}

bool is_inside(const std::vector<gp_Pnt2d>& polygon, const gp_Pnt2d& point) {
  bool inside = false;
  for (std::size_t i = 0, j = polygon.size() - 1; i < polygon.size(); j = i++) {
    const gp_Pnt2d& a = polygon[i];
    const gp_Pnt2d& b = polygon[j];
    if ((a.Y() > point.Y()) != (b.Y() > point.Y()) &&
        point.X() < (b.X() - a.X()) * (point.Y() - a.Y()) / (b.Y() - a.Y()) + a.X()) {
      inside = !inside;
    }
  }
  return inside;
}

std::vector<gp_Pnt2d> polygon_of(const LoopPlan& loop) {
  std::vector<gp_Pnt2d> polygon;
  for (const Use& use : loop.uses) {
    const auto& samples = use.track.samples;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Track::Sample& each = samples[use.reversed ? samples.size() - 1 - i : i];
      polygon.push_back(use.value(each.t));
    }
    if (use.gap != nullptr) {
      gp_Pnt2d end = polygon.back();
      move(end, 1 - use.gap->axis, use.gap_to - use.gap_from);
      polygon.push_back(end);
    }
  }
  return polygon;
}

std::vector<Piece> pieces_of(const Plans& plans, const FacePlan& plan, const Use& use,
                             const gp_Vec2d& by) {
  const EdgePlan& edge = *plans.edges[use.edge];
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i <= edge.cuts.size(); ++i) {
    Piece piece;
    piece.index = i;
    piece.edge = use.edge;
    piece.reversed = use.reversed;
    const double low = i == 0 ? edge.first : edge.cuts[i - 1];
    const double high = i == edge.cuts.size() ? edge.last : edge.cuts[i];
    if (!plan.form.plane) piece.pcurve = pcurve_of(use.track, low, high, use.by + by);
    pieces.push_back(std::move(piece));
  }
  if (use.reversed) std::ranges::reverse(pieces);
  return pieces;
}

Piece pole_piece(const Plans& plans, FacePlan& plan, const Singular& singular, double from,
                 double to) {
  const auto is_there = [&](Ref vertex) {
    return vertex != kNull && plans.vertex(vertex).Distance(singular.point) < 1e-4;
  };
  Node node{.sort = Node::Sort::kOwn};
  for (const Ref each : plan.apexes) {
    if (is_there(each)) node = {.record = each};
  }
  for (const LoopPlan& loop : plan.loops) {
    for (const Use& use : loop.uses) {
      const EdgePlan& edge = *plans.edges[use.edge];
      if (use.track.first == nullptr && use.track.last == nullptr) continue;
      for (const Ref each : {edge.low, edge.high}) {
        if (is_there(each)) node = {.record = each};
      }
    }
  }
  if (node.sort == Node::Sort::kOwn) {
    const auto found = std::ranges::find_if(
        plan.points, [&](const gp_Pnt& p) { return p.Distance(singular.point) < 1e-7; });
    node.index = static_cast<std::size_t>(found - plan.points.begin());
    if (found == plan.points.end()) plan.points.push_back(singular.point);
  }
  OwnEdge own;
  own.first = std::min(from, to);
  own.last = std::max(from, to);
  own.low = own.high = node;
  own.forward = singular.axis == 1 ? new Geom2d_Line(gp_Pnt2d(0, singular.value), gp_Dir2d(1, 0))
                                   : new Geom2d_Line(gp_Pnt2d(singular.value, 0), gp_Dir2d(0, 1));
  plan.own.push_back(own);
  return {.own = true, .index = plan.own.size() - 1, .reversed = to < from};
}

void gather_faces(FacePlan& plan, std::vector<Outline> outlines) {
  std::vector<std::size_t> outer;
  for (std::size_t i = 0; i < outlines.size(); ++i) {
    if (area_of(outlines[i].polygon) > 0) outer.push_back(i);
  }
  if (outer.empty()) throw CannotMake("none of its loops goes around it");
  for (const std::size_t each : outer) plan.faces.push_back({outlines[each].wire});
  for (std::size_t i = 0; i < outlines.size(); ++i) {
    if (std::ranges::find(outer, i) != outer.end()) continue;
    std::size_t owner = 0;
    for (std::size_t k = 0; k < outer.size(); ++k) {
      if (is_inside(outlines[outer[k]].polygon, outlines[i].polygon.front())) owner = k;
    }
    plan.faces[owner].push_back(outlines[i].wire);
  }
}

void plan_wires(const Plans& plans, Ref, FacePlan& plan) {
  if (!plan.why.empty() || plan.natural) return;
  try {
    if (plan.axis >= 0) {
      try {
        cut_at_seam(plans, plan);
        return;
      } catch (const CannotMake& error) {
        if (plan.loops.empty()) throw;
        give_up_seam(plan, error.what());
      }
    }
    uncut_wires(plans, plan);
  } catch (const CannotMake& error) {
    plan.why = error.what();
  } catch (const Standard_Failure& failure) {
    plan.why = std::string("Open CASCADE refuses it (") + failure.DynamicType()->Name() + ")";
  }
}

}  // namespace sat::shapes

// The plan of a face up to its seam: its edges' curves on the surface, joined to loops.
#include <algorithm>
#include <cmath>

#include <GeomAPI_ProjectPointOnCurve.hxx>
#include <GeomAdaptor_Curve.hxx>
#include <Geom_Plane.hxx>
#include <Geom_SphericalSurface.hxx>
#include <Standard_Failure.hxx>
#include <gp_Ax3.hxx>
#include <gp_Pln.hxx>

#include "plan.hpp"

namespace sat::shapes {
namespace {

constexpr double kSmall = 1e-6;  // of a period

std::string name_of(const Plans& plans, Ref record) {
  return reference_text(plans.model->numbers.of(record));
}

// The coedges of a loop, in the direction in which the face is on the left of them in u and v.
std::vector<Ref> coedges_of(const Model& model, const Loop& loop, bool flipped) {
  std::vector<Ref> all;
  for (Ref at = loop.coedge; at != kNull;) {
    const Coedge* const coedge = model.find<Coedge>(at);
    if (coedge == nullptr || all.size() > model.size()) throw CannotMake("a loop is no ring");
    all.push_back(at);
    at = coedge->next;
    if (at == loop.coedge) break;
  }
  if (all.empty()) throw CannotMake("a loop has no coedge");
  if (flipped) std::ranges::reverse(all);
  return all;
}

const Singular* begins(const Use& use) { return use.reversed ? use.track.last : use.track.first; }
const Singular* ends(const Use& use) { return use.reversed ? use.track.first : use.track.last; }

class Loops {
 public:
  Loops(const Plans& plans, FacePlan& plan)
      : plans_(plans), model_(*plans.model), plan_(plan), inverse_(plan.form) {}

  void add(Ref record) {
    LoopPlan loop;
    loop.record = record;
    const std::vector<Ref> ring = coedges_of(model_, model_.get<Loop>(record), plan_.flipped);
    for (const Ref each : ring) {
      const Coedge& coedge = model_.get<Coedge>(each);
      const EdgePlan* const edge = coedge.edge != kNull ? plans_.edges[coedge.edge].get() : nullptr;
      if (edge == nullptr) throw CannotMake("coedge " + name_of(plans_, each) + " has no edge");
      if (!edge->why.empty()) {
        throw CannotMake("edge " + name_of(plans_, coedge.edge) + ": " + edge->why);
      }
      if (edge->curve.IsNull()) {
        if (ring.size() == 1) plan_.apexes.push_back(edge->low);
        continue;
      }
      Use use;
      use.coedge = each;
      use.edge = coedge.edge;
      use.reversed = ((coedge.sense == Choice::kSecond) != edge->backward) != plan_.flipped;
      loop.uses.push_back(std::move(use));
    }
    if (loop.uses.empty()) return;
    for (Use& each : loop.uses) follow(each);
    if (!plan_.form.plane) {
      place(loop);
      loop.area = area_of(polygon_of(loop));
    }
    plan_.loops.push_back(std::move(loop));
  }

 private:
  void follow(Use& use) {
    const EdgePlan& edge = *plans_.edges[use.edge];
    const GeomAdaptor_Curve curve(edge.curve, edge.first, edge.last);
    double deviation = 0;
    if (plan_.form.plane) {
      const gp_Pln plane = Handle(Geom_Plane)::DownCast(plan_.form.surface)->Pln();
      constexpr int kSteps = 8;
      for (int i = 0; i <= kSteps; ++i) {
        const double t = edge.first + (edge.last - edge.first) * i / kSteps;
        deviation = std::max(deviation, plane.Distance(curve.Value(t)));
      }
    } else {
      use.track = track_of(plan_.form, inverse_, curve, edge.first, edge.last);
      deviation = use.track.deviation;
    }
    plan_.deviations.emplace_back(use.edge, deviation);
  }

  gp_Pnt2d begin(const Use& use) const {
    return use.value(use.begin_parameter(*plans_.edges[use.edge]));
  }
  gp_Pnt2d end(const Use& use) const {
    return use.value(use.end_parameter(*plans_.edges[use.edge]));
  }

  // Whole turns that join the beginning of a use to the end of the one before it.
  gp_Vec2d join(Use& before, const Use& use) {
    const gp_Pnt2d from = end(before);
    gp_Pnt2d to = begin(use);
    const gp_Pnt2d was = to;
    const Singular* const singular = ends(before) == begins(use) ? begins(use) : nullptr;
    for (const int axis : {0, 1}) {
      const auto i = static_cast<std::size_t>(axis);
      const double a = coordinate(from, axis);
      const double b = coordinate(to, axis);
      const double period = plan_.form.period[i];
      if (singular != nullptr && axis != singular->axis) {
        double target = b;
        if (plan_.form.closed[i]) {
          // The face is on the left also here.
          const int direction = (singular->axis == 1) == singular->high ? -1 : 1;
          double way = (b - a) * direction / period;
          way -= std::floor(way);
          if (way < kSmall || way > 1 - kSmall) {
            way = before.edge == use.edge && before.reversed != use.reversed ? 1 : 0;
          }
          target = a + direction * way * period;
        }
        if (std::abs(target - a) > kSmall) {
          before.gap = singular;
          before.gap_from = a;
          before.gap_to = target;
        }
        move(to, axis, target - b);
      } else if (plan_.form.closed[i]) {
        move(to, axis, std::round((a - b) / period) * period);
      }
    }
    return gp_Vec2d(was, to);
  }

  void place(LoopPlan& loop) {
    std::vector<Use>& uses = loop.uses;
    const auto regular =
        std::ranges::find_if(uses, [](const Use& u) { return begins(u) == nullptr; });
    if (regular != uses.end()) std::rotate(uses.begin(), regular, uses.end());
    for (std::size_t i = 1; i < uses.size(); ++i) uses[i].by = join(uses[i - 1], uses[i]);
    const gp_Vec2d closing = join(uses.back(), uses.front());
    for (const std::size_t axis : {0U, 1U}) {
      if (!plan_.form.closed[axis]) continue;
      const double way = axis == 0 ? closing.X() : closing.Y();
      loop.turns[axis] = static_cast<int>(std::lround(way / plan_.form.period[axis]));
    }
  }

  const Plans& plans_;
  const Model& model_;
  FacePlan& plan_;
  Inverse inverse_;
};

template <class Call>
void each_edge(const Plans& plans, const Face& face, const Call& call) {
  const Model& model = *plans.model;
  std::size_t count = 0;
  for (Ref loop = face.loop; loop != kNull; loop = model.get<Loop>(loop).next) {
    if (++count > model.size()) throw CannotMake("its list of loops never ends");
    for (const Ref each : coedges_of(model, model.get<Loop>(loop), false)) {
      const Ref record = model.get<Coedge>(each).edge;
      const EdgePlan* const edge = record != kNull ? plans.edges[record].get() : nullptr;
      if (edge != nullptr) call(*edge);
    }
  }
}

// Some points of an edge.
std::vector<gp_Pnt> points_of(const EdgePlan& edge) {
  constexpr int kSteps = 32;
  std::vector<gp_Pnt> points;
  for (int i = 0; i <= kSteps; ++i) {
    points.push_back(edge.curve->Value(edge.first + (edge.last - edge.first) * i / kSteps));
  }
  return points;
}

// How high over its base the edges of a cone about an ellipse lie.
void make_elliptic_cone(const Plans& plans, const Face& face, FacePlan& plan) {
  const Cone& cone = plans.model->get<Cone>(face.surface);
  const gp_Pnt origin = point_of(cone.origin, plans.scale);
  const gp_Dir axis(cone.axis.x, cone.axis.y, cone.axis.z);
  double low = 1e100;
  double high = -1e100;
  const auto consider = [&](const gp_Pnt& point) {
    const double height = gp_Vec(origin, point).Dot(gp_Vec(axis));
    low = std::min(low, height);
    high = std::max(high, height);
  };
  each_edge(plans, face, [&](const EdgePlan& edge) {
    if (!edge.curve.IsNull()) {
      std::ranges::for_each(points_of(edge), consider);
    } else if (edge.low != kNull) {
      consider(plans.vertex(edge.low));
    }
  });
  if (low > high) throw CannotMake("its surface has no bounds");
  plan.form = elliptic_cone_of(cone, plans.scale, low, high);
}

// A sphere whose poles lie inside of edges gets others, which lie far from all edges: any axis of a
// sphere is as good.
void turn_sphere(const Plans& plans, const Face& face, FacePlan& plan) {
  const auto sphere = Handle(Geom_SphericalSurface)::DownCast(plan.form.surface);
  if (sphere.IsNull()) return;
  const double near = 1e-3 * sphere->Radius();
  bool through = false;
  std::vector<gp_Pnt> points;
  each_edge(plans, face, [&](const EdgePlan& edge) {
    if (edge.curve.IsNull()) return;
    for (const gp_Pnt& each : points_of(edge)) points.push_back(each);
    for (const Singular& pole : plan.form.singular) {
      GeomAPI_ProjectPointOnCurve nearest(pole.point, edge.curve, edge.first, edge.last);
      for (int i = 1; i <= nearest.NbPoints(); ++i) {
        const gp_Pnt at = nearest.Point(i);
        const bool at_end = at.Distance(edge.curve->Value(edge.first)) < near ||
                            at.Distance(edge.curve->Value(edge.last)) < near;
        through = through || (nearest.Distance(i) < near && !at_end);
      }
    }
  });
  if (!through) return;
  const gp_Ax3 frame = sphere->Position();
  gp_Dir best = frame.Direction();
  double most = -1;
  for (int x = 0; x <= 2; ++x) {
    for (int y = -2; y <= 2; ++y) {
      for (int z = -2; z <= 2; ++z) {
        if (x == 0 && y == 0 && z == 0) continue;
        const gp_Dir axis(gp_Vec(frame.XDirection()) * x + gp_Vec(frame.YDirection()) * y +
                          gp_Vec(frame.Direction()) * z);
        double closest = 1;
        for (const gp_Pnt& each : points) {
          const gp_Vec out(frame.Location(), each);
          closest = std::min(closest, out.Crossed(gp_Vec(axis)).Magnitude() / sphere->Radius());
        }
        if (closest > most) {
          most = closest;
          best = axis;
        }
      }
    }
  }
  plan.form.surface = new Geom_SphericalSurface(gp_Ax3(frame.Location(), best), sphere->Radius());
  describe(plan.form);
}

}  // namespace

void plan_loops(const Plans& plans, Ref record, FacePlan& plan) {
  const Model& model = *plans.model;
  const Face& face = model.get<Face>(record);
  try {
    const SurfaceForm* const form =
        face.surface != kNull ? plans.surfaces[face.surface].get() : nullptr;
    if (form == nullptr) throw CannotMake("it has no surface");
    plan.form = *form;
    if (form->elliptic_cone) make_elliptic_cone(plans, face, plan);
    if (plan.form.surface.IsNull()) throw CannotMake("its surface is not there: " + form->why);
    turn_sphere(plans, face, plan);
    plan.flipped = (face.sense == Choice::kSecond) != plan.form.flipped;
    Loops loops(plans, plan);
    std::size_t count = 0;
    for (Ref loop = face.loop; loop != kNull; loop = model.get<Loop>(loop).next) {
      if (++count > model.size()) throw CannotMake("its list of loops never ends");
      loops.add(loop);
    }
    try {
      choose_seam(plans, plan);
    } catch (const CannotMake& error) {
      if (plan.loops.empty()) throw;
      give_up_seam(plan, error.what());
    }
  } catch (const CannotMake& error) {
    plan.why = error.what();
  } catch (const Standard_Failure& failure) {
    plan.why = std::string("Open CASCADE refuses it (") + failure.DynamicType()->Name() + ")";
  }
}

}  // namespace sat::shapes

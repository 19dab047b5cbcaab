// The wires of a face along its seam: arcs of its loops, both uses of the seam, sides that are
// points. Each goes on where it ends, with the face on its left. It is long because all of these
// become links of one walk.
#include <algorithm>
#include <cmath>
#include <map>

#include <Geom2d_Line.hxx>
#include <Geom_TrimmedCurve.hxx>
#include <gp_Dir2d.hxx>

#include "plan.hpp"

namespace sat::shapes {
namespace {

// Where wires go on from: a crossing or a pole, on the left or the right side of the strip.
struct Key {
  int side = 0;
  std::size_t place = 0;
  auto operator<=>(const Key&) const = default;
};
constexpr std::size_t kLowPole = SIZE_MAX - 1;
constexpr std::size_t kHighPole = SIZE_MAX;

struct Link {
  Key to;
  Outline outline;
  bool taken = false;
};

class Cutter {
 public:
  Cutter(const Plans& plans, FacePlan& plan)
      : plans_(plans),
        plan_(plan),
        axis_(plan.axis),
        sign_(plan.axis == 0 ? 1 : -1),
        period_(plan.form.period[static_cast<std::size_t>(plan.axis)]) {}

  void make() {
    for (std::size_t i = 0; i < plan_.loops.size(); ++i) cut_loop(i);
    add_seams();
    std::vector<Outline> outlines = std::move(closed_);
    for (auto& [key, link] : links_) {
      if (link.taken) continue;
      Outline whole;
      Key at = key;
      do {
        const auto found = links_.find(at);
        if (found == links_.end() || found->second.taken) {
          throw CannotMake("its loops do not close along the seam");
        }
        Link& next = found->second;
        next.taken = true;
        std::ranges::move(next.outline.wire, std::back_inserter(whole.wire));
        std::ranges::copy(next.outline.polygon, std::back_inserter(whole.polygon));
        at = next.to;
      } while (at != key);
      outlines.push_back(std::move(whole));
    }
    gather_faces(plan_, std::move(outlines));
  }

 private:
  struct Part {
    std::size_t use = 0;
    double begin = 0;  // in the direction of the use
    double end = 0;
    bool gap = false;
  };

  std::vector<Part> parts_of(const LoopPlan& loop) const {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < loop.uses.size(); ++i) {
      const Use& use = loop.uses[i];
      const EdgePlan& edge = *plans_.edges[use.edge];
      std::vector<double> ends{edge.first};
      ends.insert(ends.end(), edge.cuts.begin(), edge.cuts.end());
      ends.push_back(edge.last);
      if (use.reversed) std::ranges::reverse(ends);
      for (std::size_t k = 0; k + 1 < ends.size(); ++k) parts.push_back({i, ends[k], ends[k + 1]});
      if (use.gap != nullptr) parts.push_back({.use = i, .gap = true});
    }
    return parts;
  }

  std::size_t cut_index(const Crossing& crossing, const Use& use) const {
    const std::vector<double>& cuts = plans_.edges[use.edge]->cuts;
    const auto nearest = std::ranges::min_element(
        cuts, {}, [&](double each) { return std::abs(each - crossing.t); });
    if (nearest == cuts.end()) throw CannotMake("an edge was not cut");
    return static_cast<std::size_t>(nearest - cuts.begin());
  }

  // The part that begins at a crossing.
  std::size_t part_at(const std::vector<Part>& parts, const LoopPlan& loop,
                      const Crossing& crossing) const {
    const Use& use = loop.uses[crossing.use];
    const EdgePlan& edge = *plans_.edges[use.edge];
    const double t =
        crossing.inside ? edge.cuts[cut_index(crossing, use)] : use.begin_parameter(edge);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].use == crossing.use && !parts[i].gap && parts[i].begin == t) return i;
    }
    throw CannotMake("an edge was not cut");
  }

  gp_Pnt2d middle(const LoopPlan& loop, const Part& part) const {
    return loop.uses[part.use].value((part.begin + part.end) / 2);
  }
  // Whole turns that bring a part into the strip.
  gp_Vec2d into_strip(const LoopPlan& loop, const Part& part) const {
    const double a = coordinate(middle(loop, part), axis_);
    const double by = -std::floor((a - plan_.seam) / period_) * period_;
    return axis_ == 0 ? gp_Vec2d(by, 0) : gp_Vec2d(0, by);
  }

  void append(const LoopPlan& loop, const Part& part, const gp_Vec2d& by, Outline& outline) {
    const Use& use = loop.uses[part.use];
    if (part.gap) {
      const double along = use.gap->axis == 1 ? by.X() : by.Y();
      outline.wire.push_back(
          pole_piece(plans_, plan_, *use.gap, use.gap_from + along, use.gap_to + along));
      return;
    }
    const EdgePlan& edge = *plans_.edges[use.edge];
    Piece piece;
    piece.edge = use.edge;
    piece.reversed = use.reversed;
    const double low = std::min(part.begin, part.end);
    const double high = std::max(part.begin, part.end);
    while (piece.index < edge.cuts.size() && edge.cuts[piece.index] <= low) ++piece.index;
    piece.pcurve = pcurve_of(use.track, low, high, use.by + by);
    outline.wire.push_back(std::move(piece));
    constexpr int kSteps = 12;
    for (int i = 0; i <= kSteps; ++i) {
      const double t = part.begin + (part.end - part.begin) * i / kSteps;
      outline.polygon.push_back(use.value(t).Translated(by));
    }
  }

  void cut_loop(std::size_t index) {
    const LoopPlan& loop = plan_.loops[index];
    const std::vector<Part> parts = parts_of(loop);
    std::vector<std::pair<std::size_t, std::size_t>> starts;  // part, crossing
    for (std::size_t i = 0; i < plan_.crossings.size(); ++i) {
      const Crossing& each = plan_.crossings[i];
      if (each.loop == index) starts.emplace_back(part_at(parts, loop, each), i);
    }
    std::ranges::sort(starts);
    if (starts.empty()) {
      Outline outline;
      const gp_Vec2d by = into_strip(loop, parts.front());
      for (const Part& each : parts) append(loop, each, by, outline);
      closed_.push_back(std::move(outline));
      return;
    }
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const auto [begin, from] = starts[k];
      const auto [end, to] = starts[(k + 1) % starts.size()];
      Link link;
      link.to = {plan_.crossings[to].direction > 0 ? 1 : 0, to};
      gp_Vec2d by = into_strip(loop, parts[begin]);
      std::size_t i = begin;
      do {
        append(loop, parts[i], by, link.outline);
        if (++i == parts.size()) {
          // The loop begins anew as many turns further on.
          i = 0;
          by +=
              gp_Vec2d(loop.turns[0] * plan_.form.period[0], loop.turns[1] * plan_.form.period[1]);
        }
      } while (i != end);
      add({plan_.crossings[from].direction > 0 ? 0 : 1, from}, std::move(link));
    }
  }

  void add(const Key& from, Link link) {
    if (!links_.emplace(from, std::move(link)).second) {
      throw CannotMake("two of its edges meet on the seam");
    }
  }

  Node node_of(const Crossing& crossing) const {
    const Use& use = plan_.loops[crossing.loop].uses[crossing.use];
    const EdgePlan& edge = *plans_.edges[use.edge];
    if (crossing.inside) return {Node::Sort::kCut, use.edge, cut_index(crossing, use)};
    return {Node::Sort::kRecord, use.reversed ? edge.high : edge.low, 0};
  }

  gp_Pnt2d on(double a, double b) const { return axis_ == 0 ? gp_Pnt2d(a, b) : gp_Pnt2d(b, a); }

  // The side that is a point, at one end of the other coordinate.
  const Singular& pole(bool high) const {
    for (const Singular& each : plan_.form.singular) {
      if (each.axis == 1 - axis_ && each.high == high) return each;
    }
    throw CannotMake("it goes on beyond its loops");
  }

  // The seam between two places inside the face; both uses of it.
  void add_seam(const Key& low_key, const Node& low, double from, const Key& high_key,
                const Node& high, double to) {
    OwnEdge own;
    own.curve =
        axis_ == 0 ? plan_.form.surface->UIso(plan_.seam) : plan_.form.surface->VIso(plan_.seam);
    if (const auto part = Handle(Geom_TrimmedCurve)::DownCast(own.curve); !part.IsNull()) {
      own.curve = part->BasisCurve();
    }
    own.first = from;
    own.last = to;
    own.low = low;
    own.high = high;
    const gp_Dir2d along = axis_ == 0 ? gp_Dir2d(0, 1) : gp_Dir2d(1, 0);
    const Handle(Geom2d_Curve) left = new Geom2d_Line(on(plan_.seam, 0), along);
    const Handle(Geom2d_Curve) right = new Geom2d_Line(on(plan_.seam + period_, 0), along);
    // Upwards on the right, if the seam cuts u: so the face is on the left.
    own.forward = sign_ > 0 ? right : left;
    own.backward = sign_ > 0 ? left : right;
    plan_.own.push_back(own);
    for (const int side : {0, 1}) {
      const bool up = (side == 1) == (sign_ > 0);
      Link link;
      link.outline.wire.push_back({.own = true, .index = plan_.own.size() - 1, .reversed = !up});
      const double a = plan_.seam + side * period_;
      link.outline.polygon = {on(a, up ? from : to), on(a, up ? to : from)};
      const Key bottom{side, low_key.place};
      const Key top{side, high_key.place};
      link.to = up ? top : bottom;
      add(up ? bottom : top, std::move(link));
    }
  }

  Node add_pole(bool high) {
    const Singular& singular = pole(high);
    // At the upper end of v from right to left, so that the face is on the left; u the other way.
    const bool from_right = high == (sign_ > 0);
    const double left = plan_.seam;
    const double right = plan_.seam + period_;
    Link link;
    const double from = from_right ? right : left;
    const double to = from_right ? left : right;
    link.outline.wire.push_back(pole_piece(plans_, plan_, singular, from, to));
    link.outline.polygon = {on(from, singular.value), on(to, singular.value)};
    const std::size_t place = high ? kHighPole : kLowPole;
    link.to = {from_right ? 0 : 1, place};
    add({from_right ? 1 : 0, place}, std::move(link));
    return plan_.own.back().low;
  }

  void add_seams() {
    std::vector<std::size_t> order(plan_.crossings.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return plan_.crossings[i].along; });
    const auto inside_above = [&](std::size_t i) {
      return plan_.crossings[i].direction * sign_ > 0;
    };
    if (order.empty()) {
      const Node low = add_pole(false);
      const Node high = add_pole(true);
      add_seam({0, kLowPole}, low, pole(false).value, {0, kHighPole}, high, pole(true).value);
      return;
    }
    std::size_t i = 0;
    if (!inside_above(order[0])) {
      const Node low = add_pole(false);
      const Crossing& first = plan_.crossings[order[0]];
      add_seam({0, kLowPole}, low, pole(false).value, {0, order[0]}, node_of(first), first.along);
      i = 1;
    }
    for (; i < order.size(); i += 2) {
      const Crossing& from = plan_.crossings[order[i]];
      if (!inside_above(order[i])) throw CannotMake("its loops lie on the wrong sides of it");
      if (i + 1 == order.size()) {
        const Node high = add_pole(true);
        add_seam({0, order[i]}, node_of(from), from.along, {0, kHighPole}, high, pole(true).value);
        return;
      }
      const Crossing& to = plan_.crossings[order[i + 1]];
      if (inside_above(order[i + 1])) throw CannotMake("its loops lie on the wrong sides of it");
      add_seam({0, order[i]}, node_of(from), from.along, {0, order[i + 1]}, node_of(to), to.along);
    }
  }

  const Plans& plans_;
  FacePlan& plan_;
  int axis_;
  int sign_;
  double period_;
  std::map<Key, Link> links_;
  std::vector<Outline> closed_;
};

// All of a surface that closes both ways, but holes: the rectangle of both seams.
void cut_both(const Plans& plans, FacePlan& plan) {
  const double u = plan.seam;
  const double v = plan.other_seam;
  const double u_end = u + plan.form.period[0];
  const double v_end = v + plan.form.period[1];
  plan.points.push_back(plan.form.surface->Value(u, v));
  const Node corner{.sort = Node::Sort::kOwn};
  OwnEdge along_u{.curve = plan.form.surface->VIso(v),
                  .first = u,
                  .last = u_end,
                  .low = corner,
                  .high = corner,
                  .forward = new Geom2d_Line(gp_Pnt2d(0, v), gp_Dir2d(1, 0)),
                  .backward = new Geom2d_Line(gp_Pnt2d(0, v_end), gp_Dir2d(1, 0))};
  OwnEdge along_v{.curve = plan.form.surface->UIso(u),
                  .first = v,
                  .last = v_end,
                  .low = corner,
                  .high = corner,
                  .forward = new Geom2d_Line(gp_Pnt2d(u_end, 0), gp_Dir2d(0, 1)),
                  .backward = new Geom2d_Line(gp_Pnt2d(u, 0), gp_Dir2d(0, 1))};
  plan.own = {along_u, along_v};
  std::vector<WirePlan> wires{{{.own = true, .index = 0},
                               {.own = true, .index = 1},
                               {.own = true, .index = 0, .reversed = true},
                               {.own = true, .index = 1, .reversed = true}}};
  for (const LoopPlan& loop : plan.loops) {
    const gp_Pnt2d at = polygon_of(loop).front();
    const gp_Vec2d by(-std::floor((at.X() - u) / plan.form.period[0]) * plan.form.period[0],
                      -std::floor((at.Y() - v) / plan.form.period[1]) * plan.form.period[1]);
    WirePlan wire;
    for (const Use& use : loop.uses) {
      std::ranges::move(pieces_of(plans, plan, use, by), std::back_inserter(wire));
    }
    wires.push_back(std::move(wire));
  }
  plan.faces.push_back(std::move(wires));
}

}  // namespace

void cut_at_seam(const Plans& plans, FacePlan& plan) {
  if (plan.axis == 2) {
    cut_both(plans, plan);
  } else {
    Cutter(plans, plan).make();
  }
}

}  // namespace sat::shapes

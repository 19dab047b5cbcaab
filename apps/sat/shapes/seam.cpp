// The seam of a face on a surface that closes. A file has none: two circles bound a cylinder. Open
// CASCADE wants loops that are closed in the plane of u and v, so a face whose loops turn around
// the surface, or that holds all of it but holes, is cut along a line on which a coordinate is
// constant; edges that cross the line are cut there.
#include <algorithm>
#include <cmath>
#include <map>

#include <Geom2d_Line.hxx>
#include <Geom_BSplineSurface.hxx>
#include <Geom_TrimmedCurve.hxx>
#include <gp_Dir2d.hxx>

#include "plan.hpp"

namespace sat::shapes {
namespace {

constexpr double kOn = 1e-7;    // of a period: so near is on the seam
constexpr double kNear = 2e-6;  // millimetres: so near is at the vertex

// A place on the way around a loop.
struct Step {
  double a = 0;  // the coordinate that the seam cuts
  std::size_t use = 0;
  double t = 0;
  bool begin = false;  // of its use
  bool end = false;
};

std::vector<Step> steps_of(const Plans& plans, const LoopPlan& loop, int axis) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < loop.uses.size(); ++i) {
    const Use& use = loop.uses[i];
    const EdgePlan& edge = *plans.edges[use.edge];
    const auto& samples = use.track.samples;
    for (std::size_t k = 0; k < samples.size(); ++k) {
      const double t = samples[use.reversed ? samples.size() - 1 - k : k].t;
      steps.push_back({coordinate(use.value(t), axis), i, t, k == 0, k + 1 == samples.size()});
    }
    (void)edge;
  }
  return steps;
}

struct Scan {
  double cost = 0;
  std::vector<Crossing> crossings;
};

class Scanner {
 public:
  Scanner(const Plans& plans, const FacePlan& plan, int axis)
      : plans_(plans), plan_(plan), axis_(axis),
        period_(plan.form.period[static_cast<std::size_t>(axis)]) {
    for (const LoopPlan& each : plan.loops) steps_.push_back(steps_of(plans, each, axis));
  }

  Scan all(double seam) const {
    Scan result;
    for (std::size_t i = 0; i < plan_.loops.size(); ++i) one(i, seam, result);
    return result;
  }

  // Values that the seam may have: at vertices of loops that turn around, and between them.
  std::vector<double> candidates() const {
    std::vector<double> values;
    for (std::size_t i = 0; i < plan_.loops.size(); ++i) {
      if (plan_.loops[i].turns[static_cast<std::size_t>(axis_)] == 0) continue;
      for (const Step& each : steps_[i]) {
        if (each.begin) values.push_back(each.a);
      }
    }
    if (values.size() > 24) values.resize(24);
    for (int i = 0; i < 8; ++i) values.push_back(period_ * (0.0371 + i / 8.0));
    for (const double each : gaps()) values.push_back(each);
    return values;
  }

 private:
  // The middles of ranges that no loop without a turn reaches.
  std::vector<double> gaps() const {
    std::vector<std::pair<double, double>> covered;
    for (std::size_t i = 0; i < plan_.loops.size(); ++i) {
      if (plan_.loops[i].turns[static_cast<std::size_t>(axis_)] != 0) continue;
      const auto [low, high] = std::ranges::minmax(steps_[i], {}, &Step::a);
      const double shift = std::floor(low.a / period_) * period_;
      covered.emplace_back(low.a - shift, high.a - shift);
      covered.emplace_back(low.a - shift - period_, high.a - shift - period_);
    }
    std::ranges::sort(covered);
    std::vector<double> values;
    double reached = -period_;
    for (const auto& [low, high] : covered) {
      if (low > reached && low > -period_) values.push_back((std::max(reached, 0.0) + low) / 2);
      reached = std::max(reached, high);
    }
    if (reached < period_) values.push_back((std::max(reached, 0.0) + period_) / 2);
    if (covered.empty()) values.push_back(0);
    return values;
  }

  void one(std::size_t loop, double seam, Scan& result) const {
    const std::vector<Step>& steps = steps_[loop];
    const LoopPlan& plan = plan_.loops[loop];
    const auto turn = static_cast<double>(plan.turns[static_cast<std::size_t>(axis_)]);
    const std::size_t size = steps.size();
    const auto place = [&](std::size_t i) {
      return (steps[i % size].a - seam) / period_ + (i >= size ? turn : 0);
    };
    const auto on = [&](double f) { return std::abs(f - std::round(f)) < kOn; };
    std::size_t start = 0;
    while (start < size && on(place(start))) ++start;
    if (start == size) {
      result.cost += 1000;
      return;
    }
    double cell = std::floor(place(start));
    std::vector<std::size_t> between;
    for (std::size_t i = start + 1; i <= start + size; ++i) {
      const double f = place(i);
      if (on(f)) {
        between.push_back(i % size);
        continue;
      }
      const double next = std::floor(f);
      if (next != cell) {
        cross(loop, between, (i - 1) % size, i % size, next > cell ? 1 : -1,
              std::max(next, cell), seam, result);
        if (std::abs(next - cell) > 1) result.cost += 1000;
        result.cost += 1;
      } else if (!between.empty()) {
        result.cost += 100;  // the seam touches a vertex
      }
      cell = next;
      between.clear();
    }
  }

  void cross(std::size_t loop, const std::vector<std::size_t>& between, std::size_t before,
             std::size_t after, int direction, double level, double seam, Scan& result) const {
    const std::vector<Step>& steps = steps_[loop];
    const LoopPlan& plan = plan_.loops[loop];
    Crossing crossing{.loop = loop, .direction = direction};
    if (between.empty()) {
      if (steps[before].use != steps[after].use) {
        result.cost += 1000;  // inside a side that is a point
        return;
      }
      const Use& use = plan.uses[steps[before].use];
      crossing.use = steps[before].use;
      crossing.inside = true;
      crossing.t = root(use, steps[before].t, steps[after].t, seam, level);
      result.cost += 0.5;
      snap(plan, crossing);
    } else {
      const Step& first = steps[between.front()];
      const Step& last = steps[between.back()];
      // One place: the end of a use and the beginning of the next, or a sample.
      if (first.use == last.use && between.size() == 1 && !first.begin && !first.end) {
        crossing.use = first.use;
        crossing.inside = true;
        crossing.t = first.t;
        result.cost += 0.5;
      } else {
        if (between.size() > 2 || !last.begin) result.cost += 200;  // along the seam
        crossing.use = last.begin ? last.use : (last.use + 1) % plan.uses.size();
      }
    }
    const Use& use = plan.uses[crossing.use];
    const double t = crossing.inside ? crossing.t
                                     : use.begin_parameter(*plans_.edges[use.edge]);
    crossing.along = coordinate(use.value(t), 1 - axis_);
    result.crossings.push_back(crossing);
  }

  // A crossing at a vertex, or nearly.
  void snap(const LoopPlan& plan, Crossing& crossing) const {
    const Use& use = plan.uses[crossing.use];
    const EdgePlan& edge = *plans_.edges[use.edge];
    const gp_Pnt point = edge.curve->Value(crossing.t);
    const double begin = use.begin_parameter(edge);
    const double end = use.end_parameter(edge);
    if (point.Distance(edge.curve->Value(begin)) < kNear) {
      crossing.inside = false;
    } else if (point.Distance(edge.curve->Value(end)) < kNear) {
      crossing.inside = false;
      crossing.use = (crossing.use + 1) % plan.uses.size();
    }
    if (std::abs(crossing.t - begin) > std::abs(edge.last - edge.first) / 4 &&
        std::abs(crossing.t - end) > std::abs(edge.last - edge.first) / 4) {
      crossing.inside = true;  // a closed edge that comes by its vertex
    }
  }

  double root(const Use& use, double t0, double t1, double seam, double level) const {
    // The loop may be turns away from where it was placed: the nearest level of this stretch.
    const double a0 = coordinate(use.value(t0), axis_);
    const double a1 = coordinate(use.value(t1), axis_);
    double target = seam + level * period_;
    target += std::round(((a0 + a1) / 2 - target) / period_) * period_;
    double low = t0;
    double high = t1;
    for (int i = 0; i < 80; ++i) {
      const double middle = (low + high) / 2;
      const bool same = (coordinate(use.value(middle), axis_) > target) == (a0 > target);
      (same ? low : high) = middle;
    }
    return (low + high) / 2;
  }

  const Plans& plans_;
  const FacePlan& plan_;
  int axis_;
  double period_;
  std::vector<std::vector<Step>> steps_;
};

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
      : plans_(plans), plan_(plan), axis_(plan.axis), sign_(plan.axis == 0 ? 1 : -1),
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
    const double t = crossing.inside ? edge.cuts[cut_index(crossing, use)] : use.begin_parameter(edge);
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
      const gp_Vec2d by = into_strip(loop, parts[begin]);
      std::size_t i = begin;
      do {
        append(loop, parts[i], by, link.outline);
        i = (i + 1) % parts.size();
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

  gp_Pnt2d on(double a, double b) const {
    return axis_ == 0 ? gp_Pnt2d(a, b) : gp_Pnt2d(b, a);
  }

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
    own.curve = axis_ == 0 ? plan_.form.surface->UIso(plan_.seam)
                           : plan_.form.surface->VIso(plan_.seam);
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
      link.outline.wire.push_back(
          {.own = true, .index = plan_.own.size() - 1, .reversed = !up});
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
        add_seam({0, order[i]}, node_of(from), from.along, {0, kHighPole}, high,
                 pole(true).value);
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
  OwnEdge along_u{.curve = plan.form.surface->VIso(v), .first = u, .last = u_end, .low = corner,
                  .high = corner, .forward = new Geom2d_Line(gp_Pnt2d(0, v), gp_Dir2d(1, 0)),
                  .backward = new Geom2d_Line(gp_Pnt2d(0, v_end), gp_Dir2d(1, 0))};
  OwnEdge along_v{.curve = plan.form.surface->UIso(u), .first = v, .last = v_end, .low = corner,
                  .high = corner, .forward = new Geom2d_Line(gp_Pnt2d(u_end, 0), gp_Dir2d(0, 1)),
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

void cut_at_seam(const Plans& plans, FacePlan& plan) {
  if (plan.axis == 2) {
    cut_both(plans, plan);
  } else {
    Cutter(plans, plan).make();
  }
}

}  // namespace sat::shapes

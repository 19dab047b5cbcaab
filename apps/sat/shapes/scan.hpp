// The crossings of a face's loops with a line on which a coordinate is constant, for each possible
// value of a seam.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "plan.hpp"

namespace sat::shapes {

inline constexpr double kOn = 1e-7;    // of a period: so near is on the seam
inline constexpr double kNear = 2e-6;  // millimetres: so near is at the vertex

// A place on the way around a loop.
struct Step {
  double a = 0;  // the coordinate that the seam cuts
  std::size_t use = 0;
  double t = 0;
  bool begin = false;  // of its use
  bool end = false;
};

inline std::vector<Step> steps_of(const LoopPlan& loop, int axis) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < loop.uses.size(); ++i) {
    const Use& use = loop.uses[i];
    const auto& samples = use.track.samples;
    for (std::size_t k = 0; k < samples.size(); ++k) {
      const double t = samples[use.reversed ? samples.size() - 1 - k : k].t;
      steps.push_back({coordinate(use.value(t), axis), i, t, k == 0, k + 1 == samples.size()});
    }
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
      : plans_(plans),
        plan_(plan),
        axis_(axis),
        period_(plan.form.period[static_cast<std::size_t>(axis)]) {
    for (const LoopPlan& each : plan.loops) steps_.push_back(steps_of(each, axis));
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
        cross(loop, between, (i - 1) % size, i % size, next > cell ? 1 : -1, std::max(next, cell),
              seam, result);
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
    const double t = crossing.inside ? crossing.t : use.begin_parameter(*plans_.edges[use.edge]);
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

}  // namespace sat::shapes

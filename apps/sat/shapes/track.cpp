// The definitions.
#include "track.hpp"

#include <algorithm>
#include <cmath>

#include <TColStd_Array1OfReal.hxx>

namespace sat::shapes {
namespace {

constexpr double kFit = 1e-7;        // millimetres
constexpr std::size_t kMost = 3000;  // samples of a track

double wrapped(double difference, double period) {
  return difference - std::round(difference / period) * period;
}

class Tracker {
 public:
  Tracker(const SurfaceForm& form, Inverse& inverse, const GeomAdaptor_Curve& curve)
      : form_(form), inverse_(inverse), curve_(curve) {}

  Track make(double first, double last) {
    sample(first, last);
    mark_ends();
    const double least = distance_of_curve();
    track_.straight = is_straight(2 * least + kFit);
    if (track_.straight) return std::move(track_);
    for (std::size_t i = 0; i < track_.samples.size(); ++i) set_derivatives(i);
    refine(1.5 * least + kFit);
    return std::move(track_);
  }

 private:
  std::vector<double> parameters(double first, double last) const {
    std::vector<double> t{first};
    // Breaks of the curve's second derivative, and some between them.
    std::vector<double> breaks{first};
    if (curve_.GetType() == GeomAbs_BSplineCurve) {
      TColStd_Array1OfReal all(1, curve_.NbIntervals(GeomAbs_C2) + 1);
      curve_.Intervals(all, GeomAbs_C2);
      for (const double each : all) {
        if (each > first + 1e-9 * (last - first) && each < last - 1e-9 * (last - first)) {
          breaks.push_back(each);
        }
      }
    }
    breaks.push_back(last);
    const std::size_t spans = breaks.size() - 1;
    const std::size_t parts = curve_.GetType() == GeomAbs_Line ? 8
                              : spans > 40                     ? 3
                              : spans > 8                      ? 6
                                                               : 16;
    for (std::size_t i = 0; i < spans; ++i) {
      for (std::size_t k = 1; k <= parts; ++k) {
        t.push_back(k == parts ? breaks[i + 1]
                               : breaks[i] + (breaks[i + 1] - breaks[i]) * static_cast<double>(k) /
                                                 static_cast<double>(parts));
      }
    }
    return t;
  }

  const Singular* singular_at(const gp_Pnt& point) const {
    for (const Singular& each : form_.singular) {
      if (each.point.Distance(point) < 1e-5) return &each;
    }
    return nullptr;
  }

  Track::Sample at(double t, const gp_Pnt2d* guess) {
    Track::Sample result;
    result.t = t;
    result.at = inverse_(curve_.Value(t), guess);
    if (guess == nullptr) return result;
    for (const int axis : {0, 1}) {
      const auto i = static_cast<std::size_t>(axis);
      if (!form_.closed[i]) continue;
      const double before = coordinate(*guess, axis);
      const double now = coordinate(result.at, axis);
      move(result.at, axis, before + wrapped(now - before, form_.period[i]) - now);
    }
    return result;
  }

  bool jumps(const gp_Pnt2d& a, const gp_Pnt2d& b) const {
    for (const int axis : {0, 1}) {
      const auto i = static_cast<std::size_t>(axis);
      if (form_.closed[i] &&
          std::abs(coordinate(a, axis) - coordinate(b, axis)) > 0.2 * form_.period[i]) {
        return true;
      }
    }
    return false;
  }

  // From the middle to both ends, which may be singular.
  void sample(double first, double last) {
    const std::vector<double> t = parameters(first, last);
    const std::size_t middle = t.size() / 2;
    std::vector<Track::Sample> up{at(t[middle], nullptr)};
    for (std::size_t i = middle + 1; i < t.size(); ++i) append(up, t[i], 0);
    std::vector<Track::Sample> down{up.front()};
    for (std::size_t i = middle; i-- > 0;) append(down, t[i], 0);
    track_.samples.assign(down.rbegin(), down.rend());
    track_.samples.insert(track_.samples.end(), up.begin() + 1, up.end());
  }

  void append(std::vector<Track::Sample>& to, double t, int depth) {
    const Track::Sample before = to.back();
    const Track::Sample next = at(t, &before.at);
    const bool singular = singular_at(curve_.Value(t)) != nullptr;
    if (depth < 12 && !singular && jumps(before.at, next.at)) {
      append(to, (before.t + t) / 2, depth + 1);
      append(to, t, depth + 1);
      return;
    }
    to.push_back(next);
  }

  // At a singular end one coordinate means nothing; it is what the samples beside it lead to.
  void mark_ends() {
    auto& all = track_.samples;
    track_.first = singular_at(curve_.Value(all.front().t));
    track_.last = singular_at(curve_.Value(all.back().t));
    if (track_.first != nullptr) lead(*track_.first, all[0], all[1], all[2]);
    if (track_.last != nullptr) {
      lead(*track_.last, all[all.size() - 1], all[all.size() - 2], all[all.size() - 3]);
    }
  }
  static void lead(const Singular& singular, Track::Sample& end, const Track::Sample& near,
                   const Track::Sample& far) {
    const int other = 1 - singular.axis;
    const double a = coordinate(near.at, other);
    const double slope = (a - coordinate(far.at, other)) / (near.t - far.t);
    move(end.at, other, a + slope * (end.t - near.t) - coordinate(end.at, other));
    move(end.at, singular.axis, singular.value - coordinate(end.at, singular.axis));
  }

  double deviation(double t, const gp_Pnt2d& p) const {
    return form_.surface->Value(p.X(), p.Y()).Distance(curve_.Value(t));
  }
  double distance_of_curve() const {
    double most = 0;
    for (std::size_t i = 1; i + 1 < track_.samples.size(); ++i) {
      most = std::max(most, deviation(track_.samples[i].t, track_.samples[i].at));
    }
    return most;
  }

  bool is_straight(double most) {
    Track line;
    line.straight = true;
    line.samples = {track_.samples.front(), track_.samples.back()};
    double worst = 0;
    const auto& all = track_.samples;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      for (const double t : {all[i].t, (all[i].t + all[i + 1].t) / 2}) {
        worst = std::max(worst, deviation(t, line.value(t)));
        if (worst > most) return false;
      }
    }
    track_.deviation = std::max(worst, deviation(all.back().t, all.back().at));
    return true;
  }

  gp_Vec2d slope(double t, const gp_Pnt2d& p, std::size_t i, std::size_t j) const {
    gp_Pnt point;
    gp_Vec along;
    curve_.D1(t, point, along);
    gp_Vec2d result;
    const auto& a = track_.samples[i];
    const auto& b = track_.samples[j];
    const gp_Vec2d chord = gp_Vec2d(a.at, b.at) / (b.t - a.t);
    if (singular_at(point) != nullptr || !derivative_at(form_, p, along, result)) return chord;
    return result;
  }

  void set_derivatives(std::size_t i) {
    auto& all = track_.samples;
    Track::Sample& mine = all[i];
    // A little inside, so that each side of a break has its own.
    const double before = i == 0 ? 0 : (mine.t - all[i - 1].t) * 1e-6;
    const double after = i + 1 == all.size() ? 0 : (all[i + 1].t - mine.t) * 1e-6;
    if (i > 0) mine.before = slope(mine.t - before, mine.at, i - 1, i);
    if (i + 1 < all.size()) mine.after = slope(mine.t + after, mine.at, i, i + 1);
    if (i == 0) mine.before = mine.after;
    if (i + 1 == all.size()) mine.after = mine.before;
    const gp_Vec2d difference = mine.after - mine.before;
    if (difference.Magnitude() < 1e-4 * mine.before.Magnitude()) {
      mine.after = mine.before = (mine.after + mine.before) / 2;
    }
  }

  void refine(double most) {
    auto& all = track_.samples;
    for (std::size_t i = 0; i + 1 < all.size();) {
      const double t = (all[i].t + all[i + 1].t) / 2;
      double worst = 0;
      for (const double part : {0.25, 0.5, 0.75}) {
        const double where = all[i].t + part * (all[i + 1].t - all[i].t);
        worst = std::max(worst, deviation(where, track_.value(where)));
      }
      const double width = (all[i + 1].t - all[i].t) / (all.back().t - all.front().t);
      if (worst > most && all.size() < kMost && width > 1e-5) {
        const gp_Pnt2d guess = track_.value(t);
        const auto place = all.begin() + static_cast<std::ptrdiff_t>(i) + 1;
        all.insert(place, at(t, &guess));
        set_derivatives(i + 1);
        continue;
      }
      track_.deviation = std::max(track_.deviation, worst);
      ++i;
    }
    for (const auto& each : all) {
      track_.deviation = std::max(track_.deviation, deviation(each.t, each.at));
    }
  }

  const SurfaceForm& form_;
  Inverse& inverse_;
  const GeomAdaptor_Curve& curve_;
  Track track_;
};

}  // namespace

Track track_of(const SurfaceForm& form, Inverse& inverse, const GeomAdaptor_Curve& curve,
               double first, double last) {
  return Tracker(form, inverse, curve).make(first, last);
}

}  // namespace sat::shapes

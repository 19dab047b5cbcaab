// A track as a curve of Open CASCADE: a line, or cubics that are joined.
#include <algorithm>
#include <array>
#include <cmath>

#include <Geom2d_BSplineCurve.hxx>
#include <Geom2d_Line.hxx>
#include <TColStd_Array1OfInteger.hxx>
#include <TColStd_Array1OfReal.hxx>
#include <TColgp_Array1OfPnt2d.hxx>
#include <gp_Dir2d.hxx>

#include "track.hpp"

namespace sat::shapes {
namespace {

// The four poles of the cubic between two samples.
std::array<gp_Pnt2d, 4> cubic(const Track::Sample& a, const Track::Sample& b) {
  const double third = (b.t - a.t) / 3;
  return {a.at, a.at.Translated(a.after * third), b.at.Translated(b.before * -third), b.at};
}

gp_Pnt2d between(const gp_Pnt2d& a, const gp_Pnt2d& b, double s) {
  return gp_Pnt2d(a.XY() * (1 - s) + b.XY() * s);
}

// Cuts a cubic at s; the first part, or the second.
std::array<gp_Pnt2d, 4> cut(const std::array<gp_Pnt2d, 4>& p, double s, bool second) {
  const gp_Pnt2d a = between(p[0], p[1], s);
  const gp_Pnt2d b = between(p[1], p[2], s);
  const gp_Pnt2d c = between(p[2], p[3], s);
  const gp_Pnt2d d = between(a, b, s);
  const gp_Pnt2d e = between(b, c, s);
  const gp_Pnt2d f = between(d, e, s);
  if (second) return {f, e, c, p[3]};
  return {p[0], a, d, f};
}

Handle(Geom2d_Curve)
    straight_pcurve(const Track& track, double first, double last, const gp_Vec2d& by) {
  const gp_Pnt2d a = track.value(first).Translated(by);
  const gp_Pnt2d b = track.value(last).Translated(by);
  const gp_Vec2d along = gp_Vec2d(a, b) / (last - first);
  if (std::abs(along.Magnitude() - 1) * (last - first) < 1e-10) {
    return new Geom2d_Line(a.Translated(along * -first), gp_Dir2d(along));
  }
  TColgp_Array1OfPnt2d poles(1, 2);
  poles(1) = a;
  poles(2) = b;
  TColStd_Array1OfReal knots(1, 2);
  knots(1) = first;
  knots(2) = last;
  TColStd_Array1OfInteger multiplicities(1, 2);
  multiplicities.Init(2);
  return new Geom2d_BSplineCurve(poles, knots, multiplicities, 1);
}

}  // namespace

gp_Pnt2d Track::value(double t) const {
  if (straight) {
    const Sample& a = samples.front();
    const Sample& b = samples.back();
    return between(a.at, b.at, (t - a.t) / (b.t - a.t));
  }
  const auto after = std::upper_bound(samples.begin() + 1, samples.end() - 1, t,
                                      [](double x, const Sample& each) { return x < each.t; });
  const Sample& b = *after;
  const Sample& a = *(after - 1);
  return cut(cubic(a, b), std::clamp((t - a.t) / (b.t - a.t), 0.0, 1.0), false)[3];
}

Handle(Geom2d_Curve) pcurve_of(const Track& track, double first, double last, const gp_Vec2d& by) {
  if (track.straight) return straight_pcurve(track, first, last, by);
  struct Span {
    double begin;
    double end;
    std::array<gp_Pnt2d, 4> poles;
    bool smooth;  // goes on from the one before without a kink
  };
  std::vector<Span> spans;
  const double least = 1e-9 * (last - first);
  for (std::size_t i = 0; i + 1 < track.samples.size(); ++i) {
    const Track::Sample& a = track.samples[i];
    const Track::Sample& b = track.samples[i + 1];
    if (b.t <= first + least || a.t >= last - least) continue;
    Span span{a.t, b.t, cubic(a, b), a.before.XY().IsEqual(a.after.XY(), 0) != 0};
    if (span.end > last) {
      span.poles = cut(span.poles, (last - a.t) / (b.t - a.t), false);
      span.end = last;
    }
    if (span.begin < first) {
      span.poles = cut(span.poles, (first - a.t) / (span.end - a.t), true);
      span.begin = first;
    }
    spans.push_back(span);
  }
  spans.front().begin = first;
  spans.back().end = last;
  std::vector<gp_Pnt2d> poles{spans.front().poles[0]};
  std::vector<double> knots{first};
  std::vector<int> multiplicities{4};
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    if (i > 0) {
      // A smooth join needs no pole of its own.
      if (span.smooth) {
        poles.pop_back();
      }
      knots.push_back(span.begin);
      multiplicities.push_back(span.smooth ? 2 : 3);
    }
    poles.insert(poles.end(), span.poles.begin() + 1, span.poles.end());
  }
  knots.push_back(last);
  multiplicities.push_back(4);
  TColgp_Array1OfPnt2d all(1, static_cast<int>(poles.size()));
  for (std::size_t i = 0; i < poles.size(); ++i) {
    all(static_cast<int>(i + 1)) = poles[i].Translated(by);
  }
  TColStd_Array1OfReal values(1, static_cast<int>(knots.size()));
  TColStd_Array1OfInteger times(1, static_cast<int>(knots.size()));
  for (std::size_t i = 0; i < knots.size(); ++i) {
    values(static_cast<int>(i + 1)) = knots[i];
    times(static_cast<int>(i + 1)) = multiplicities[i];
  }
  return new Geom2d_BSplineCurve(all, values, times, 3);
}

}  // namespace sat::shapes

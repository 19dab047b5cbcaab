// The definitions, long because all sorts of solids are here. Normals point outwards, and loops run
// with the material on their left.
#include "solids.hpp"

#include <cmath>
#include <functional>
#include <numbers>

#include "students/random.hpp"

namespace sat {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr const char* kNoBounds = "I I I I ";

// Numbers of one solid, in the order in which they are asked for.
class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t number) : stream_(seed, number) {}
  double between(double low, double high) {
    const auto bits = static_cast<double>(stream_.draw(next_++) >> 11);
    return low + (high - low) * bits * 0x1p-53;
  }
  std::uint64_t below(std::uint64_t bound) { return stream_.draw(next_++) % bound; }

 private:
  students::Stream stream_;
  std::uint64_t next_ = 0;
};

std::string plane(const Position& origin, const Position& normal, const Position& u) {
  return text_of(origin) + text_of(normal) + text_of(u) + "forward_v " + kNoBounds;
}

// A circle about the axis, counter-clockwise seen from its end; `start` is where the angle is 0.
struct Circle {
  std::size_t edge;
  Position centre;
};
Circle add_circle(Solid& solid, const Placement& place, const Position& centre, double radius) {
  const Position at = place.point(centre);
  const Position major = radius * place.direction({1, 0, 0});
  const std::size_t vertex = solid.vertex(at + major);
  const std::string data = text_of(at) + text_of(Position{0, 0, 1}) + text_of(major) + "1 I I ";
  return {solid.edge(vertex, 0, vertex, kTurn, "ellipse-curve", data), at};
}

// The surface of a cylinder or cone through a circle; the radius grows upwards with the sine.
std::string cone(const Placement& place, const Position& centre, double radius, double sine) {
  return text_of(place.point(centre)) + text_of(Position{0, 0, 1}) +
         text_of(radius * place.direction({1, 0, 0})) + "1 I I " + text_of(sine) +
         text_of(std::sqrt(1 - sine * sine)) + text_of(radius) + "forward " + kNoBounds;
}

constexpr double square(double x) { return x * x; }

// The side face of a solid of revolution between two circles, and its caps.
void add_revolved(Solid& solid, const Placement& place, double low, double high, double height) {
  const Circle bottom = add_circle(solid, place, {0, 0, 0}, low);
  const double sine = (high - low) / std::hypot(high - low, height);
  const Position u = place.direction({1, 0, 0});
  solid.face("plane-surface", plane(bottom.centre, {0, 0, -1}, u), false, {{{bottom.edge, true}}});
  std::vector<Ring> rings{{{bottom.edge, false}}};
  if (high > 0) {
    const Circle top = add_circle(solid, place, {0, 0, height}, high);
    rings.push_back({{top.edge, true}});
    solid.face("plane-surface", plane(top.centre, {0, 0, 1}, u), false, {{{top.edge, false}}});
  } else {
    const std::size_t apex = solid.vertex(place.point({0, 0, height}));
    rings.push_back({{solid.edge(apex, 0, apex, 0, "", ""), false}});
  }
  solid.face("cone-surface", cone(place, {0, 0, 0}, low, sine), false, rings);
  solid.measures(
      kTurn / 6 * height * (square(low) + low * high + square(high)),
      kTurn / 2 * ((low + high) * std::hypot(low - high, height) + square(low) + square(high)));
}

Solid cylinder(Dice& dice, const Placement& place, std::size_t) {
  Solid solid;
  const double radius = dice.between(1, 5);
  add_revolved(solid, place, radius, radius, dice.between(1, 9));
  return solid;
}

Solid frustum(Dice& dice, const Placement& place, std::size_t) {
  Solid solid;
  const double radius = dice.between(1, 5);
  add_revolved(solid, place, radius, radius * dice.between(0.2, 0.8), dice.between(1, 9));
  return solid;
}

Solid pointed_cone(Dice& dice, const Placement& place, std::size_t) {
  Solid solid;
  add_revolved(solid, place, dice.between(1, 5), 0, dice.between(1, 9));
  return solid;
}

Solid sphere(Dice& dice, const Placement& place, std::size_t) {
  Solid solid;
  const double radius = dice.between(1, 5);
  solid.face("sphere-surface",
             text_of(place.origin) + text_of(radius) + text_of(place.direction({1, 0, 0})) +
                 text_of(Position{0, 0, 1}) + "forward_v " + kNoBounds,
             false, {});
  solid.measures(2 * kTurn / 3 * radius * square(radius), 2 * kTurn * square(radius));
  return solid;
}

Solid torus(Dice& dice, const Placement& place, std::size_t) {
  Solid solid;
  const double minor = dice.between(0.5, 2);
  const double major = minor + dice.between(1, 4);
  solid.face("torus-surface",
             text_of(place.origin) + text_of(Position{0, 0, 1}) + text_of(major) + text_of(minor) +
                 text_of(place.direction({1, 0, 0})) + "forward_v " + kNoBounds,
             false, {});
  solid.measures(square(kTurn) / 2 * major * square(minor), square(kTurn) * major * minor);
  return solid;
}

// Corner i of a box: bit 0 x, bit 1 y, bit 2 z.
void add_corners(Solid& solid, const Placement& place, const Position& size) {
  for (unsigned i = 0; i < 8; ++i) {
    solid.vertex(place.point(
        {(i & 1U) != 0 ? size.x : 0, (i & 2U) != 0 ? size.y : 0, (i & 4U) != 0 ? size.z : 0}));
  }
}

Ring polygon(Solid& solid, const std::array<std::size_t, 4>& corners) {
  Ring ring;
  for (std::size_t i = 0; i < 4; ++i)
    ring.push_back(solid.straight(corners[i], corners[(i + 1) % 4]));
  return ring;
}

void add_plane_face(Solid& solid, std::vector<Ring> rings,
                    const std::array<std::size_t, 4>& corners) {
  const Position& origin = solid.position(corners[0]);
  Position u = solid.position(corners[1]) - origin;
  Position normal = cross(u, solid.position(corners[3]) - origin);
  u = (1 / length(u)) * u;
  normal = (1 / length(normal)) * normal;
  solid.face("plane-surface", plane(origin, normal, u), false, std::move(rings));
}

// Counter-clockwise seen from outside.
constexpr std::array<std::size_t, 4> kBottom{0, 2, 3, 1};
constexpr std::array<std::size_t, 4> kTop{4, 5, 7, 6};
constexpr std::array<std::array<std::size_t, 4>, 4> kSides{
    {{0, 1, 5, 4}, {1, 3, 7, 5}, {3, 2, 6, 7}, {2, 0, 4, 6}}};

Solid box(Dice& dice, const Placement& place, std::size_t) {
  Solid solid;
  const Position size{dice.between(8, 20), dice.between(4, 12), dice.between(1, 9)};
  add_corners(solid, place, size);
  std::vector<Ring> bottom{polygon(solid, kBottom)};
  std::vector<Ring> top{polygon(solid, kTop)};
  const std::uint64_t holes = dice.below(4);
  double volume = size.x * size.y * size.z;
  double area = 2 * (size.x * size.y + size.y * size.z + size.z * size.x);
  for (std::uint64_t i = 0; i < holes; ++i) {
    const double pitch = size.x / static_cast<double>(holes);
    const double radius = 0.3 * std::min(pitch, size.y) * dice.between(0.5, 1);
    volume -= kTurn / 2 * square(radius) * size.z;
    area += kTurn * radius * (size.z - radius);
    const Position low{(static_cast<double>(i) + 0.5) * pitch, size.y / 2, 0};
    const Circle below = add_circle(solid, place, low, radius);
    const Circle above = add_circle(solid, place, {low.x, low.y, size.z}, radius);
    bottom.push_back({{below.edge, false}});
    top.push_back({{above.edge, true}});
    solid.face("cone-surface", cone(place, low, radius, 0), true,
               {{{below.edge, true}}, {{above.edge, false}}});
  }
  for (const auto& side : kSides) add_plane_face(solid, {polygon(solid, side)}, side);
  add_plane_face(solid, std::move(bottom), kBottom);
  add_plane_face(solid, std::move(top), kTop);
  solid.measures(volume, area);
  return solid;
}

// Knots 0, 1/n .. 1 of a cubic with n spans, in both notations.
std::string cubic_knots(std::size_t spans) {
  std::string text = "\n\t";
  for (std::size_t i = 0; i <= spans; ++i) {
    text += text_of(static_cast<double>(i) / static_cast<double>(spans));
    text += i == 0 || i == spans ? "3 " : "1 ";
  }
  return text;
}

using Poles = std::vector<Position>;

std::string cubic_curve(const Poles& poles) {
  const std::size_t spans = poles.size() - 3;
  std::string text =
      "forward { exactcur full nubs 3 open " + std::to_string(spans + 1) + " " + cubic_knots(spans);
  for (const Position& each : poles) text += "\n\t" + text_of(each);
  return text +
         "\n\t0 \n\tnull_surface \n\tnull_surface \n\tnullbs \n\tnullbs \n\tI I \n\t0 \n\t0 \n\t0 "
         "\n\tF 1 F 0 } I I ";
}

std::string straight_pcurve(double u0, double v0, double u1, double v1, std::size_t surface) {
  return "0 forward { exppc nubs 1 open 2 \n\t0 1 1 1 \n\t" + text_of(u0) + text_of(v0) + "\n\t" +
         text_of(u1) + text_of(v1) + "\n\t0 \n\tspline forward { ref " + std::to_string(surface) +
         " } I I I I \n\t} 0 0 ";
}

// A block whose top is a bicubic surface: its boundary lies in the planes of the sides.
Solid block(Dice& dice, const Placement& place, std::size_t subtype) {
  Solid solid;
  const Position size{dice.between(8, 20), dice.between(8, 20), dice.between(4, 9)};
  add_corners(solid, place, size);
  const std::size_t count = 12 + dice.below(8);
  // Poles above the knots' averages, so that x and y are linear in u and v.
  std::vector<double> abscissae;
  const auto spans = static_cast<double>(count - 3);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::size_t knot = i + 1; knot <= i + 3; ++knot) {
      sum += std::clamp((static_cast<double>(knot) - 3) / spans, 0.0, 1.0);
    }
    abscissae.push_back(sum / 3);
  }
  // The integral of a basis function: a quarter of the span of its knots.
  const auto weight = [&](std::size_t i) {
    const auto knot = [&](std::size_t k) {
      return std::clamp((static_cast<double>(k) - 3) / spans, 0.0, 1.0);
    };
    return (knot(i + 4) - knot(i)) / 4;
  };
  double volume = 0;
  std::vector<Poles> rows;
  for (std::size_t j = 0; j < count; ++j) {
    Poles row;
    for (std::size_t i = 0; i < count; ++i) {
      const bool corner = (i == 0 || i == count - 1) && (j == 0 || j == count - 1);
      const double height = corner ? size.z : size.z * dice.between(0.6, 1.4);
      volume += height * weight(i) * weight(j);
      row.push_back(place.point({abscissae[i] * size.x, abscissae[j] * size.y, height}));
    }
    rows.push_back(row);
  }
  // u along x, v along y: the corners are 4, 5, 7, 6. Edges 4-5, 5-7, 6-7, 4-6 in the direction of
  // their parameter.
  Poles left;
  Poles right;
  for (const Poles& row : rows) {
    left.push_back(row.front());
    right.push_back(row.back());
  }
  // The table counts definitions in the order of the file: the surface comes first, then pcurves.
  const auto add_edge = [&](std::size_t from, std::size_t to, const Poles& poles) {
    return solid.edge(from, 0, to, 1, "intcurve-curve", cubic_curve(poles));
  };
  const std::size_t front = add_edge(4, 5, rows.front());
  const std::size_t east = add_edge(5, 7, right);
  const std::size_t back = add_edge(6, 7, rows.back());
  const std::size_t west = add_edge(4, 6, left);
  for (int i = 0; i < 9; ++i) solid.count_subtype();  // a surface, four curves, four pcurves
  std::string data = "forward { exactsur full nubs 3 3 open open none none " +
                     std::to_string(count - 2) + " " + std::to_string(count - 2) + " " +
                     cubic_knots(count - 3) + cubic_knots(count - 3);
  for (const Poles& row : rows) {
    for (const Position& each : row) data += "\n\t" + text_of(each);
  }
  data += "\n\t0 \n\t0 \n\t0 \n\t0 \n\t0 \n\t0 \n\t0 \n\tF 1 F 0 F 1 F 0 } I I I I ";
  solid.face("spline-surface", data, false,
             {{{front, false, straight_pcurve(0, 0, 1, 0, subtype)},
               {east, false, straight_pcurve(1, 0, 1, 1, subtype)},
               {back, true, straight_pcurve(0, 1, 1, 1, subtype)},
               {west, true, straight_pcurve(0, 0, 0, 1, subtype)}}});
  for (const auto& side : kSides) add_plane_face(solid, {polygon(solid, side)}, side);
  add_plane_face(solid, {polygon(solid, kBottom)}, kBottom);
  solid.measures(volume * size.x * size.y, 0);
  return solid;
}

using Maker = Solid (*)(Dice& dice, const Placement& place, std::size_t subtype);
// Boxes and blocks more often, as in mechanical parts.
constexpr std::array<Maker, 10> kMakers{box,          box,    box,   cylinder, frustum,
                                        pointed_cone, sphere, torus, block,    block};

}  // namespace

Solid make_solid(std::uint64_t seed, std::uint64_t number, std::size_t subtype) {
  Dice dice(seed, number);
  const double turn = dice.between(0, kTurn);
  // Bodies stand in a row far from one another.
  const Placement place{
      std::cos(turn),
      std::sin(turn),
      {static_cast<double>(number % 1000) * 50 + dice.between(0, 1),
       static_cast<double>(number / 1000) * 50 + dice.between(0, 1), dice.between(-5, 5)}};
  // The first ten are one of each, so that a small file has all.
  const Maker maker = kMakers[number < kMakers.size() ? number : dice.below(kMakers.size())];
  Solid solid = maker(dice, place, subtype);
  solid.colour({dice.between(0, 1), dice.between(0, 1), dice.between(0, 1)});
  return solid;
}

}  // namespace sat

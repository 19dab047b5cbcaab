// The objects of a file; long because all classes are here, each a few lines. Entity is the common
// part of all classes. A class has the fields of its record, in the order in which schema.hpp reads
// and writes them. References are indices of records.
//
// A field that a file may lack has a value for its absence: kNull (also written as $-1), kAbsent,
// kAbsentReal, Choice::kNone. Objects own no memory; texts lie in the bytes of the file.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace sat {

// Index of a record: its place in the file, whatever number it has there.
using Ref = std::uint32_t;
inline constexpr Ref kNull = std::numeric_limits<Ref>::max();

inline constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

// No file has a NaN, so two of them have meanings: a field that is absent, and a bound `I`, which
// is infinite or inherited.
inline constexpr double kAbsentReal = std::bit_cast<double>(std::uint64_t{0x7ff8000000000001});
inline constexpr double kInfinite = std::bit_cast<double>(std::uint64_t{0x7ff8000000000002});
inline bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// One of two words, such as forward and reversed; before version 400 written as 0 and 1.
enum class Choice : std::uint8_t { kFirst = 0, kSecond = 1, kNone = 2 };

struct Vector {
  double x = kAbsentReal;
  double y = kAbsentReal;
  double z = kAbsentReal;
};

// `F`, or `T` and six numbers; from version 1600 on.
struct Box {
  Choice given = Choice::kNone;
  Vector low;
  Vector high;
};

struct Bounds {
  double low = kAbsentReal;
  double high = kAbsentReal;
};

struct SurfaceBounds {
  Bounds u;
  Bounds v;
};

enum class Kind : std::uint8_t {
  kBody,
  kLump,
  kShell,
  kSubshell,
  kWire,
  kFace,
  kLoop,
  kCoedge,
  kEdge,
  kVertex,  //
  kPoint,
  kTransform,  //
  kPlane,
  kCone,
  kSphere,
  kTorus,
  kSpline,
  kOtherSurface,  //
  kStraight,
  kEllipse,
  kIntcurve,
  kOtherCurve,
  kPcurve,  //
  kAttribute,
  kUnknown,
};
inline constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::kUnknown) + 1;

struct Entity {
  std::uint32_t handles = 0;  // references that were counted, when they are
  Ref attribute = kNull;      // first of a list
  std::int64_t id = kAbsent;  // from version 700 on
  std::string_view rest;      // the text of fields outside of the schema
};

// The further common fields of topology and geometry.
struct Shaped : Entity {
  std::int64_t history = kAbsent;  // from version 1600 on, not in Autodesk's
  Ref pattern = kNull;             // from version 700 on
};

struct Body : Shaped {
  static constexpr Kind kKind = Kind::kBody;
  std::int64_t extra = kAbsent;  // from version 2800 on
  Ref lump = kNull;
  Ref wire = kNull;
  Ref transform = kNull;
  Box box;
};

struct Lump : Shaped {
  static constexpr Kind kKind = Kind::kLump;
  Ref next = kNull;
  Ref shell = kNull;
  Ref body = kNull;
  Box box;
};

struct Shell : Shaped {
  static constexpr Kind kKind = Kind::kShell;
  Ref next = kNull;
  Ref subshell = kNull;
  Ref face = kNull;
  Ref wire = kNull;  // from version 107 on
  Ref lump = kNull;
  Box box;
};

struct Subshell : Shaped {
  static constexpr Kind kKind = Kind::kSubshell;
  Ref owner = kNull;
  Ref next = kNull;
  Ref child = kNull;
  Ref face = kNull;
  Ref wire = kNull;
};

struct Wire : Shaped {
  static constexpr Kind kKind = Kind::kWire;
  Ref next = kNull;
  Ref coedge = kNull;
  Ref owner = kNull;
  Ref subshell = kNull;
  Choice side = Choice::kNone;  // out, in
  Box box;
};

struct Face : Shaped {
  static constexpr Kind kKind = Kind::kFace;
  Ref next = kNull;
  Ref loop = kNull;  // none: the whole of a closed surface
  Ref shell = kNull;
  Ref subshell = kNull;
  Ref surface = kNull;
  Choice sense = Choice::kNone;        // forward, reversed
  Choice sides = Choice::kNone;        // single, double
  Choice containment = Choice::kNone;  // out, in
  Box box;
  Choice has_parameters = Choice::kNone;  // F, T; from version 1000 on
  SurfaceBounds parameters;
};

struct Loop : Shaped {
  static constexpr Kind kKind = Kind::kLoop;
  Ref next = kNull;
  Ref coedge = kNull;
  Ref face = kNull;
  Box box;
};

struct Coedge : Shaped {
  static constexpr Kind kKind = Kind::kCoedge;
  Ref next = kNull;
  Ref previous = kNull;
  Ref partner = kNull;
  Ref edge = kNull;
  Ref owner = kNull;
  Ref pcurve = kNull;
  Choice sense = Choice::kNone;  // forward, reversed
  std::int64_t extra = kAbsent;  // Autodesk, from 22600 on
  Bounds range;                  // tcoedge
};

struct Edge : Shaped {
  static constexpr Kind kKind = Kind::kEdge;
  Ref start = kNull;
  Ref end = kNull;
  Ref coedge = kNull;
  Ref curve = kNull;  // none: a point, such as an apex
  double start_parameter = kAbsentReal;
  double end_parameter = kAbsentReal;
  Choice sense = Choice::kNone;  // forward, reversed
  std::string_view convexity;    // `unknown`, `tangent`; no data: absent
  Box box;
  double tolerance = kAbsentReal;  // tedge
};

struct Vertex : Shaped {
  static constexpr Kind kKind = Kind::kVertex;
  Ref edge = kNull;
  Ref point = kNull;
  std::int64_t extra = kAbsent;    // Autodesk, from 22600 on
  double tolerance = kAbsentReal;  // tvertex
};

struct Point : Shaped {
  static constexpr Kind kKind = Kind::kPoint;
  Vector position;
};

// p' = p * rotation * scale + translation, with row vectors.
struct Transform : Entity {
  static constexpr Kind kKind = Kind::kTransform;
  Vector rotation[3];
  Vector translation;
  double scale = kAbsentReal;
  Choice rotates = Choice::kNone;
  Choice reflects = Choice::kNone;
  Choice shears = Choice::kNone;
};

struct Plane : Shaped {
  static constexpr Kind kKind = Kind::kPlane;
  Vector origin;
  Vector normal;
  Vector u;                        // its length scales the parameter
  Choice v_sense = Choice::kNone;  // forward_v, reverse_v
  SurfaceBounds bounds;
};

// Cones and cylinders (sine 0), also elliptic ones.
struct Cone : Shaped {
  static constexpr Kind kKind = Kind::kCone;
  Vector origin;
  Vector axis;
  Vector major;
  double ratio = kAbsentReal;
  Bounds base;
  double sine = kAbsentReal;
  double cosine = kAbsentReal;
  double u_scale = kAbsentReal;  // from version 400 on
  Choice sense = Choice::kNone;  // forward, reversed
  SurfaceBounds bounds;
};

struct Sphere : Shaped {
  static constexpr Kind kKind = Kind::kSphere;
  Vector centre;
  double radius = kAbsentReal;  // negative: the normal points inwards
  Vector u;
  Vector pole;
  Choice v_sense = Choice::kNone;
  SurfaceBounds bounds;
};

struct Torus : Shaped {
  static constexpr Kind kKind = Kind::kTorus;
  Vector centre;
  Vector axis;
  double major = kAbsentReal;
  double minor = kAbsentReal;  // signed
  Vector u;
  Choice v_sense = Choice::kNone;
  SurfaceBounds bounds;
};

// `subtype` is a number in the table of the file's subtypes; that one has the data.
inline constexpr std::uint32_t kNoSubtype = std::numeric_limits<std::uint32_t>::max();

struct Spline : Shaped {
  static constexpr Kind kKind = Kind::kSpline;
  Choice sense = Choice::kNone;  // forward, reversed
  std::uint32_t subtype = kNoSubtype;
  SurfaceBounds bounds;
};

struct OtherSurface : Shaped {
  static constexpr Kind kKind = Kind::kOtherSurface;
};

struct Straight : Shaped {
  static constexpr Kind kKind = Kind::kStraight;
  Vector root;
  Vector direction;  // need not have length 1
  Bounds range;
};

struct Ellipse : Shaped {
  static constexpr Kind kKind = Kind::kEllipse;
  Vector centre;
  Vector normal;
  Vector major;
  double ratio = kAbsentReal;
  Bounds range;
};

struct Intcurve : Shaped {
  static constexpr Kind kKind = Kind::kIntcurve;
  Choice sense = Choice::kNone;  // forward, reversed
  std::uint32_t subtype = kNoSubtype;
  Bounds range;
};

struct OtherCurve : Shaped {
  static constexpr Kind kKind = Kind::kOtherCurve;
};

// form 0: its own subtype; else the pcurve number |form| of an intcurve, reversed if negative.
struct Pcurve : Shaped {
  static constexpr Kind kKind = Kind::kPcurve;
  std::int64_t form = kAbsent;
  Choice sense = Choice::kNone;  // forward, reversed
  std::uint32_t subtype = kNoSubtype;
  Ref curve = kNull;
  double u = kAbsentReal;
  double v = kAbsentReal;
};

// Any attribute. The data after these fields depend on the kind of attribute.
struct Attribute : Entity {
  static constexpr Kind kKind = Kind::kAttribute;
  Ref next = kNull;
  Ref previous = kNull;
  Ref owner = kNull;
};

// A class that the schema does not know: its whole text is `rest`.
struct Unknown : Entity {
  static constexpr Kind kKind = Kind::kUnknown;
};

// In the order of Kind.
using Types = std::tuple<Body, Lump, Shell, Subshell, Wire, Face, Loop, Coedge, Edge, Vertex, Point,
                         Transform, Plane, Cone, Sphere, Torus, Spline, OtherSurface, Straight,
                         Ellipse, Intcurve, OtherCurve, Pcurve, Attribute, Unknown>;
static_assert(std::tuple_size_v<Types> == kKinds);

// call.operator()<T>() for the class of the kind.
template <class Call>
decltype(auto) dispatch(Kind kind, Call&& call) {
  switch (kind) {
    case Kind::kBody:
      return call.template operator()<Body>();
    case Kind::kLump:
      return call.template operator()<Lump>();
    case Kind::kShell:
      return call.template operator()<Shell>();
    case Kind::kSubshell:
      return call.template operator()<Subshell>();
    case Kind::kWire:
      return call.template operator()<Wire>();
    case Kind::kFace:
      return call.template operator()<Face>();
    case Kind::kLoop:
      return call.template operator()<Loop>();
    case Kind::kCoedge:
      return call.template operator()<Coedge>();
    case Kind::kEdge:
      return call.template operator()<Edge>();
    case Kind::kVertex:
      return call.template operator()<Vertex>();
    case Kind::kPoint:
      return call.template operator()<Point>();
    case Kind::kTransform:
      return call.template operator()<Transform>();
    case Kind::kPlane:
      return call.template operator()<Plane>();
    case Kind::kCone:
      return call.template operator()<Cone>();
    case Kind::kSphere:
      return call.template operator()<Sphere>();
    case Kind::kTorus:
      return call.template operator()<Torus>();
    case Kind::kSpline:
      return call.template operator()<Spline>();
    case Kind::kOtherSurface:
      return call.template operator()<OtherSurface>();
    case Kind::kStraight:
      return call.template operator()<Straight>();
    case Kind::kEllipse:
      return call.template operator()<Ellipse>();
    case Kind::kIntcurve:
      return call.template operator()<Intcurve>();
    case Kind::kOtherCurve:
      return call.template operator()<OtherCurve>();
    case Kind::kPcurve:
      return call.template operator()<Pcurve>();
    case Kind::kAttribute:
      return call.template operator()<Attribute>();
    default:
      return call.template operator()<Unknown>();
  }
}

// Sets of the kinds that a reference may name.
using Kinds = std::uint32_t;
constexpr Kinds set_of(auto... kinds) { return ((Kinds{1} << static_cast<unsigned>(kinds)) | ...); }
constexpr bool contains(Kinds set, Kind kind) {
  return ((set >> static_cast<unsigned>(kind)) & 1U) != 0;
}

inline constexpr Kinds kAnyKind = (Kinds{1} << kKinds) - 1;
inline constexpr Kinds kSurfaces = set_of(Kind::kPlane, Kind::kCone, Kind::kSphere, Kind::kTorus,
                                          Kind::kSpline, Kind::kOtherSurface);
inline constexpr Kinds kCurves =
    set_of(Kind::kStraight, Kind::kEllipse, Kind::kIntcurve, Kind::kOtherCurve);

// The kind of a class chain such as `tedge-edge`: the kind of the nearest known class.
Kind kind_of(std::string_view identifier);

}  // namespace sat

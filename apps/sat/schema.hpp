// The fields of each class, in the order of its record; long because it has all. They are written
// once for all archives: Filler reads them out of a record (in several forms), Writer writes them.
//
// An archive has a function for each type of field. `maybe_` means that a file may lack the field,
// which the next token tells: a reference begins with $, a number with a digit or a sign, a word
// with its letter. Fields differ between versions. If a token can tell, it decides, because real
// files mix versions.
#pragma once

#include "entities.hpp"

namespace sat {

// The words of a Choice, first and second.
struct Words {
  const char* first;
  const char* second;
};
inline constexpr Words kSense{"forward", "reversed"};
inline constexpr Words kSides{"single", "double"};
inline constexpr Words kContainment{"out", "in"};
inline constexpr Words kVSense{"forward_v", "reverse_v"};
inline constexpr Words kRotates{"no_rotate", "rotate"};
inline constexpr Words kReflects{"no_reflect", "reflect"};
inline constexpr Words kShears{"no_shear", "shear"};
inline constexpr Words kGiven{"F", "T"};

inline constexpr Kinds kCoedges = set_of(Kind::kCoedge);
inline constexpr Kinds kShells = set_of(Kind::kShell, Kind::kSubshell);

template <class Archive>
void entity_fields(Archive& a, Entity& e) {
  a.reference("attribute", e.attribute, set_of(Kind::kAttribute));
  if (a.has_ids()) a.integer("id", e.id);
}

template <class Archive>
void shaped_fields(Archive& a, Shaped& e) {
  entity_fields(a, e);
  if (!a.has_ids()) return;
  a.maybe_integer("history", e.history);
  a.reference("pattern", e.pattern, kAnyKind);
}

template <class Archive>
void fields(Archive& a, Body& e) {
  shaped_fields(a, e);
  a.maybe_integer("extra", e.extra);
  a.reference("lump", e.lump, set_of(Kind::kLump));
  a.reference("wire", e.wire, set_of(Kind::kWire));
  a.reference("transform", e.transform, set_of(Kind::kTransform));
  a.maybe_box("box", e.box);
}

template <class Archive>
void fields(Archive& a, Lump& e) {
  shaped_fields(a, e);
  a.reference("next", e.next, set_of(Kind::kLump));
  a.reference("shell", e.shell, set_of(Kind::kShell));
  a.reference("body", e.body, set_of(Kind::kBody));
  a.maybe_box("box", e.box);
}

template <class Archive>
void fields(Archive& a, Shell& e) {
  shaped_fields(a, e);
  a.reference("next", e.next, set_of(Kind::kShell));
  a.reference("subshell", e.subshell, set_of(Kind::kSubshell));
  a.reference("face", e.face, set_of(Kind::kFace));
  if (a.has_wires()) a.reference("wire", e.wire, set_of(Kind::kWire));
  a.reference("lump", e.lump, set_of(Kind::kLump));
  a.maybe_box("box", e.box);
}

template <class Archive>
void fields(Archive& a, Subshell& e) {
  shaped_fields(a, e);
  a.reference("owner", e.owner, kShells);
  a.reference("next", e.next, set_of(Kind::kSubshell));
  a.reference("child", e.child, set_of(Kind::kSubshell));
  a.reference("face", e.face, set_of(Kind::kFace));
  a.reference("wire", e.wire, set_of(Kind::kWire));
}

template <class Archive>
void fields(Archive& a, Wire& e) {
  shaped_fields(a, e);
  a.reference("next", e.next, set_of(Kind::kWire));
  a.reference("coedge", e.coedge, kCoedges);
  a.reference("owner", e.owner, kShells | set_of(Kind::kBody));
  a.reference("subshell", e.subshell, kShells | set_of(Kind::kBody));
  a.maybe_choice("side", e.side, kContainment);
  a.maybe_box("box", e.box);
}

template <class Archive>
void fields(Archive& a, Face& e) {
  shaped_fields(a, e);
  a.reference("next", e.next, set_of(Kind::kFace));
  a.reference("loop", e.loop, set_of(Kind::kLoop));
  a.reference("shell", e.shell, kShells);
  a.reference("subshell", e.subshell, kShells);
  a.reference("surface", e.surface, kSurfaces);
  a.choice("sense", e.sense, kSense);
  a.maybe_choice("sides", e.sides, kSides);
  a.maybe_choice("containment", e.containment, kContainment);
  a.maybe_box("box", e.box);
  a.maybe_choice("parameters", e.has_parameters, kGiven);
  if (e.has_parameters != Choice::kSecond) return;
  a.real("parameters", e.parameters.u.low);
  a.real("parameters", e.parameters.u.high);
  a.real("parameters", e.parameters.v.low);
  a.real("parameters", e.parameters.v.high);
}

template <class Archive>
void fields(Archive& a, Loop& e) {
  shaped_fields(a, e);
  a.reference("next", e.next, set_of(Kind::kLoop));
  a.reference("coedge", e.coedge, kCoedges);
  a.reference("face", e.face, set_of(Kind::kFace));
  a.maybe_box("box", e.box);
}

template <class Archive>
void fields(Archive& a, Coedge& e) {
  shaped_fields(a, e);
  a.reference("next", e.next, kCoedges);
  a.reference("previous", e.previous, kCoedges);
  a.reference("partner", e.partner, kCoedges);
  a.reference("edge", e.edge, set_of(Kind::kEdge));
  a.choice("sense", e.sense, kSense);
  a.reference("owner", e.owner, set_of(Kind::kLoop, Kind::kWire, Kind::kShell, Kind::kSubshell));
  a.maybe_integer("extra", e.extra);
  a.reference("pcurve", e.pcurve, set_of(Kind::kPcurve));
  a.maybe_real("range", e.range.low);
  a.maybe_real("range", e.range.high);
}

template <class Archive>
void fields(Archive& a, Edge& e) {
  shaped_fields(a, e);
  a.reference("start", e.start, set_of(Kind::kVertex));
  a.edge_parameter("start parameter", e.start_parameter);
  a.reference("end", e.end, set_of(Kind::kVertex));
  a.edge_parameter("end parameter", e.end_parameter);
  a.reference("coedge", e.coedge, kCoedges);
  a.reference("curve", e.curve, kCurves);
  a.choice("sense", e.sense, kSense);
  a.maybe_string("convexity", e.convexity);
  a.maybe_box("box", e.box);
  a.maybe_real("tolerance", e.tolerance);
}

template <class Archive>
void fields(Archive& a, Vertex& e) {
  shaped_fields(a, e);
  a.reference("edge", e.edge, set_of(Kind::kEdge));
  a.maybe_integer("extra", e.extra);
  a.reference("point", e.point, set_of(Kind::kPoint));
  a.maybe_real("tolerance", e.tolerance);
}

template <class Archive>
void fields(Archive& a, Point& e) {
  shaped_fields(a, e);
  a.vector("position", e.position);
}

template <class Archive>
void fields(Archive& a, Transform& e) {
  entity_fields(a, e);
  for (Vector& row : e.rotation) a.vector("rotation", row);
  a.vector("translation", e.translation);
  a.real("scale", e.scale);
  a.maybe_choice("rotates", e.rotates, kRotates);
  a.maybe_choice("reflects", e.reflects, kReflects);
  a.maybe_choice("shears", e.shears, kShears);
}

template <class Archive>
void surface_bounds(Archive& a, SurfaceBounds& bounds) {
  a.maybe_bounds("u bounds", bounds.u);
  a.maybe_bounds("v bounds", bounds.v);
}

template <class Archive>
void fields(Archive& a, Plane& e) {
  shaped_fields(a, e);
  a.vector("origin", e.origin);
  a.vector("normal", e.normal);
  a.maybe_vector("u direction", e.u);
  a.maybe_choice("v sense", e.v_sense, kVSense);
  surface_bounds(a, e.bounds);
}

template <class Archive>
void fields(Archive& a, Cone& e) {
  shaped_fields(a, e);
  a.vector("origin", e.origin);
  a.vector("axis", e.axis);
  a.vector("major axis", e.major);
  a.real("ratio", e.ratio);
  a.maybe_bounds("range", e.base);
  a.real("sine", e.sine);
  a.real("cosine", e.cosine);
  if (a.has_words()) a.maybe_real("u scale", e.u_scale);
  a.maybe_choice("sense", e.sense, kSense);
  surface_bounds(a, e.bounds);
}

template <class Archive>
void fields(Archive& a, Sphere& e) {
  shaped_fields(a, e);
  a.vector("centre", e.centre);
  a.real("radius", e.radius);
  a.maybe_vector("u direction", e.u);
  a.maybe_vector("pole", e.pole);
  a.maybe_choice("v sense", e.v_sense, kVSense);
  surface_bounds(a, e.bounds);
}

template <class Archive>
void fields(Archive& a, Torus& e) {
  shaped_fields(a, e);
  a.vector("centre", e.centre);
  a.vector("axis", e.axis);
  a.real("major radius", e.major);
  a.real("minor radius", e.minor);
  a.maybe_vector("u direction", e.u);
  a.maybe_choice("v sense", e.v_sense, kVSense);
  surface_bounds(a, e.bounds);
}

template <class Archive>
void fields(Archive& a, Spline& e) {
  shaped_fields(a, e);
  a.choice("sense", e.sense, kSense);
  a.maybe_subtype("surface", e.subtype);
  surface_bounds(a, e.bounds);
}

template <class Archive>
void fields(Archive& a, OtherSurface& e) {
  shaped_fields(a, e);
}

template <class Archive>
void fields(Archive& a, Straight& e) {
  shaped_fields(a, e);
  a.vector("root", e.root);
  a.vector("direction", e.direction);
  a.maybe_bounds("range", e.range);
}

template <class Archive>
void fields(Archive& a, Ellipse& e) {
  shaped_fields(a, e);
  a.vector("centre", e.centre);
  a.vector("normal", e.normal);
  a.vector("major axis", e.major);
  a.real("ratio", e.ratio);
  a.maybe_bounds("range", e.range);
}

template <class Archive>
void fields(Archive& a, Intcurve& e) {
  shaped_fields(a, e);
  a.choice("sense", e.sense, kSense);
  a.maybe_subtype("curve", e.subtype);
  a.maybe_bounds("range", e.range);
}

template <class Archive>
void fields(Archive& a, OtherCurve& e) {
  shaped_fields(a, e);
}

template <class Archive>
void fields(Archive& a, Pcurve& e) {
  shaped_fields(a, e);
  a.integer("form", e.form);
  if (e.form == 0) {
    a.choice("sense", e.sense, kSense);
    a.maybe_subtype("curve", e.subtype);
  } else {
    a.reference("curve", e.curve, kCurves);
  }
  a.maybe_real("u", e.u);
  a.maybe_real("v", e.v);
}

template <class Archive>
void fields(Archive& a, Attribute& e) {
  entity_fields(a, e);
  a.reference("next", e.next, set_of(Kind::kAttribute));
  a.reference("previous", e.previous, set_of(Kind::kAttribute));
  a.reference("owner", e.owner, kAnyKind);
}

template <class Archive>
void fields(Archive&, Unknown&) {}

}  // namespace sat

// The definitions.
#include "inspect.hpp"

#include <algorithm>
#include <cmath>

#include <BRepBuilderAPI_Copy.hxx>
#include <BRepGProp_Domain.hxx>
#include <BRepGProp_Face.hxx>
#include <BRepGProp_Sinert.hxx>
#include <BRepGProp_Vinert.hxx>
#include <ShapeBuild_ReShape.hxx>
#include <ShapeFix_Shape.hxx>
#include <Standard_Failure.hxx>
#include <TopExp.hxx>
#include <TopExp_Explorer.hxx>
#include <TopTools_IndexedMapOfShape.hxx>
#include <TopoDS.hxx>

#include "face_check.hpp"

namespace sat::shapes {
namespace {

std::size_t doubts_of(const std::vector<MadeFace>& faces) {
  return static_cast<std::size_t>(
      std::ranges::count_if(faces, [](const MadeFace& each) { return !each.doubt.empty(); }));
}

}  // namespace

void inspect(MadeFace& face) { face.doubt = doubt_of(face.face); }

void measure(const gp_Pnt& middle, MadeFace& made) {
  constexpr double kEps = 1e-8;  // of the face's own value
  try {
    BRepGProp_Face face(made.face);
    // A domain is gone over once.
    BRepGProp_Domain domain(made.face);
    BRepGProp_Sinert surface;
    surface.SetLocation(middle);
    surface.Perform(face, domain, kEps);
    made.area = std::abs(surface.Mass());
    domain.Init(made.face);
    BRepGProp_Vinert volume;
    volume.SetLocation(middle);
    volume.Perform(face, domain, middle, kEps);
    made.volume = volume.Mass();
  } catch (const Standard_Failure& failure) {
    made.doubt += std::string(made.doubt.empty() ? "" : ", ") + "it cannot be measured (" +
                  failure.DynamicType()->Name() + ")";
  }
}

void mend(Assembled& made) {
  const std::size_t before = doubts_of(made.faces);
  if (before == 0) return;
  try {
    BRepBuilderAPI_Copy copy(made.local);
    ShapeFix_Shape fix(copy.Shape());
    fix.Perform();
    const TopoDS_Shape result = fix.Shape();
    if (result.IsNull() || result.ShapeType() != TopAbs_COMPOUND) return;
    // With the orientation that they have in their shells.
    TopTools_IndexedMapOfShape in_result;
    TopExp::MapShapes(result, TopAbs_FACE, in_result);
    std::vector<MadeFace> faces;
    for (const MadeFace& each : made.faces) {
      const TopoDS_Shape after = fix.Context()->Apply(copy.ModifiedShape(each.face));
      if (after.IsNull()) return;
      for (TopExp_Explorer at(after, TopAbs_FACE); at.More(); at.Next()) {
        const int place = in_result.FindIndex(at.Current());
        if (place == 0) return;
        MadeFace mine;
        mine.record = each.record;
        mine.face = TopoDS::Face(in_result(place));
        mine.solid = each.solid;
        inspect(mine);
        faces.push_back(std::move(mine));
      }
    }
    std::uint64_t open = 0;
    for (TopExp_Explorer at(result, TopAbs_SOLID); at.More(); at.Next()) {
      for (TopExp_Explorer shell(at.Current(), TopAbs_SHELL); shell.More(); shell.Next()) {
        open += free_edges(shell.Current());
      }
    }
    if (faces.size() < made.faces.size() || doubts_of(faces) >= before || open != 0) return;
    made.local = TopoDS::Compound(result);
    made.faces = std::move(faces);
  } catch (const Standard_Failure&) {
    // What was made stays, with its doubts.
  }
}

void sum_up(Assembled& made) {
  for (const MadeFace& each : made.faces) {
    made.body.area += each.area;
    if (each.solid) made.body.volume += each.volume;
  }
}

}  // namespace sat::shapes

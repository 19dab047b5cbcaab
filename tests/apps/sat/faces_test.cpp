// Compares the check of faces with BRepCheck_Analyzer, on the faces of generated solids and of
// copies with a mistake in them.
#include <map>
#include <string>
#include <vector>

#include <BRepBuilderAPI_Copy.hxx>
#include <BRepCheck_Analyzer.hxx>
#include <BRep_Builder.hxx>
#include <BRep_TVertex.hxx>
#include <BRep_Tool.hxx>
#include <Geom2d_Curve.hxx>
#include <TopExp_Explorer.hxx>
#include <TopoDS.hxx>
#include <TopoDS_Edge.hxx>
#include <TopoDS_Face.hxx>
#include <TopoDS_Vertex.hxx>

#include "gtest/gtest.h"
#include "sat/generated.hpp"
#include "sat/shapes/face_check.hpp"
#include "sat/shapes/shapes.hpp"
#include "small.hpp"

namespace sat_test {
namespace {

std::vector<TopoDS_Face> generated_faces() {
  std::string text;
  sat::generate_file(7, 1500, [&](std::string_view part) { text += part; });
  const sat::Model model = model_of(text);
  sat::Team team(2);
  const sat::shapes::Shapes shapes = sat::shapes::make_shapes(model, team, false);
  std::vector<TopoDS_Face> faces;
  for (TopExp_Explorer at(shapes.shape, TopAbs_FACE); at.More(); at.Next()) {
    faces.push_back(TopoDS::Face(at.Current()));
  }
  return faces;
}

TopoDS_Face copy_of(const TopoDS_Face& face) {
  return TopoDS::Face(BRepBuilderAPI_Copy(face).Shape());
}

// A copy of the face with other wires.
template <class Change>
TopoDS_Face with_wires(const TopoDS_Face& face, const Change& change) {
  TopoDS_Shape made = face.EmptyCopied();
  BRep_Builder builder;
  int number = 0;
  for (TopoDS_Iterator at(face); at.More(); at.Next()) {
    const TopoDS_Shape wire = change(at.Value(), number++);
    if (!wire.IsNull()) builder.Add(made, wire);
  }
  return TopoDS::Face(made);
}

TopoDS_Edge first_edge(const TopoDS_Face& face) {
  for (TopExp_Explorer at(face, TopAbs_EDGE); at.More(); at.Next()) {
    const TopoDS_Edge& edge = TopoDS::Edge(at.Current());
    if (!BRep_Tool::Degenerated(edge)) return edge;
  }
  return {};
}

std::vector<TopoDS_Face> with_mistakes(const TopoDS_Face& face) {
  BRep_Builder builder;
  std::vector<TopoDS_Face> all;
  all.push_back(with_wires(copy_of(face), [](const TopoDS_Shape& wire, int number) {
    return number == 0 ? wire.Reversed() : wire;
  }));
  all.push_back(with_wires(copy_of(face), [](const TopoDS_Shape& wire, int number) {
    return number == 0 ? TopoDS_Shape() : wire;
  }));
  const TopoDS_Face moved = copy_of(face);
  TopExp_Explorer vertex(moved, TopAbs_VERTEX);
  if (vertex.More()) {
    const auto shape = Handle(BRep_TVertex)::DownCast(vertex.Current().TShape());
    shape->Pnt(shape->Pnt().Translated(gp_Vec(0.01, 0.02, 0.03)));
    all.push_back(moved);
  }
  const TopoDS_Face shortened = copy_of(face);
  if (const TopoDS_Edge edge = first_edge(shortened); !edge.IsNull()) {
    double first = 0;
    double last = 0;
    BRep_Tool::Range(edge, first, last);
    builder.Range(edge, first, last - 0.1 * (last - first));
    all.push_back(shortened);
  }
  const TopoDS_Face shifted = copy_of(face);
  if (const TopoDS_Edge edge = first_edge(shifted); !edge.IsNull()) {
    double first = 0;
    double last = 0;
    const Handle(Geom2d_Curve) curve = BRep_Tool::CurveOnSurface(edge, shifted, first, last);
    if (!curve.IsNull()) {
      const auto other = Handle(Geom2d_Curve)::DownCast(curve->Translated(gp_Vec2d(0.1, 0.2)));
      builder.UpdateEdge(edge, other, shifted, BRep_Tool::Tolerance(edge));
      all.push_back(shifted);
    }
  }
  return all;
}

TEST(FaceCheck, finds_what_the_analyzer_of_open_cascade_finds) {
  const std::vector<TopoDS_Face> faces = generated_faces();
  ASSERT_GT(faces.size(), 80U);
  int wrong = 0;
  std::map<std::string, int> found;
  for (const TopoDS_Face& face : faces) {
    EXPECT_EQ(sat::shapes::doubt_of(face), "");
    EXPECT_TRUE(BRepCheck_Analyzer(face).IsValid());
    for (const TopoDS_Face& each : with_mistakes(face)) {
      const std::string doubt = sat::shapes::doubt_of(each);
      EXPECT_EQ(doubt.empty(), BRepCheck_Analyzer(each).IsValid()) << doubt;
      wrong += !doubt.empty();
      ++found[doubt];
    }
  }
  EXPECT_GT(wrong, 200);
  EXPECT_GT(found.size(), 5U);
}

}  // namespace
}  // namespace sat_test

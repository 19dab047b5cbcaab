// The definitions. BRepCheck's own classes check one vertex, edge, wire or face each, by itself and
// as a part of its context.
#include "face_check.hpp"

#include <functional>
#include <unordered_map>

#include <BRepCheck_Edge.hxx>
#include <BRepCheck_Face.hxx>
#include <BRepCheck_ListOfStatus.hxx>
#include <BRepCheck_Vertex.hxx>
#include <BRepCheck_Wire.hxx>
#include <Standard_Failure.hxx>
#include <TopExp_Explorer.hxx>
#include <TopoDS.hxx>
#include <TopoDS_Edge.hxx>
#include <TopoDS_Vertex.hxx>
#include <TopoDS_Wire.hxx>

namespace sat::shapes {
namespace {

const char* name_of(BRepCheck_Status status) {
  switch (status) {
    case BRepCheck_InvalidPointOnCurve:
      return "a vertex is not on its curve";
    case BRepCheck_InvalidPointOnCurveOnSurface:
      return "a vertex is not on its curve on the surface";
    case BRepCheck_InvalidPointOnSurface:
      return "a vertex is not on the surface";
    case BRepCheck_No3DCurve:
      return "an edge has no curve";
    case BRepCheck_InvalidCurveOnSurface:
      return "an edge is not on the surface";
    case BRepCheck_InvalidCurveOnClosedSurface:
      return "an edge is not on the closed surface";
    case BRepCheck_InvalidSameRangeFlag:
    case BRepCheck_InvalidSameParameterFlag:
      return "an edge's curves run apart";
    case BRepCheck_InvalidRange:
      return "an edge's range is wrong";
    case BRepCheck_NotClosed:
      return "a loop is not closed";
    case BRepCheck_SelfIntersectingWire:
      return "a loop crosses itself";
    case BRepCheck_IntersectingWires:
      return "two loops cross";
    case BRepCheck_InvalidImbricationOfWires:
      return "loops lie wrongly in one another";
    case BRepCheck_UnorientableShape:
      return "it has no orientation";
    case BRepCheck_BadOrientationOfSubshape:
      return "a loop runs the wrong way";
    case BRepCheck_NoCurveOnSurface:
      return "an edge has no curve on the surface";
    default:
      return "Open CASCADE's check fails";
  }
}

struct Hash {
  std::size_t operator()(const TopoDS_Shape& shape) const {
    return std::hash<const void*>()(shape.TShape().get());
  }
};
struct Same {
  bool operator()(const TopoDS_Shape& a, const TopoDS_Shape& b) const { return a.IsSame(b); }
};
template <class Result>
using Results = std::unordered_map<TopoDS_Shape, Handle(Result), Hash, Same>;

class FaceCheck {
 public:
  explicit FaceCheck(const TopoDS_Face& face) : face_(face) {
    for (TopExp_Explorer at(face, TopAbs_EDGE); at.More(); at.Next()) {
      check_edge(TopoDS::Edge(at.Current()));
    }
    for (const auto& [vertex, result] : vertices_) {
      result->InContext(face);
      take(*result);
    }
    for (TopExp_Explorer at(face, TopAbs_WIRE); at.More(); at.Next()) {
      const Handle(BRepCheck_Wire) result = new BRepCheck_Wire(TopoDS::Wire(at.Current()));
      result->GeometricControls(true);
      result->InContext(face);
      take(*result);
    }
    const Handle(BRepCheck_Face) result = new BRepCheck_Face(face);
    result->GeometricControls(true);
    // How wires lie in one another can be asked of good ones only.
    if (text_.empty()) result->OrientationOfWires(true);
    take(*result);
  }

  const std::string& text() const { return text_; }

 private:
  void check_edge(const TopoDS_Edge& edge) {
    Handle(BRepCheck_Edge) & result = edges_[edge];
    if (!result.IsNull()) return;
    result = new BRepCheck_Edge(edge);
    result->GeometricControls(true);
    result->InContext(face_);
    take(*result);
    for (TopExp_Explorer at(edge, TopAbs_VERTEX); at.More(); at.Next()) {
      const TopoDS_Vertex& vertex = TopoDS::Vertex(at.Current());
      Handle(BRepCheck_Vertex) & of_vertex = vertices_[vertex];
      if (of_vertex.IsNull()) of_vertex = new BRepCheck_Vertex(vertex);
      of_vertex->InContext(edge);
    }
  }

  // What was found of the shape itself and in the contexts that it was checked in.
  void take(BRepCheck_Result& result) {
    add(result.Status());
    for (result.InitContextIterator(); result.MoreShapeInContext(); result.NextShapeInContext()) {
      add(result.StatusOnShape());
    }
  }
  void add(const BRepCheck_ListOfStatus& all) {
    for (const BRepCheck_Status each : all) {
      if (each == BRepCheck_NoError) continue;
      const std::string name = name_of(each);
      if (text_.find(name) == std::string::npos) text_ += (text_.empty() ? "" : ", ") + name;
    }
  }

  const TopoDS_Face& face_;
  Results<BRepCheck_Edge> edges_;
  Results<BRepCheck_Vertex> vertices_;
  std::string text_;
};

}  // namespace

std::string doubt_of(const TopoDS_Face& face) {
  try {
    return FaceCheck(face).text();
  } catch (const Standard_Failure& failure) {
    return std::string("Open CASCADE's check fails (") + failure.DynamicType()->Name() + ")";
  }
}

}  // namespace sat::shapes

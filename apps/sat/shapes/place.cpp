// A body's transform.
#include <cmath>

#include <BRepBuilderAPI_GTransform.hxx>
#include <BRepBuilderAPI_Transform.hxx>
#include <Standard_Failure.hxx>
#include <gp_GTrsf.hxx>
#include <gp_Trsf.hxx>

#include "assemble.hpp"

namespace sat::shapes {
namespace {

// p' = p * rotation * scale + translation, with row vectors.
TopoDS_Shape transformed(const TopoDS_Shape& shape, const Transform& given, double unit) {
  gp_Mat matrix;
  for (int row = 0; row < 3; ++row) {
    matrix.SetCol(row + 1, point_of(given.rotation[row], given.scale).XYZ());
  }
  const gp_XYZ translation = point_of(given.translation, unit).XYZ();
  const gp_Mat square = matrix.Transposed() * matrix;
  const double scale2 = square(1, 1);
  bool similar = true;
  for (int i = 1; i <= 3; ++i) {
    for (int j = 1; j <= 3; ++j) {
      similar = similar && std::abs(square(i, j) - (i == j ? scale2 : 0)) < 1e-9 * scale2;
    }
  }
  if (!similar) {
    gp_GTrsf general(matrix, translation);
    return BRepBuilderAPI_GTransform(shape, general, true).Shape();
  }
  gp_Trsf trsf;
  trsf.SetValues(matrix(1, 1), matrix(1, 2), matrix(1, 3), translation.X(), matrix(2, 1),
                 matrix(2, 2), matrix(2, 3), translation.Y(), matrix(3, 1), matrix(3, 2),
                 matrix(3, 3), translation.Z());
  const bool rigid = std::abs(scale2 - 1) < 1e-9 && matrix.Determinant() > 0;
  if (rigid) return shape.Moved(TopLoc_Location(trsf));
  return BRepBuilderAPI_Transform(shape, trsf, true).Shape();
}

}  // namespace

void place(const Plans& plans, Assembled& made) {
  const Model& model = *plans.model;
  const Ref body = made.body.record;
  const Ref transform = body != kNull ? model.get<sat::Body>(body).transform : kNull;
  made.shape = made.local;
  const auto* const given = model.find<Transform>(transform);
  if (given == nullptr) return;
  try {
    made.shape = transformed(made.local, *given, plans.scale);
    const double scale = std::abs(given->scale);
    made.body.area *= scale * scale;
    made.body.volume *= scale * scale * scale;
  } catch (const Standard_Failure& failure) {
    made.doubts.push_back({transform, std::string("Open CASCADE refuses it (") +
                                          failure.DynamicType()->Name() +
                                          "), and the body stays in its place"});
  }
}

}  // namespace sat::shapes

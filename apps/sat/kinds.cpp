// Finds the class of a record.
#include <array>

#include "entities.hpp"

namespace sat {
namespace {

struct Name {
  std::string_view name;
  Kind kind;
};

constexpr std::array<Name, 14> kRoots{{{"coedge", Kind::kCoedge},
                                       {"edge", Kind::kEdge},
                                       {"vertex", Kind::kVertex},
                                       {"point", Kind::kPoint},
                                       {"loop", Kind::kLoop},
                                       {"face", Kind::kFace},
                                       {"pcurve", Kind::kPcurve},
                                       {"transform", Kind::kTransform},
                                       {"lump", Kind::kLump},
                                       {"shell", Kind::kShell},
                                       {"body", Kind::kBody},
                                       {"wire", Kind::kWire},
                                       {"subshell", Kind::kSubshell},
                                       {"attrib", Kind::kAttribute}}};
constexpr std::array<Name, 5> kSurfaceNames{{{"plane", Kind::kPlane},
                                             {"cone", Kind::kCone},
                                             {"sphere", Kind::kSphere},
                                             {"torus", Kind::kTorus},
                                             {"spline", Kind::kSpline}}};
constexpr std::array<Name, 3> kCurveNames{
    {{"straight", Kind::kStraight}, {"ellipse", Kind::kEllipse}, {"intcurve", Kind::kIntcurve}}};

Kind find(const auto& names, std::string_view name, Kind otherwise) {
  for (const Name& each : names) {
    if (each.name == name) return each.kind;
  }
  return otherwise;
}

}  // namespace

Kind kind_of(std::string_view identifier) {
  const std::size_t dash = identifier.rfind('-');
  const std::string_view root = identifier.substr(dash + 1);  // npos + 1 is 0
  if (root == "attrib") return Kind::kAttribute;
  const std::string_view before = dash == std::string_view::npos ? "" : identifier.substr(0, dash);
  const std::string_view leaf = before.substr(before.rfind('-') + 1);
  if (root == "surface") return find(kSurfaceNames, leaf, Kind::kOtherSurface);
  if (root == "curve") return find(kCurveNames, leaf, Kind::kOtherCurve);
  return find(kRoots, root, Kind::kUnknown);
}

}  // namespace sat

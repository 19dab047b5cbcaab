// The definitions. One thread makes here all parts that a body's faces share.
#include "assemble.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include <BRepBuilderAPI_MakeFace.hxx>
#include <BRep_Builder.hxx>
#include <BRep_Tool.hxx>
#include <Standard_Failure.hxx>
#include <TopExp.hxx>
#include <TopExp_Explorer.hxx>
#include <TopTools_IndexedDataMapOfShapeListOfShape.hxx>
#include <TopoDS.hxx>
#include <TopoDS_Compound.hxx>
#include <TopoDS_Edge.hxx>
#include <TopoDS_Shell.hxx>
#include <TopoDS_Solid.hxx>
#include <TopoDS_Vertex.hxx>
#include <TopoDS_Wire.hxx>

namespace sat::shapes {
namespace {

constexpr double kLeast = 1e-7;

// The parts of an edge of the file, from `first` to `last`, and its vertices at the cuts.
struct Chain {
  std::vector<TopoDS_Edge> edges;
  std::vector<TopoDS_Vertex> cuts;
};

class Maker {
 public:
  Maker(const Plans& plans, const BodyParts& parts) : plans_(plans), model_(*plans.model) {
    for (const LumpParts& lump : parts.lumps) {
      for (const auto& shell : lump.shells) {
        for (const Ref face : shell) {
          for (const auto& [edge, deviation] : plans.faces[face]->deviations) {
            double& most = deviations_[edge];
            most = std::max(most, deviation);
          }
        }
      }
    }
  }

  // A face of the file; more than one where its seam cuts it apart.
  std::vector<TopoDS_Face> faces(const FacePlan& plan) {
    std::vector<TopoDS_Face> made;
    if (plan.natural) {
      BRepBuilderAPI_MakeFace maker(plan.form.surface, kLeast);
      made.push_back(maker.Face());
    } else {
      const Owns owns = make_own(plan);
      for (const auto& wires : plan.faces) {
        TopoDS_Face face;
        builder_.MakeFace(face, plan.form.surface, kLeast);
        for (const WirePlan& wire : wires) builder_.Add(face, make_wire(plan, wire, owns));
        made.push_back(face);
      }
    }
    if (plan.flipped) {
      for (TopoDS_Face& each : made) each.Reverse();
    }
    return made;
  }

  const Chain& chain(Ref record) {
    const auto [found, fresh] = chains_.try_emplace(record);
    Chain& chain = found->second;
    if (!fresh) return chain;
    const EdgePlan& plan = *plans_.edges[record];
    const double tolerance = tolerance_of(record, plan);
    const TopoDS_Vertex low = vertex(plan.low);
    const TopoDS_Vertex high = vertex(plan.high);
    for (const double each : plan.cuts) {
      TopoDS_Vertex cut;
      builder_.MakeVertex(cut, plan.curve->Value(each), tolerance);
      chain.cuts.push_back(cut);
    }
    for (std::size_t i = 0; i <= plan.cuts.size(); ++i) {
      const double from = i == 0 ? plan.first : plan.cuts[i - 1];
      const double to = i == plan.cuts.size() ? plan.last : plan.cuts[i];
      chain.edges.push_back(make_edge(plan.curve, from, to, i == 0 ? low : chain.cuts[i - 1],
                                      i == plan.cuts.size() ? high : chain.cuts[i], tolerance));
    }
    return chain;
  }

 private:
  struct Owns {
    std::vector<TopoDS_Edge> edges;
    std::vector<TopoDS_Vertex> points;
  };

  double tolerance_of(Ref record, const EdgePlan& plan) const {
    const auto found = deviations_.find(record);
    const double deviation = found != deviations_.end() ? found->second : 0;
    return std::max({kLeast, plan.tolerance, 1.05 * deviation + 1e-9});
  }

  TopoDS_Vertex vertex(Ref record) {
    const auto [found, fresh] = vertices_.try_emplace(record);
    if (fresh) {
      const double given = model_.get<Vertex>(record).tolerance;
      const double tolerance = !std::isnan(given) && given > 0 ? given * plans_.scale : 0;
      builder_.MakeVertex(found->second, plans_.vertex(record), std::max(kLeast, tolerance));
    }
    return found->second;
  }

  TopoDS_Edge make_edge(const Handle(Geom_Curve) & curve, double first, double last,
                        const TopoDS_Vertex& low, const TopoDS_Vertex& high, double tolerance) {
    TopoDS_Edge edge;
    builder_.MakeEdge(edge, curve, tolerance);
    reach(low, curve->Value(first), tolerance);
    reach(high, curve->Value(last), tolerance);
    builder_.Add(edge, low.Oriented(TopAbs_FORWARD));
    builder_.Add(edge, high.Oriented(TopAbs_REVERSED));
    builder_.Range(edge, first, last);
    return edge;
  }

  // A vertex's ball has the end of the edge in it.
  void reach(const TopoDS_Vertex& at, const gp_Pnt& point, double tolerance) {
    const double distance = BRep_Tool::Pnt(at).Distance(point);
    builder_.UpdateVertex(at, distance + tolerance + 1e-9);
  }

  TopoDS_Vertex node(const Node& node, const Owns& owns) {
    if (node.sort == Node::Sort::kRecord) return vertex(node.record);
    if (node.sort == Node::Sort::kCut) return chain(node.record).cuts[node.index];
    return owns.points[node.index];
  }

  Owns make_own(const FacePlan& plan) {
    Owns owns;
    for (const gp_Pnt& each : plan.points) {
      TopoDS_Vertex made;
      builder_.MakeVertex(made, each, kLeast);
      owns.points.push_back(made);
    }
    const TopLoc_Location here;
    for (const OwnEdge& each : plan.own) {
      const TopoDS_Vertex low = node(each.low, owns);
      const TopoDS_Vertex high = node(each.high, owns);
      if (!each.curve.IsNull()) {
        TopoDS_Edge edge = make_edge(each.curve, each.first, each.last, low, high, kLeast);
        builder_.UpdateEdge(edge, each.forward, each.backward, plan.form.surface, here, kLeast);
        // Both sides of a seam go on smoothly.
        builder_.Continuity(edge, plan.form.surface, plan.form.surface, here, here, GeomAbs_CN);
        owns.edges.push_back(edge);
        continue;
      }
      TopoDS_Edge edge;
      builder_.MakeEdge(edge);
      builder_.UpdateEdge(edge, each.forward, plan.form.surface, here, kLeast);
      const gp_Pnt2d at = each.forward->Value(each.first);
      reach(low, plan.form.surface->Value(at.X(), at.Y()), kLeast);
      builder_.Add(edge, low.Oriented(TopAbs_FORWARD));
      builder_.Add(edge, high.Oriented(TopAbs_REVERSED));
      builder_.Range(edge, each.first, each.last);
      builder_.Degenerated(edge, true);
      owns.edges.push_back(edge);
    }
    return owns;
  }

  TopoDS_Wire make_wire(const FacePlan& plan, const WirePlan& pieces, const Owns& owns) {
    TopoDS_Wire wire;
    builder_.MakeWire(wire);
    const TopLoc_Location here;
    for (const Piece& each : pieces) {
      const TopoDS_Edge edge =
          each.own ? owns.edges[each.index] : chain(each.edge).edges[each.index];
      if (!each.pcurve.IsNull()) {
        const double tolerance = BRep_Tool::Tolerance(edge);
        // An edge that the loop uses both ways is a seam of the file's own.
        const auto other = std::ranges::find_if(pieces, [&](const Piece& p) {
          return !p.own && p.edge == each.edge && p.index == each.index &&
                 p.reversed != each.reversed;
        });
        if (other == pieces.end()) {
          builder_.UpdateEdge(edge, each.pcurve, plan.form.surface, here, tolerance);
        } else if (!each.reversed) {
          builder_.UpdateEdge(edge, each.pcurve, other->pcurve, plan.form.surface, here, tolerance);
        }
      }
      builder_.Add(wire, edge.Oriented(each.reversed ? TopAbs_REVERSED : TopAbs_FORWARD));
    }
    wire.Closed(true);
    return wire;
  }

  const Plans& plans_;
  const Model& model_;
  BRep_Builder builder_;
  std::unordered_map<Ref, double> deviations_;
  std::unordered_map<Ref, TopoDS_Vertex> vertices_;
  std::unordered_map<Ref, Chain> chains_;
};

bool is_two_sided(const Model& model, const LumpParts& lump) {
  return std::ranges::any_of(lump.shells, [&](const std::vector<Ref>& faces) {
    return std::ranges::any_of(
        faces, [&](Ref face) { return model.get<Face>(face).sides == Choice::kSecond; });
  });
}

}  // namespace

std::uint64_t free_edges(const TopoDS_Shape& shell) {
  TopTools_IndexedDataMapOfShapeListOfShape uses;
  TopExp::MapShapesAndAncestors(shell, TopAbs_EDGE, TopAbs_FACE, uses);
  std::uint64_t number = 0;
  for (int i = 1; i <= uses.Extent(); ++i) {
    const TopoDS_Edge& edge = TopoDS::Edge(uses.FindKey(i));
    if (!BRep_Tool::Degenerated(edge) && uses(i).Extent() < 2) ++number;
  }
  return number;
}

Assembled assemble(const Plans& plans, const BodyParts& parts) {
  const Model& model = *plans.model;
  Assembled result;
  result.body.record = parts.record;
  Maker maker(plans, parts);
  BRep_Builder builder;
  TopoDS_Compound compound;
  builder.MakeCompound(compound);
  const auto failed = [](const Standard_Failure& failure) {
    return std::string("Open CASCADE refuses it (") + failure.DynamicType()->Name() + ")";
  };
  for (const LumpParts& lump : parts.lumps) {
    std::vector<TopoDS_Shell> shells;
    const std::size_t first = result.faces.size();
    std::uint64_t open = 0;
    bool whole = true;
    for (const std::vector<Ref>& faces : lump.shells) {
      TopoDS_Shell shell;
      builder.MakeShell(shell);
      for (const Ref each : faces) {
        const FacePlan& plan = *plans.faces[each];
        if (!plan.why.empty()) {
          whole = false;
          continue;
        }
        try {
          for (const TopoDS_Face& face : maker.faces(plan)) {
            builder.Add(shell, face);
            result.faces.push_back({.record = each, .face = face, .doubt = {}});
          }
        } catch (const Standard_Failure& failure) {
          whole = false;
          result.doubts.push_back({each, failed(failure)});
        }
      }
      if (shell.NbChildren() == 0) continue;
      const std::uint64_t ends = free_edges(shell);
      shell.Closed(ends == 0);
      open += ends;
      shells.push_back(shell);
    }
    if (shells.empty()) continue;
    const bool solid = lump.record != kNull && !is_two_sided(model, lump);
    if (solid && (open != 0 || !whole)) {
      result.body.free_edges += open;
      result.doubts.push_back({lump.record, "it is no closed solid: " + std::to_string(open) +
                                                " edges have a face on one side only" +
                                                (whole ? "" : ", because faces are missing")});
    }
    if (solid && open == 0 && whole) {
      TopoDS_Solid made;
      builder.MakeSolid(made);
      for (const TopoDS_Shell& each : shells) builder.Add(made, each);
      builder.Add(compound, made);
      ++result.body.solids;
      for (std::size_t i = first; i < result.faces.size(); ++i) result.faces[i].solid = true;
    } else {
      for (const TopoDS_Shell& each : shells) builder.Add(compound, each);
      result.body.sheets += shells.size();
    }
  }
  for (const Ref each : parts.edges) {
    const EdgePlan& plan = *plans.edges[each];
    if (plan.curve.IsNull()) continue;
    for (const TopoDS_Edge& edge : maker.chain(each).edges) builder.Add(compound, edge);
  }
  result.local = compound;
  for (TopExp_Explorer at(compound, TopAbs_VERTEX); at.More(); at.Next()) {
    result.middle = BRep_Tool::Pnt(TopoDS::Vertex(at.Current()));
    break;
  }
  return result;
}

}  // namespace sat::shapes

// The definitions.
#include "shapes.hpp"

#include <algorithm>
#include <chrono>

#include <BRepCheck_Analyzer.hxx>
#include <BRepCheck_ListOfStatus.hxx>
#include <BRepCheck_Result.hxx>
#include <BRepGProp.hxx>
#include <BRep_Builder.hxx>
#include <GProp_GProps.hxx>
#include <Standard_Failure.hxx>
#include <TopExp_Explorer.hxx>
#include <TopoDS.hxx>

#include "assemble.hpp"
#include "plan.hpp"

namespace sat::shapes {
namespace {

class Clock {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> passed = now - last_;
    last_ = now;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// call(record) for each, in tasks that are small enough for all threads to be busy to the end.
template <class Call>
void for_each(Team& team, const std::vector<Ref>& records, std::size_t least, const Call& call) {
  const std::size_t most = std::size_t{64} * team.threads();
  const std::size_t parts =
      team.threads() == 1 ? 1 : std::clamp<std::size_t>(records.size() / least, 1, most);
  team.each(parts, [&](std::size_t part) {
    const Range range(records.size(), parts, part);
    for (std::size_t i = range.first; i < range.last; ++i) {
      if (const Check check = team.check(); check != nullptr) check();
      call(records[i]);
    }
  });
}

std::vector<Ref> records_of(const Model& model, Kinds wanted) {
  std::vector<Ref> records;
  for (std::size_t i = 0; i < model.size(); ++i) {
    if (contains(wanted, model.kinds[i])) records.push_back(static_cast<Ref>(i));
  }
  return records;
}

// Where seams of all faces cross each edge, in order, each once.
void gather_cuts(Plans& plans, const std::vector<Ref>& faces) {
  constexpr double kSame = 2e-6;
  std::vector<Ref> touched;
  for (const Ref face : faces) {
    for (const auto& [edge, cuts] : plans.faces[face]->cuts) {
      auto& all = plans.edges[edge]->cuts;
      if (all.empty()) touched.push_back(edge);
      all.insert(all.end(), cuts.begin(), cuts.end());
    }
  }
  for (const Ref edge : touched) {
    EdgePlan& plan = *plans.edges[edge];
    std::ranges::sort(plan.cuts);
    std::vector<double> kept;
    for (const double each : plan.cuts) {
      const gp_Pnt point = plan.curve->Value(each);
      if (!kept.empty() && point.Distance(plan.curve->Value(kept.back())) < kSame &&
          each - kept.back() < (plan.last - plan.first) / 4) {
        continue;
      }
      kept.push_back(each);
    }
    plan.cuts = std::move(kept);
  }
}

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

// Empty if the face is valid.
std::string doubt_of(const TopoDS_Face& face) {
  try {
    const BRepCheck_Analyzer analyzer(face);
    if (analyzer.IsValid()) return {};
    std::string text;
    const auto add = [&](const TopoDS_Shape& shape, bool in_face) {
      const Handle(BRepCheck_Result)& result = analyzer.Result(shape);
      if (result.IsNull()) return;
      const auto take = [&](const BRepCheck_ListOfStatus& all) {
        for (const BRepCheck_Status each : all) {
          if (each == BRepCheck_NoError) continue;
          const std::string name = name_of(each);
          if (text.find(name) == std::string::npos) text += (text.empty() ? "" : ", ") + name;
        }
      };
      take(result->Status());
      if (!in_face) return;
      for (result->InitContextIterator(); result->MoreShapeInContext();
           result->NextShapeInContext()) {
        if (result->ContextualShape().IsSame(face)) take(result->StatusOnShape());
      }
    };
    add(face, false);
    for (const TopAbs_ShapeEnum sort : {TopAbs_WIRE, TopAbs_EDGE, TopAbs_VERTEX}) {
      for (TopExp_Explorer at(face, sort); at.More(); at.Next()) add(at.Current(), true);
    }
    return text.empty() ? "Open CASCADE's check fails" : text;
  } catch (const Standard_Failure& failure) {
    return std::string("Open CASCADE's check fails (") + failure.DynamicType()->Name() + ")";
  }
}

void measure(const TopoDS_Shape& shape, Body& body) {
  try {
    GProp_GProps surface;
    BRepGProp::SurfaceProperties(shape, surface, 1e-8);
    body.area = surface.Mass();
    for (TopExp_Explorer at(shape, TopAbs_SOLID); at.More(); at.Next()) {
      GProp_GProps volume;
      BRepGProp::VolumeProperties(at.Current(), volume, 1e-8);
      body.volume += volume.Mass();
    }
  } catch (const Standard_Failure&) {
    body.area = body.volume = 0;
  }
}

void make_plans(Plans& plans, Team& team, Times& times) {
  const Model& model = *plans.model;
  Clock clock;
  plans.curves.resize(model.size());
  plans.surfaces.resize(model.size());
  plans.edges.resize(model.size());
  plans.faces.resize(model.size());
  for_each(team, records_of(model, kCurves), 16, [&](Ref record) {
    plans.curves[record] = std::make_unique<CurveForm>(curve_of(model, record, plans.scale));
  });
  for_each(team, records_of(model, kSurfaces), 16, [&](Ref record) {
    plans.surfaces[record] = std::make_unique<SurfaceForm>(surface_of(model, record, plans.scale));
  });
  times.geometry = clock.lap();
  for_each(team, records_of(model, set_of(Kind::kEdge)), 16, [&](Ref record) {
    plans.edges[record] = std::make_unique<EdgePlan>();
    plan_edge(plans, record, *plans.edges[record]);
  });
  times.edges = clock.lap();
  const std::vector<Ref> faces = records_of(model, set_of(Kind::kFace));
  for_each(team, faces, 4, [&](Ref record) {
    plans.faces[record] = std::make_unique<FacePlan>();
    plan_loops(plans, record, *plans.faces[record]);
  });
  times.loops = clock.lap();
  gather_cuts(plans, faces);
  for_each(team, faces, 4, [&](Ref record) { plan_wires(plans, record, *plans.faces[record]); });
  times.wires = clock.lap();
}

// Validity of each face, and volume and area of each body.
void check_bodies(Team& team, const std::vector<Ref>& order, std::vector<Assembled>& made,
                  const Plans& plans, Report& report) {
  const Model& model = *plans.model;
  std::vector<std::pair<Ref, TopoDS_Face>> faces;
  for (const Assembled& each : made) {
    faces.insert(faces.end(), each.faces.begin(), each.faces.end());
    report.doubts.insert(report.doubts.end(), each.doubts.begin(), each.doubts.end());
  }
  std::vector<std::string> doubts(faces.size());
  std::vector<Ref> places(faces.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<Ref>(i);
  for_each(team, places, 4, [&](Ref i) { doubts[i] = doubt_of(faces[i].second); });
  for_each(team, order, 1, [&](Ref i) { measure(made[i].shape, made[i].body); });
  std::vector<char> state(model.size(), 0);
  for (std::size_t i = 0; i < faces.size(); ++i) {
    const Ref record = faces[i].first;
    if (state[record] == 0) state[record] = 'v';
    if (doubts[i].empty()) continue;
    if (state[record] == 'v') report.doubts.push_back({record, "it is not valid: " + doubts[i]});
    state[record] = 'd';
  }
  for (std::size_t i = 0; i < model.size(); ++i) {
    const auto record = static_cast<Ref>(i);
    if (model.kinds[i] == Kind::kFace) {
      ++report.faces;
      report.made += state[i] != 0;
      report.valid += state[i] == 'v';
      const std::string& why = plans.faces[i]->why;
      if (state[i] == 0) {
        report.missing.push_back({record, why.empty() ? "it could not be made" : why});
      }
    } else if (model.kinds[i] == Kind::kEdge && !plans.edges[i]->why.empty()) {
      report.missing.push_back({record, plans.edges[i]->why});
    }
  }
}

}  // namespace

Shapes make_shapes(const Model& model, Team& team) {
  Shapes shapes;
  Report& report = shapes.report;
  Plans plans;
  plans.model = &model;
  plans.scale = scale_of(model.document.header);
  make_plans(plans, team, report.times);
  Clock clock;
  const std::vector<BodyParts> bodies = parts_of(model);
  std::vector<Assembled> made(bodies.size());
  std::vector<Ref> order(bodies.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Ref>(i);
  for_each(team, order, 1, [&](Ref i) { made[i] = assemble(plans, bodies[i]); });
  report.times.bodies = clock.lap();
  check_bodies(team, order, made, plans, report);
  BRep_Builder builder;
  builder.MakeCompound(shapes.shape);
  for (Assembled& each : made) {
    builder.Add(shapes.shape, each.shape);
    shapes.bodies.push_back(each.shape);
    report.bodies.push_back(each.body);
  }
  report.times.check = clock.lap();
  return shapes;
}

}  // namespace sat::shapes

// The definitions.
#include "shapes.hpp"

#include <algorithm>
#include <chrono>

#include <BRep_Builder.hxx>

#include "assemble.hpp"
#include "inspect.hpp"
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

// Of each body the check's results, joined in the order of the file.
void join(const Plans& plans, std::vector<Assembled>& made, Report& report) {
  const Model& model = *plans.model;
  std::vector<char> state(model.size(), 0);
  for (Assembled& body : made) {
    std::ranges::move(body.doubts, std::back_inserter(report.doubts));
    for (const MadeFace& each : body.faces) {
      char& mine = state[each.record];
      if (!each.doubt.empty() && mine != 'd') {
        const std::string& seam = plans.faces[each.record]->no_seam;
        report.doubts.push_back({each.record, "it is not valid: " + each.doubt +
                                                  (seam.empty() ? "" : " (" + seam + ")")});
      }
      if (mine != 'd') mine = each.doubt.empty() ? 'v' : 'd';
    }
    report.bodies.push_back(body.body);
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

// By face, because bodies have few faces or many.
template <class Call>
void for_each_face(Team& team, std::vector<Assembled>& made, const Call& call) {
  std::vector<std::pair<Assembled*, MadeFace*>> faces;
  for (Assembled& body : made) {
    for (MadeFace& face : body.faces) faces.emplace_back(&body, &face);
  }
  std::vector<Ref> places(faces.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<Ref>(i);
  for_each(team, places, 4, [&](Ref i) { call(*faces[i].first, *faces[i].second); });
}

}  // namespace

Shapes make_shapes(const Model& model, Team& team, bool measured) {
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
  for_each_face(team, made, [](const Assembled&, MadeFace& face) { inspect(face); });
  for_each(team, order, 1, [&](Ref i) { mend(made[i]); });
  report.times.check = clock.lap();
  if (measured) {
    for_each_face(team, made,
                  [](const Assembled& body, MadeFace& face) { measure(body.middle, face); });
  }
  for_each(team, order, 1, [&](Ref i) {
    sum_up(made[i]);
    place(plans, made[i]);
  });
  BRep_Builder builder;
  builder.MakeCompound(shapes.shape);
  for (const Assembled& each : made) {
    builder.Add(shapes.shape, each.shape);
    shapes.bodies.push_back(each.shape);
  }
  join(plans, made, report);
  report.times.measures = clock.lap();
  return shapes;
}

}  // namespace sat::shapes

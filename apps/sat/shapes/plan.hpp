// The plans of edges and faces before their shapes exist. They have only numbers, so threads plan
// different records at the same time. parallel.md explains why that is safe.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <Geom2d_Curve.hxx>

#include "geometry.hpp"
#include "sat/model.hpp"
#include "track.hpp"

namespace sat::shapes {

struct EdgePlan {
  Handle(Geom_Curve) curve;  // null: a point, or none, for the reason in `why`
  double first = 0;          // of the curve
  double last = 0;
  bool backward = false;  // the record's direction is against that of the curve
  Ref low = kNull;        // vertices at `first` and at `last`
  Ref high = kNull;
  double tolerance = 0;
  bool mended = false;       // the file's parameters lead elsewhere than to its vertices
  std::vector<double> cuts;  // crossings with seams of faces, between first and last
  std::string why;
};

// An edge in a loop of a face, in the direction in which the face is on its left.
struct Use {
  Ref coedge = kNull;
  Ref edge = kNull;
  bool reversed = false;  // against the curve
  Track track;            // not on planes
  gp_Vec2d by;            // whole turns that join it to the use before
  // After this use the loop goes along a side that is a point.
  const Singular* gap = nullptr;
  double gap_from = 0;
  double gap_to = 0;

  double begin_parameter(const EdgePlan& plan) const { return reversed ? plan.last : plan.first; }
  double end_parameter(const EdgePlan& plan) const { return reversed ? plan.first : plan.last; }
  gp_Pnt2d value(double t) const { return track.value(t).Translated(by); }
};

struct LoopPlan {
  Ref record = kNull;
  std::vector<Use> uses;
  std::array<int, 2> turns{};  // in u, in v
  double area = 0;             // in the plane of u and v, if it makes no turns
};

// A crossing of a loop and the seam.
struct Crossing {
  std::size_t loop = 0;
  std::size_t use = 0;  // within the use, or at its beginning
  bool inside = false;  // an edge, at t
  double t = 0;
  int direction = 0;  // of the coordinate that the seam cuts
  double along = 0;   // the other coordinate
};

// A vertex of a face: the vertex of a record, a cut of an edge, or the face's own vertex.
struct Node {
  enum class Sort : std::uint8_t { kRecord, kCut, kOwn } sort = Sort::kRecord;
  Ref record = kNull;  // vertex or edge
  std::size_t index = 0;
  friend bool operator==(const Node&, const Node&) = default;
};

// An edge of the face's own: on its seam, or at a side that is a point.
struct OwnEdge {
  Handle(Geom_Curve) curve = {};  // null at a point
  double first = 0;
  double last = 0;
  Node low = {};
  Node high = {};
  Handle(Geom2d_Curve) forward = {};   // for a wire that uses it in its direction
  Handle(Geom2d_Curve) backward = {};  // null at a point
};

struct Piece {
  bool own = false;
  std::size_t index = 0;  // of own; else of the part of the edge, from 0 at `first`
  Ref edge = kNull;
  bool reversed = false;
  Handle(Geom2d_Curve) pcurve = {};  // of edges of records
};
using WirePlan = std::vector<Piece>;

struct FacePlan {
  SurfaceForm form;
  bool flipped = false;  // the face's normal is against that of u and v
  std::vector<LoopPlan> loops;
  std::vector<Crossing> crossings;
  int axis = -1;    // of the coordinate that the seam cuts; -1: no seam; 2: both
  double seam = 0;  // its value
  double other_seam = 0;
  bool natural = false;  // the whole of a surface that has bounds
  std::string no_seam;   // reason for leaving its loops to Open CASCADE's repair
  std::vector<std::pair<Ref, std::vector<double>>> cuts;  // wanted of edges
  std::vector<Ref> apexes;                                // vertices of loops that are a point

  std::vector<OwnEdge> own;
  std::vector<gp_Pnt> points;                      // of nodes of its own
  std::vector<std::vector<WirePlan>> faces;        // each with its wires; mostly one
  std::vector<std::pair<Ref, double>> deviations;  // of edges' curves from the surface
  std::string why;                                 // the reason if it cannot be made
  std::vector<std::pair<Ref, std::string>> notes;  // the parts that are left out
};

// The records that the shapes are made of, with their plans. Indexed by record.
struct Plans {
  const Model* model = nullptr;
  double scale = 1;
  std::vector<std::unique_ptr<CurveForm>> curves;
  std::vector<std::unique_ptr<SurfaceForm>> surfaces;
  std::vector<std::unique_ptr<EdgePlan>> edges;
  std::vector<std::unique_ptr<FacePlan>> faces;

  gp_Pnt vertex(Ref record) const;
};

// The steps. Each reads the results of earlier steps, and writes only its own record's plan.
void plan_edge(const Plans& plans, Ref record, EdgePlan& plan);
void plan_loops(const Plans& plans, Ref record, FacePlan& plan);  // wants cuts
void plan_wires(const Plans& plans, Ref record, FacePlan& plan);  // when all cuts are known

// Part of plan_loops: chooses a seam and finds its crossings with loops. Part of plan_wires: wires
// along it.
void choose_seam(const Plans& plans, FacePlan& plan);
void cut_at_seam(const Plans& plans, FacePlan& plan);
// Leaves the loops as they are.
void give_up_seam(FacePlan& plan, const std::string& why);
// The parts of a use, in its direction, with their pcurves.
std::vector<Piece> pieces_of(const Plans& plans, const FacePlan& plan, const Use& use,
                             const gp_Vec2d& by);
// The edge at a side that is a point.
Piece pole_piece(const Plans& plans, FacePlan& plan, const Singular& singular, double from,
                 double to);
// In the plane of u and v: a wire with its outline, and faces of such wires.
struct Outline {
  WirePlan wire;
  std::vector<gp_Pnt2d> polygon;
};
double area_of(const std::vector<gp_Pnt2d>& polygon);
bool is_inside(const std::vector<gp_Pnt2d>& polygon, const gp_Pnt2d& point);
std::vector<gp_Pnt2d> polygon_of(const LoopPlan& loop);
// Puts each hole into the face that surrounds it.
void gather_faces(FacePlan& plan, std::vector<Outline> outlines);

// A problem with a record, as an exception inside a step.
struct CannotMake : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace sat::shapes

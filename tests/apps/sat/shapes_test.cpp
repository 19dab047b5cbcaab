// sat::shapes on small solids: each is closed and valid and has the right volume and area, whatever
// the number of threads, the version, the unit and the place of the seam.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <string>

#include <BRepGProp.hxx>
#include <BRepTools.hxx>
#include <BRep_Builder.hxx>
#include <GProp_GProps.hxx>
#include <STEPControl_Reader.hxx>

#include "gtest/gtest.h"
#include "sat/shapes/convert.hpp"
#include "sat/verify.hpp"
#include "small.hpp"

namespace sat_test {
namespace {

using sat::shapes::Conversion;
using sat::shapes::Report;

constexpr double kPi = std::numbers::pi;

Report report_of(std::string_view text, unsigned threads = 1) {
  const sat::Model model = model_of(text, {}, threads);
  EXPECT_TRUE(sat::verify(model).empty());
  sat::Team team(threads);
  return Conversion(model, team, true).report();
}

void expect_closed_solid(const Report& report, double volume, double area) {
  EXPECT_EQ(report.made, report.faces);
  EXPECT_EQ(report.valid, report.faces);
  EXPECT_TRUE(report.missing.empty());
  for (const auto& each : report.doubts) ADD_FAILURE() << each.what;
  ASSERT_EQ(report.bodies.size(), 1U);
  EXPECT_EQ(report.bodies[0].solids, 1U);
  EXPECT_EQ(report.bodies[0].free_edges, 0U);
  EXPECT_NEAR(report.bodies[0].volume, volume, 1e-6 * volume);
  EXPECT_NEAR(report.bodies[0].area, area, 1e-6 * area);
}

std::string file_of(std::string_view header, std::string_view records) {
  return std::string(header) + std::string(records) + std::string(kMark) + "\n";
}

// A body with one lump and one shell, whose first face is record 3.
constexpr std::string_view kBody =
    "body $-1 -1 $-1 $1 $-1 $-1 #\nlump $-1 -1 $-1 $-1 $2 $0 #\n"
    "shell $-1 -1 $-1 $-1 $-1 $3 $-1 $1 #\n";

// A cylinder of radius 2 and height 5 about z. The upper circle begins at the angle `u`.
std::string cylinder(double u, std::string_view header = kHeader,
                     const std::string& transform = {}) {
  char c[60];
  std::snprintf(c, sizeof c, "%.17g %.17g", 2 * std::cos(u), 2 * std::sin(u));
  std::string body(kBody);
  if (!transform.empty()) body = replaced(body, "$1 $-1 $-1 #", "$1 $-1 $24 #");
  return file_of(header,
                 body +
                     "face $-1 -1 $-1 $4 $6 $2 $-1 $10 forward single #\n"
                     "face $-1 -1 $-1 $5 $8 $2 $-1 $11 forward single #\n"
                     "face $-1 -1 $-1 $-1 $9 $2 $-1 $12 forward single #\n"
                     "loop $-1 -1 $-1 $7 $13 $3 #\nloop $-1 -1 $-1 $-1 $14 $3 #\n"
                     "loop $-1 -1 $-1 $-1 $15 $4 #\nloop $-1 -1 $-1 $-1 $16 $5 #\n"
                     "cone-surface $-1 -1 $-1 0 0 0 0 0 1 2 0 0 1 I I 0 1 2 forward I I I I #\n"
                     "plane-surface $-1 -1 $-1 0 0 0 0 0 -1 1 0 0 forward_v I I I I #\n"
                     "plane-surface $-1 -1 $-1 0 0 5 0 0 1 1 0 0 forward_v I I I I #\n"
                     "coedge $-1 -1 $-1 $13 $13 $15 $17 forward $6 $-1 #\n"
                     "coedge $-1 -1 $-1 $14 $14 $16 $18 reversed $7 $-1 #\n"
                     "coedge $-1 -1 $-1 $15 $15 $13 $17 reversed $8 $-1 #\n"
                     "coedge $-1 -1 $-1 $16 $16 $14 $18 forward $9 $-1 #\n"
                     "edge $-1 -1 $-1 $19 0 $19 6.2831853071795862 $13 $21 forward @7 unknown #\n"
                     "edge $-1 -1 $-1 $20 0 $20 6.2831853071795862 $14 $22 forward @7 unknown #\n"
                     "vertex $-1 -1 $-1 $17 $23 #\nvertex $-1 -1 $-1 $18 $25 #\n"
                     "ellipse-curve $-1 -1 $-1 0 0 0 0 0 1 2 0 0 1 I I #\n"
                     "ellipse-curve $-1 -1 $-1 0 0 5 0 0 1 " +
                     std::string(c) + " 0 1 I I #\npoint $-1 -1 $-1 2 0 0 #\n" +
                     (transform.empty() ? "transform $-1 -1 1 0 0 0 1 0 0 0 1 0 0 0 1 no_rotate "
                                          "no_reflect no_shear #\n"
                                        : transform) +
                     "point $-1 -1 $-1 " + std::string(c) + " 5 #\n");
}

TEST(Shapes, a_cylinder_without_a_seam_is_closed_wherever_its_circles_begin) {
  for (const double u : {0.0, 1.0, 3.0, -2.5}) {
    expect_closed_solid(report_of(cylinder(u)), 20 * kPi, 28 * kPi);
  }
}

TEST(Shapes, the_unit_of_the_file_is_turned_into_millimetres) {
  const std::string header = replaced(kHeader, "\n1 9.99", "\n25.4 9.99");
  const double s = 25.4;
  expect_closed_solid(report_of(cylinder(1, header)), 20 * kPi * s * s * s, 28 * kPi * s * s);
}

TEST(Shapes, a_transform_turns_scales_and_mirrors_its_body) {
  const std::string turned =
      "transform $-1 -1 0 1 0 -1 0 0 0 0 1 7 8 9 1 rotate no_reflect no_shear #\n";
  expect_closed_solid(report_of(cylinder(1, kHeader, turned)), 20 * kPi, 28 * kPi);
  const std::string mirrored =
      "transform $-1 -1 1 0 0 0 1 0 0 0 -1 0 0 0 2 no_rotate reflect no_shear #\n";
  expect_closed_solid(report_of(cylinder(1, kHeader, mirrored)), 160 * kPi, 112 * kPi);
}

TEST(Shapes, a_sphere_and_a_torus_without_loops_are_whole) {
  const auto solid = [](std::string_view surface) {
    return file_of(kHeader, std::string(kBody) +
                                "face $-1 -1 $-1 $-1 $-1 $2 $-1 $4 forward single #\n" +
                                std::string(surface));
  };
  expect_closed_solid(
      report_of(solid("sphere-surface $-1 -1 $-1 1 2 3 2 1 0 0 0 0 1 forward_v I I I I #\n")),
      32 * kPi / 3, 16 * kPi);
  expect_closed_solid(
      report_of(solid("torus-surface $-1 -1 $-1 1 2 3 0 0 1 3 1 1 0 0 forward_v I I I I #\n")),
      6 * kPi * kPi, 12 * kPi * kPi);
}

TEST(Shapes, half_a_sphere_is_closed_whose_circle_goes_through_its_poles) {
  // The half with y > 0; its vertex is neither at a pole nor on the equator.
  expect_closed_solid(
      report_of(file_of(
          kHeader, std::string(kBody) +
                       "face $-1 -1 $-1 $4 $5 $2 $-1 $7 forward single #\n"
                       "face $-1 -1 $-1 $-1 $6 $2 $-1 $8 forward single #\n"
                       "loop $-1 -1 $-1 $-1 $9 $3 #\nloop $-1 -1 $-1 $-1 $10 $4 #\n"
                       "sphere-surface $-1 -1 $-1 0 0 0 5 1 0 0 0 0 1 forward_v I I I I #\n"
                       "plane-surface $-1 -1 $-1 0 0 0 0 -1 0 1 0 0 forward_v I I I I #\n"
                       "coedge $-1 -1 $-1 $9 $9 $10 $11 forward $5 $-1 #\n"
                       "coedge $-1 -1 $-1 $10 $10 $9 $11 reversed $6 $-1 #\n"
                       "edge $-1 -1 $-1 $12 0 $12 6.2831853071795862 $9 $13 forward @7 unknown #\n"
                       "vertex $-1 -1 $-1 $11 $14 #\n"
                       "ellipse-curve $-1 -1 $-1 0 0 0 0 1 0 3 0 4 1 I I #\n"
                       "point $-1 -1 $-1 3 0 4 #\n")),
      250 * kPi / 3, 75 * kPi);
}

TEST(Shapes, what_cannot_be_made_is_named_with_its_record) {
  const std::string text =
      replaced(cylinder(1), "cone-surface $-1 -1 $-1 0 0 0 0 0 1 2 0 0 1 I I 0 1 2 forward",
               "magic-surface $-1 -1 $-1 0 0 0 0 0 1 2 0 0 1 I I 0 1 2 forward");
  const Report report = report_of(text);
  EXPECT_EQ(report.faces, 3U);
  EXPECT_EQ(report.made, 2U);
  ASSERT_EQ(report.missing.size(), 1U);
  EXPECT_EQ(report.missing[0].record, 3U);
  EXPECT_NE(report.missing[0].what.find("not understood"), std::string::npos);
  ASSERT_EQ(report.bodies.size(), 1U);
  EXPECT_EQ(report.bodies[0].solids, 0U);
  EXPECT_EQ(report.bodies[0].free_edges, 2U);
}

TEST(Shapes, a_point_that_is_missing_or_too_far_is_named_and_its_faces_are_left_out) {
  for (const char* const at : {"x 0 0", "1e99 0 0"}) {
    const std::string text = replaced(cylinder(1), "point $-1 -1 $-1 2 0 0 #",
                                      std::string("point $-1 -1 $-1 ") + at + " #");
    const sat::Model model = model_of(text, {.partial = true});
    sat::Team team(1);
    const Report report = Conversion(model, team, true).report();
    EXPECT_EQ(report.made, 1U) << at;
    EXPECT_FALSE(report.missing.empty()) << at;
  }
}

TEST(Shapes, an_axis_or_a_size_that_is_missing_or_too_large_is_named_and_nothing_goes_on_for_ever) {
  const std::string plane = "plane-surface $-1 -1 $-1 0 0 5 ";
  const std::string cone = "cone-surface $-1 -1 $-1 0 0 0 ";
  for (const auto& [good, bad] : {std::pair{plane + "0 0 1", plane + "0 0 nan"},
                                  {plane + "0 0 1", plane + "0 0 0"},
                                  {cone + "0 0 1", cone + "0 x 1"},
                                  {cone + "0 0 1 2 0 0", cone + "0 0 1 1e99 0 0"},
                                  {cone + "0 0 1 2 0 0 1 I I 0", cone + "0 0 1 2 0 0 1 I I inf"}}) {
    const std::string text = replaced(cylinder(1), good, bad);
    const sat::Model model = model_of(text, {.partial = true});
    sat::Team team(1);
    const Report report = Conversion(model, team, true).report();
    EXPECT_EQ(report.made, 2U) << bad;
    ASSERT_EQ(report.missing.size(), 1U) << bad;
  }
}

TEST(Shapes, threads_make_the_same_shapes) {
  const Report one = report_of(cylinder(1), 1);
  const Report four = report_of(cylinder(1), 4);
  ASSERT_EQ(one.bodies.size(), four.bodies.size());
  EXPECT_EQ(one.valid, four.valid);
  EXPECT_EQ(one.bodies[0].volume, four.bodies[0].volume);
  EXPECT_EQ(one.bodies[0].area, four.bodies[0].area);
}

double volume_of(const TopoDS_Shape& shape) {
  GProp_GProps properties;
  BRepGProp::VolumeProperties(shape, properties, 1e-8);
  return properties.Mass();
}

TEST(Shapes, step_and_brep_files_have_the_same_volume_when_they_are_read_again) {
  const sat::Model model = model_of(cylinder(1));
  sat::Team team(1);
  const Conversion made(model, team, false);
  const auto folder = std::filesystem::path(testing::TempDir());
  const std::string step = folder / "sat_shapes_test.step";
  made.write(sat::shapes::Format::kStep, step, step, team);
  STEPControl_Reader reader;
  ASSERT_EQ(reader.ReadFile(step.c_str()), IFSelect_RetDone);
  reader.TransferRoots();
  EXPECT_NEAR(volume_of(reader.OneShape()), 20 * kPi, 1e-6);
  const std::string brep = folder / "sat_shapes_test.brep";
  made.write(sat::shapes::Format::kBrep, brep, brep, team);
  TopoDS_Shape shape;
  ASSERT_TRUE(BRepTools::Read(shape, brep.c_str(), BRep_Builder()));
  EXPECT_NEAR(volume_of(shape), 20 * kPi, 1e-6);
  std::filesystem::remove(step);
  std::filesystem::remove(brep);
}

}  // namespace
}  // namespace sat_test

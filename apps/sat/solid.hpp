// A solid of faces, edges and vertices for the generator, and its records in a file of version 700.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sat {

struct Position {
  double x = 0;
  double y = 0;
  double z = 0;
};
Position operator+(const Position& a, const Position& b);
Position operator-(const Position& a, const Position& b);
Position operator*(double factor, const Position& a);
Position cross(const Position& a, const Position& b);
double length(const Position& a);

// The placement of a solid: turned about the z axis, then moved.
struct Placement {
  double cosine = 1;
  double sine = 0;
  Position origin;
  Position point(const Position& p) const { return direction(p) + origin; }
  Position direction(const Position& d) const {
    return {cosine * d.x - sine * d.y, sine * d.x + cosine * d.y, d.z};
  }
};

// An edge in a loop, in its own direction or against it. `pcurve`: data of a pcurve, or none.
struct Use {
  std::size_t edge = 0;
  bool reversed = false;
  std::string pcurve = {};
};
using Ring = std::vector<Use>;

class Solid {
 public:
  // Each function returns the index by which other parts refer to the new part. Data are the fields
  // after the common ones, such as "0 0 0 1 0 0 I I"; the class is a whole identifier. An edge
  // without class is a point.
  std::size_t vertex(const Position& position);
  std::size_t edge(std::size_t start, double t0, std::size_t end, double t1,
                   const std::string& curve_class, const std::string& curve_data);
  void face(const std::string& surface_class, const std::string& surface_data, bool reversed,
            std::vector<Ring> rings);
  // The straight edge between two vertices, made at its first use, with its direction from `from`
  // to `to`.
  Use straight(std::size_t from, std::size_t to);

  const Position& position(std::size_t vertex) const { return vertices_[vertex]; }
  void colour(const std::array<double, 3>& rgb) { colour_ = rgb; }
  // Volume and area by the formulas of its sort, for checks of a translator. Area 0: there is no
  // formula.
  void measures(double volume, double area) {
    volume_ = volume;
    area_ = area;
  }
  double volume() const { return volume_; }
  double area() const { return area_; }
  // B-splines that its data define: the numbers of the table count over all solids.
  std::size_t subtypes() const { return subtypes_; }
  void count_subtype() { ++subtypes_; }

  // Records beside that of the body.
  std::size_t records() const;
  // `body`: its record; `first`: the first of the other records, which follow one another.
  std::string body_record(std::size_t first) const;
  void append_records(std::size_t body, std::size_t first, std::string& out) const;

 private:
  struct Edge {
    std::size_t start;
    double t0;
    std::size_t end;
    double t1;
    std::string curve_class;
    std::string curve_data;
  };
  struct Face {
    std::string surface_class;
    std::string surface_data;
    bool reversed;
    std::vector<Ring> rings;
  };
  struct Layout;

  Layout layout(std::size_t first) const;
  void append_faces(const Layout& at, std::string& out) const;
  void append_loops(const Layout& at, std::string& out) const;
  void append_coedges(const Layout& at, std::string& out) const;
  void append_edges(const Layout& at, std::string& out) const;

  std::vector<Position> vertices_;
  std::vector<Edge> edges_;
  std::vector<Face> faces_;
  std::array<double, 3> colour_{};
  double volume_ = 0;
  double area_ = 0;
  std::size_t subtypes_ = 0;
};

// "x y z " with the digits that give the same bits.
std::string text_of(double value);
std::string text_of(const Position& p);

}  // namespace sat

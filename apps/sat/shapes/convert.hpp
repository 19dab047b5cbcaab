// The interface of `tmk-sat convert` to the shapes, without a header of Open CASCADE. tmk-sat has
// the definitions of without/convert.cpp, which start tmk-sat-shapes, the program with the real
// definitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sat/model.hpp"
#include "sat/team.hpp"

namespace sat::shapes {

enum class Format : std::uint8_t { kStep, kBrep, kStl, kGltf, kSvg };

// By the ending of the name: .step .stp .brep .stl .glb .svg. Throws students::BadRequest.
Format format_of(const std::string& path);

// A difference from the file, or from the rules of Open CASCADE.
struct Finding {
  Ref record = kNull;
  std::string what;
};

// The time of each step, in milliseconds.
struct Times {
  double geometry = 0;
  double edges = 0;
  double loops = 0;
  double wires = 0;
  double bodies = 0;
  double check = 0;
  double measures = 0;  // volume and area, which are no part of the shapes
  double all() const { return geometry + edges + loops + wires + bodies + check; }
};

struct Body {
  Ref record = kNull;  // kNull: faces and edges of no body
  std::uint64_t solids = 0;
  std::uint64_t sheets = 0;      // shells that bound no solid
  std::uint64_t free_edges = 0;  // of lumps with one-sided faces, which should close
  double volume = 0;             // of the solids, in cubic millimetres, if measured
  double area = 0;
};

struct Report {
  std::vector<Body> bodies;
  std::uint64_t faces = 0;       // in the file
  std::uint64_t made = 0;        // of them
  std::uint64_t valid = 0;       // of those, by Open CASCADE's check
  std::vector<Finding> missing;  // faces and edges that could not be made
  std::vector<Finding> doubts;   // shapes that are not valid, or not closed
  Times times;
};

// Sets whether all threads share one allocator of Open CASCADE, as they do without allocator.cpp,
// to measure its cost. Must not be called while threads make shapes.
void share_allocator(bool shared);

class Conversion {
 public:
  // In tmk-sat: becomes tmk-sat-shapes, or throws students::Failure if that was not built.
  static void require_kernel();

  // Lists and rings of the model must end, which sat::verify checks. `measured`: with the volume
  // and area of bodies, which take longer than the shapes.
  Conversion(const Model& model, Team& team, bool measured);
  ~Conversion();
  Conversion(const Conversion&) = delete;
  Conversion& operator=(const Conversion&) = delete;

  const Report& report() const;
  // Of a body's solids, in cubic millimetres, by Open CASCADE's own quick integration.
  double volume(std::size_t body) const;
  // Writes all shapes to this path. Returns the number of faces that are missing, because they
  // cannot be cut into triangles. Throws students::Failure. `target`: the file's name in sentences.
  std::uint64_t write(Format format, const std::string& path, const std::string& target,
                      Team& team) const;

 private:
  struct Shape;
  std::unique_ptr<Shape> shape_;
};

}  // namespace sat::shapes

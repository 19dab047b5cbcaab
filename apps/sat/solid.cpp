// The definitions.
#include "solid.hpp"

#include <cmath>
#include <utility>

#include "writer.hpp"

namespace sat {
namespace {

void add(std::string& out, const char* text) { out += text; }
void add_ref(std::string& out, std::size_t record) {
  out += '$';
  append_integer(static_cast<std::int64_t>(record), out);
  out += ' ';
}
// The fields that all topology and geometry has: no attribute, no id, no pattern.
void begin(std::string& out, const std::string& identifier) { out += identifier + " $-1 -1 $-1 "; }

}  // namespace

Position operator+(const Position& a, const Position& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
Position operator-(const Position& a, const Position& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
Position operator*(double factor, const Position& a) {
  return {factor * a.x, factor * a.y, factor * a.z};
}
Position cross(const Position& a, const Position& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
double length(const Position& a) { return std::sqrt(a.x * a.x + a.y * a.y + a.z * a.z); }

std::string text_of(double value) {
  std::string text;
  append_real(value, text);
  return text + " ";
}
std::string text_of(const Position& p) { return text_of(p.x) + text_of(p.y) + text_of(p.z); }

std::size_t Solid::vertex(const Position& position) {
  vertices_.push_back(position);
  return vertices_.size() - 1;
}

std::size_t Solid::edge(std::size_t start, double t0, std::size_t end, double t1,
                        const std::string& curve_class, const std::string& curve_data) {
  edges_.push_back({start, t0, end, t1, curve_class, curve_data});
  return edges_.size() - 1;
}

Use Solid::straight(std::size_t from, std::size_t to) {
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    if (edges_[i].start == from && edges_[i].end == to) return {i, false};
    if (edges_[i].start == to && edges_[i].end == from) return {i, true};
  }
  const Position along = position(to) - position(from);
  const double size = length(along);
  const Position unit = (1 / size) * along;
  return {
      edge(from, 0, to, size, "straight-curve", text_of(position(from)) + text_of(unit) + "I I "),
      false};
}

void Solid::face(const std::string& surface_class, const std::string& surface_data, bool reversed,
                 std::vector<Ring> rings) {
  faces_.push_back({surface_class, surface_data, reversed, std::move(rings)});
}

// The first record of each sort; they follow in this order. Of coedges, of each loop.
struct Solid::Layout {
  std::size_t colour = 0;
  std::size_t lump = 0;
  std::size_t shell = 0;
  std::size_t faces = 0;
  std::size_t surfaces = 0;
  std::size_t loops = 0;
  std::vector<std::size_t> coedges;
  std::size_t pcurves = 0;
  std::size_t edges = 0;
  std::size_t curves = 0;
  std::size_t vertices = 0;
  std::size_t points = 0;
  std::size_t end = 0;
};

Solid::Layout Solid::layout(std::size_t first) const {
  Layout at;
  at.colour = first;
  at.lump = first + 1;
  at.shell = first + 2;
  at.faces = first + 3;
  at.surfaces = at.faces + faces_.size();
  at.loops = at.surfaces + faces_.size();
  std::size_t next = at.loops;
  for (const Face& each : faces_) next += each.rings.size();
  std::size_t pcurves = 0;
  for (const Face& face : faces_) {
    for (const Ring& ring : face.rings) {
      at.coedges.push_back(next);
      next += ring.size();
      for (const Use& use : ring) pcurves += !use.pcurve.empty();
    }
  }
  at.pcurves = next;
  at.edges = at.pcurves + pcurves;
  at.curves = at.edges + edges_.size();
  next = at.curves;
  for (const Edge& each : edges_) next += !each.curve_class.empty();
  at.vertices = next;
  at.points = at.vertices + vertices_.size();
  at.end = at.points + vertices_.size();
  return at;
}

std::size_t Solid::records() const { return layout(0).end; }

std::string Solid::body_record(std::size_t first) const {
  std::string out = "body ";
  add_ref(out, first);
  out += "-1 $-1 ";
  add_ref(out, first + 1);
  return out + "$-1 $-1 #\n";
}

void Solid::append_records(std::size_t body, std::size_t first, std::string& out) const {
  const Layout at = layout(first);
  add(out, "rgb_color-st-attrib $-1 -1 $-1 $-1 ");
  add_ref(out, body);
  for (const double each : colour_) out += text_of(each);
  add(out, "#\n");
  begin(out, "lump");
  add(out, "$-1 ");
  add_ref(out, at.shell);
  add_ref(out, body);
  add(out, "#\n");
  begin(out, "shell");
  add(out, "$-1 $-1 ");
  add_ref(out, at.faces);
  add(out, "$-1 ");
  add_ref(out, at.lump);
  add(out, "#\n");
  append_faces(at, out);
  append_loops(at, out);
  append_coedges(at, out);
  append_edges(at, out);
  for (std::size_t i = 0; i < vertices_.size(); ++i) {
    std::size_t edge = 0;
    while (edges_[edge].start != i && edges_[edge].end != i) ++edge;
    begin(out, "vertex");
    add_ref(out, at.edges + edge);
    add_ref(out, at.points + i);
    add(out, "#\n");
  }
  for (const Position& each : vertices_) {
    begin(out, "point");
    out += text_of(each) + "#\n";
  }
}

void Solid::append_faces(const Layout& at, std::string& out) const {
  std::size_t loop = at.loops;
  for (std::size_t i = 0; i < faces_.size(); ++i) {
    begin(out, "face");
    if (i + 1 < faces_.size()) {
      add_ref(out, at.faces + i + 1);
    } else {
      add(out, "$-1 ");
    }
    if (faces_[i].rings.empty()) {
      add(out, "$-1 ");
    } else {
      add_ref(out, loop);
    }
    loop += faces_[i].rings.size();
    add_ref(out, at.shell);
    add(out, "$-1 ");
    add_ref(out, at.surfaces + i);
    out += faces_[i].reversed ? "reversed single #\n" : "forward single #\n";
  }
  for (const Face& each : faces_) {
    begin(out, each.surface_class);
    out += each.surface_data + "#\n";
  }
}

void Solid::append_loops(const Layout& at, std::string& out) const {
  std::size_t loop = 0;
  for (std::size_t face = 0; face < faces_.size(); ++face) {
    const std::size_t rings = faces_[face].rings.size();
    for (std::size_t i = 0; i < rings; ++i, ++loop) {
      begin(out, "loop");
      if (i + 1 < rings) {
        add_ref(out, at.loops + loop + 1);
      } else {
        add(out, "$-1 ");
      }
      add_ref(out, at.coedges[loop]);
      add_ref(out, at.faces + face);
      add(out, "#\n");
    }
  }
}

void Solid::append_coedges(const Layout& at, std::string& out) const {
  // The two uses of each edge, which are partners.
  std::vector<std::array<std::size_t, 2>> uses(edges_.size(), {0, 0});
  std::vector<std::size_t> seen(edges_.size(), 0);
  std::size_t loop = 0;
  const auto each_ring = [&](const auto& call) {
    loop = 0;
    for (const Face& face : faces_) {
      for (const Ring& ring : face.rings) call(ring, at.coedges[loop++]);
    }
  };
  each_ring([&](const Ring& ring, std::size_t first) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      std::size_t& count = seen[ring[i].edge];
      if (count < 2) uses[ring[i].edge][count++] = first + i;
    }
  });
  std::size_t pcurve = at.pcurves;
  each_ring([&](const Ring& ring, std::size_t first) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const Use& use = ring[i];
      const std::size_t mine = first + i;
      begin(out, "coedge");
      add_ref(out, first + (i + 1) % ring.size());
      add_ref(out, first + (i + ring.size() - 1) % ring.size());
      if (seen[use.edge] == 2) {
        const auto& both = uses[use.edge];
        add_ref(out, both[0] == mine ? both[1] : both[0]);
      } else {
        add(out, "$-1 ");
      }
      add_ref(out, at.edges + use.edge);
      out += use.reversed ? "reversed " : "forward ";
      add_ref(out, at.loops + loop - 1);
      if (use.pcurve.empty()) {
        add(out, "$-1 ");
      } else {
        add_ref(out, pcurve++);
      }
      add(out, "#\n");
    }
  });
  each_ring([&](const Ring& ring, std::size_t) {
    for (const Use& use : ring) {
      if (use.pcurve.empty()) continue;
      begin(out, "pcurve");
      out += use.pcurve + "#\n";
    }
  });
}

void Solid::append_edges(const Layout& at, std::string& out) const {
  // The coedge that an edge names is its first.
  std::vector<std::size_t> coedges(edges_.size(), 0);
  std::size_t loop = at.coedges.size();
  for (std::size_t face = faces_.size(); face-- > 0;) {
    for (std::size_t ring = faces_[face].rings.size(); ring-- > 0;) {
      --loop;
      const Ring& uses = faces_[face].rings[ring];
      for (std::size_t i = 0; i < uses.size(); ++i) coedges[uses[i].edge] = at.coedges[loop] + i;
    }
  }
  std::size_t curve = at.curves;
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    begin(out, "edge");
    add_ref(out, at.vertices + edge.start);
    out += text_of(edge.t0);
    add_ref(out, at.vertices + edge.end);
    out += text_of(edge.t1);
    add_ref(out, coedges[i]);
    if (edge.curve_class.empty()) {
      add(out, "$-1 ");
    } else {
      add_ref(out, curve++);
    }
    add(out, "forward @7 unknown #\n");
  }
  for (const Edge& edge : edges_) {
    if (edge.curve_class.empty()) continue;
    begin(out, edge.curve_class);
    out += edge.curve_data + "#\n";
  }
}

}  // namespace sat

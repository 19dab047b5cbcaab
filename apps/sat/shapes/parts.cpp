// Assigns faces and edges to bodies.
#include <algorithm>

#include "assemble.hpp"

namespace sat::shapes {
namespace {

class Walk {
 public:
  explicit Walk(const Model& model) : model_(model), seen_(model.size(), false) {}

  BodyParts body(Ref record) {
    BodyParts parts{.record = record, .lumps = {}, .edges = {}};
    const sat::Body& body = model_.get<sat::Body>(record);
    each<Lump>(body.lump, [&](Ref lump, const Lump& of_lump) {
      LumpParts mine{.record = lump, .shells = {}};
      each<Shell>(of_lump.shell, [&](Ref, const Shell& shell) {
        std::vector<Ref> faces;
        add_faces(shell.face, faces);
        add_subshells(shell.subshell, faces, parts);
        add_wires(shell.wire, parts);
        if (!faces.empty()) mine.shells.push_back(std::move(faces));
      });
      parts.lumps.push_back(std::move(mine));
    });
    add_wires(body.wire, parts);
    return parts;
  }

  // Faces and edges that nothing leads to.
  BodyParts rest() {
    BodyParts parts;
    LumpParts loose;
    for (const Kind kind : {Kind::kFace, Kind::kEdge}) {
      for (std::size_t i = 0; i < model_.size(); ++i) {
        const auto record = static_cast<Ref>(i);
        if (model_.kinds[i] != kind || seen_[i]) continue;
        if (kind == Kind::kFace) {
          seen_[i] = true;
          mark_edges(model_.get<Face>(record));
          loose.shells.push_back({record});
        } else {
          parts.edges.push_back(record);
        }
      }
    }
    if (!loose.shells.empty()) parts.lumps.push_back(std::move(loose));
    return parts;
  }

 private:
  // A list of records that have a next. What was seen before ends it.
  template <class T, class Call>
  void each(Ref first, const Call& call) {
    for (Ref at = first; at != kNull;) {
      const T* const found = model_.find<T>(at);
      if (found == nullptr || seen_[at]) return;
      seen_[at] = true;
      call(at, *found);
      at = found->next;
    }
  }

  void add_faces(Ref first, std::vector<Ref>& faces) {
    each<Face>(first, [&](Ref record, const Face& face) {
      faces.push_back(record);
      mark_edges(face);
    });
  }

  void add_subshells(Ref first, std::vector<Ref>& faces, BodyParts& parts) {
    std::vector<Ref> pending{first};
    while (!pending.empty()) {
      const Ref next = pending.back();
      pending.pop_back();
      each<Subshell>(next, [&](Ref, const Subshell& subshell) {
        add_faces(subshell.face, faces);
        add_wires(subshell.wire, parts);
        pending.push_back(subshell.child);
      });
    }
  }

  void add_wires(Ref first, BodyParts& parts) {
    each<Wire>(first, [&](Ref, const Wire& wire) {
      // Coedges may branch: all that can be reached.
      std::vector<Ref> pending{wire.coedge};
      while (!pending.empty()) {
        const Ref at = pending.back();
        pending.pop_back();
        const Coedge* const coedge = model_.find<Coedge>(at);
        if (coedge == nullptr || seen_[at]) continue;
        seen_[at] = true;
        if (coedge->edge != kNull && !seen_[coedge->edge]) {
          seen_[coedge->edge] = true;
          parts.edges.push_back(coedge->edge);
        }
        for (const Ref next : {coedge->next, coedge->previous, coedge->partner}) {
          pending.push_back(next);
        }
      }
    });
  }

  void mark_edges(const Face& face) {
    each<Loop>(face.loop, [&](Ref, const Loop& loop) {
      each<Coedge>(loop.coedge, [&](Ref, const Coedge& coedge) {
        if (coedge.edge != kNull) seen_[coedge.edge] = true;
      });
    });
  }

  const Model& model_;
  std::vector<bool> seen_;
};

}  // namespace

std::vector<BodyParts> parts_of(const Model& model) {
  Walk walk(model);
  std::vector<BodyParts> bodies;
  for (std::size_t i = 0; i < model.size(); ++i) {
    if (model.kinds[i] == Kind::kBody) bodies.push_back(walk.body(static_cast<Ref>(i)));
  }
  BodyParts rest = walk.rest();
  if (!rest.lumps.empty() || !rest.edges.empty()) bodies.push_back(std::move(rest));
  return bodies;
}

}  // namespace sat::shapes

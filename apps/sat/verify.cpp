// The definitions. A walk stamps the objects that it visits, so all walks together visit each
// object once.
#include "verify.hpp"

#include <string>

namespace sat {
namespace {

class Verifier {
 public:
  Verifier(const Model& model, std::size_t most, Check check)
      : model_(model), most_(most), check_(check), lines_(model.document.bytes.view()) {}

  template <class T>
  void list(const char* field, Ref T::* next) {
    stamps_.assign(model_.size(), 0);
    for_each<T>([&](Ref start, std::uint32_t stamp) {
      Ref at = start;
      for (const T* object = model_.find<T>(at); object != nullptr && stamps_[at] == 0;
           object = model_.find<T>(at)) {
        stamps_[at] = stamp;
        const Ref following = object->*next;
        if (following != kNull && stamps_[following] == stamp) {
          add(at, field, name(following) + " is before it in the same list, which never ends.");
          return;
        }
        if (following == kNull) return;
        at = following;
      }
    });
  }

  // From the first coedge of each loop back to it.
  void loops() {
    for_each<Loop>([&](Ref loop, std::uint32_t) {
      const Ref first = model_.get<Loop>(loop).coedge;
      if (first != kNull) ring(loop, first);
    });
  }

  // Coedges of one edge, each the partner of the one before.
  void partners() {
    stamps_.assign(model_.size(), 0);
    for_each<Coedge>([&](Ref start, std::uint32_t stamp) {
      if (stamps_[start] != 0) return;
      Ref at = start;
      while (at != kNull && stamps_[at] == 0) {
        stamps_[at] = stamp;
        const Coedge* const coedge = model_.find<Coedge>(at);
        if (coedge == nullptr) return;
        const Ref partner = coedge->partner;
        const Coedge* const other = partner == kNull ? nullptr : model_.find<Coedge>(partner);
        if (other != nullptr && other->edge != coedge->edge) {
          add(at, "partner", name(partner) + " is on another edge.");
          return;
        }
        if (partner == kNull && at != start) {
          add(at, "partner", "the ring that " + name(start) + " is in does not close here.");
        }
        at = partner;
      }
      if (at != kNull && at != start) {
        add(start, "partner", "the ring goes on to " + name(at) + " and does not come back.");
      }
    });
  }

  std::vector<Problem> take() { return std::move(found_); }

 private:
  template <class T, class Call>
  void for_each(const Call& call) {
    for (std::size_t i = 0; i < model_.size() && found_.size() < most_; ++i) {
      check_now_and_then(check_, i);
      if (model_.kinds[i] == T::kKind) call(static_cast<Ref>(i), static_cast<std::uint32_t>(i) + 1);
    }
  }

  std::string name(Ref record) const { return reference_text(model_.numbers.of(record)); }
  void add(Ref record, const char* field, const std::string& what) {
    if (found_.size() < most_) found_.push_back(model_.problem(record, field, what, lines_));
  }

  // Each coedge names the one before it, so that no two have the same next, and each names the
  // loop: the walk visits none twice and ends, at the first or at a problem.
  void ring(Ref loop, Ref first) {
    Ref at = first;
    do {
      const Coedge* const coedge = model_.find<Coedge>(at);
      if (coedge == nullptr) return;  // of a class that the schema does not know
      if (coedge->owner != loop) {
        add(at, "owner", "the coedge is in the ring of loop " + name(loop) + ".");
        return;
      }
      const Ref next = coedge->next;
      if (next == kNull) {
        add(at, "next", "the ring of loop " + name(loop) + " does not close.");
        return;
      }
      const Coedge* const following = model_.find<Coedge>(next);
      if (following != nullptr && following->previous != at) {
        add(next, "previous", name(at) + " is expected, whose next coedge this is.");
        return;
      }
      at = next;
    } while (at != first);
  }

  const Model& model_;
  std::size_t most_;
  Check check_;
  Lines lines_;
  std::vector<std::uint32_t> stamps_;
  std::vector<Problem> found_;
};

}  // namespace

std::vector<Problem> verify(const Model& model, std::size_t most, Check check) {
  Verifier verifier(model, most, check);
  verifier.list("next", &Lump::next);
  verifier.list("next", &Shell::next);
  verifier.list("next", &Subshell::next);
  verifier.list("child", &Subshell::child);
  verifier.list("next", &Wire::next);
  verifier.list("next", &Face::next);
  verifier.list("next", &Loop::next);
  verifier.list("next", &Attribute::next);
  verifier.loops();
  verifier.partners();
  return verifier.take();
}

}  // namespace sat

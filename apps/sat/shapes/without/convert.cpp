// The definitions where Open CASCADE is not there: all that can be done is to say so.
#include "sat/shapes/convert.hpp"
#include "students/complaint.hpp"

namespace sat::shapes {

struct Conversion::Shape {
  Report report;
};

void Conversion::require_kernel() {
  throw students::Failure(
      "This build has no shapes, because Open CASCADE was not there; install it with apt-get "
      "install libocct-modeling-algorithms-dev libocct-data-exchange-dev, then build with "
      "./threadmark setup --apps.");
}

Conversion::Conversion(const Model&, Team&, bool) { require_kernel(); }
Conversion::~Conversion() = default;
const Report& Conversion::report() const { return shape_->report; }
std::uint64_t Conversion::write(Format, const std::string&, const std::string&, Team&) const {
  require_kernel();
  return 0;
}

}  // namespace sat::shapes

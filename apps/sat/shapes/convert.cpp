// The definitions where Open CASCADE is there.
#include "convert.hpp"

#include <typeinfo>

#include <BRepGProp.hxx>
#include <GProp_GProps.hxx>
#include <Message.hxx>
#include <Message_Messenger.hxx>
#include <Message_Printer.hxx>
#include <Standard_Failure.hxx>

#include "formats.hpp"
#include "shapes.hpp"
#include "students/complaint.hpp"

namespace sat::shapes {

struct Conversion::Shape {
  Shapes shapes;
};

void Conversion::require_kernel() {}

Conversion::Conversion(const Model& model, Team& team, bool measured) {
  // What it has to say is said in our sentences.
  Message::DefaultMessenger()->RemovePrinters(STANDARD_TYPE(Message_Printer));
  shape_ = std::make_unique<Shape>(make_shapes(model, team, measured));
}
Conversion::~Conversion() = default;

const Report& Conversion::report() const { return shape_->shapes.report; }

double Conversion::volume(std::size_t body) const {
  GProp_GProps properties;
  BRepGProp::VolumeProperties(shape_->shapes.bodies[body], properties);
  return properties.Mass();
}

std::uint64_t Conversion::write(Format format, const std::string& path, const std::string& target,
                                Team& team) const {
  try {
    return write_shapes(shape_->shapes, format, path, target, team);
  } catch (const std::bad_cast&) {  // its stream of BREP ends so where the disk is full
    throw students::write_failure(target, 0, "another file or another format");
  } catch (const Standard_Failure& failure) {
    throw students::Failure(target + " cannot be written: Open CASCADE fails with " +
                            failure.DynamicType()->Name() + "; choose another format.");
  }
}

}  // namespace sat::shapes

// Whether Open CASCADE finds a face valid.
#pragma once

#include <string>

#include <TopoDS_Face.hxx>

namespace sat::shapes {

// The fault of the face; empty if it is valid. The answer is that of BRepCheck_Analyzer. The code
// does not use that class, because it takes a mutex of the process some twenty times for a face.
std::string doubt_of(const TopoDS_Face& face);

}  // namespace sat::shapes

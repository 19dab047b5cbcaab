// Whether Open CASCADE finds a face valid.
#pragma once

#include <string>

#include <TopoDS_Face.hxx>

namespace sat::shapes {

// What is wrong with it; empty if it is valid. The answer is that of BRepCheck_Analyzer, which is
// not asked, because it takes a mutex of the process some twenty times for a face.
std::string doubt_of(const TopoDS_Face& face);

}  // namespace sat::shapes

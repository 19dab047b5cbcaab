// The validity and the size of faces, and Open CASCADE's own repair of a body with invalid faces.
#pragma once

#include "assemble.hpp"

namespace sat::shapes {

// Fills the findings on the face: its doubt; its volume towards a point, and its area.
void inspect(MadeFace& face);
void measure(const gp_Pnt& middle, MadeFace& face);

// If faces of the body are not valid, takes ShapeFix's repair of a copy if that is better: more
// faces are valid, and no more edges are free.
void mend(Assembled& made);

// The body's volume and area out of its faces'.
void sum_up(Assembled& made);

}  // namespace sat::shapes

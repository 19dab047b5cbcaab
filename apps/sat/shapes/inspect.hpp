// Whether faces are valid, how large they are, and what Open CASCADE's own repair makes of a body
// with faces that are not.
#pragma once

#include "assemble.hpp"

namespace sat::shapes {

// Fills what is said of the face: its doubt; its volume towards a point, and its area.
void inspect(MadeFace& face);
void measure(const gp_Pnt& middle, MadeFace& face);

// If faces of the body are not valid, takes what ShapeFix makes of a copy of it, where that is
// better: more faces are valid, and no more edges are free.
void mend(Assembled& made);

// The body's volume and area out of its faces'.
void sum_up(Assembled& made);

}  // namespace sat::shapes

// The two environment variables by which another program that the target starts records too.
#pragma once

#include "probe/shared.hpp"

namespace threadmark::agent {

// Keeps the two variables for the agent and gives the target its own environment. False: there is
// no recorder.
bool take_environment(char** environment);
// The path of the shared memory, as given by the recorder.
const char* shared_path();

// From now on, programs that the target starts get the variables if `shared` allows it; null: no
// program gets them.
void pass_on(Shared* shared);
// The shared memory if children record too; null: they do not.
Shared* shared_with_children();

}  // namespace threadmark::agent

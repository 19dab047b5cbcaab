// What another program that is started here needs to record too: two variables of its environment.
#pragma once

#include "probe/shared.hpp"

namespace threadmark::agent {

// Keeps the two variables for the agent and gives the target its own. False: there is no recorder.
bool take_environment(char** environment);
// The path of the shared memory, as the recorder named it.
const char* shared_path();

// From now on programs that are started get the variables, as far as `shared` says so; null: none.
void pass_on(Shared* shared);
// Whether children record too; null: they do not.
Shared* shared_with_children();

}  // namespace threadmark::agent

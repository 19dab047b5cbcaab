// The output of the last node: the same bytes as `merge`, from the records that its state keeps.
#pragma once

#include <cstdint>
#include <string>

#include "state.hpp"

namespace students::nodes {

struct Results {
  std::uint64_t complete = 0;
  std::uint64_t incomplete = 0;
};

// Writes the result in place of an earlier one, and the list of incomplete students, or removes an
// earlier list if there are none. Both have the same temporary names in all calls for the same run,
// so that a call overwrites the remains of a killed process. Throws Failure.
Results write_results(const State& state, const std::string& target, std::uint32_t maximum);

}  // namespace students::nodes

// What a person gave cannot be used.
#pragma once

#include <stdexcept>

namespace bench {

// Bad arguments or a bad input file. The message is one sentence for the person who gave it; exit
// status 2.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace bench

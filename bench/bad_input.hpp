// The exception for unusable input of the user.
#pragma once

#include <stdexcept>

namespace bench {

// Bad arguments or a bad input file. The message is one sentence for the user; exit status 2.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace bench

// A valid file of version 700 with solids of all sorts, of any size.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "team.hpp"

namespace sat {

struct Generated {
  std::uint64_t records = 0;
  std::uint64_t bodies = 0;
};

// At least so many records; the last solid is whole. The same seed gives the same bytes. `take`
// gets them in pieces of about a megabyte.
Generated generate_file(std::uint64_t seed, std::uint64_t entities,
                        const std::function<void(std::string_view)>& take, Check check = nullptr);

}  // namespace sat

// The format for the ending of a name.
#include <algorithm>
#include <array>
#include <utility>

#include "convert.hpp"
#include "students/complaint.hpp"

namespace sat::shapes {

Format format_of(const std::string& path) {
  constexpr std::array<std::pair<std::string_view, Format>, 6> kEndings{{
      {".step", Format::kStep},
      {".stp", Format::kStep},
      {".brep", Format::kBrep},
      {".stl", Format::kStl},
      {".glb", Format::kGltf},
      {".svg", Format::kSvg},
  }};
  std::string lower = path;
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  for (const auto& [ending, format] : kEndings) {
    if (lower.ends_with(ending)) return format;
  }
  throw students::BadRequest(path + " must end in .step, .stp, .brep, .stl, .glb or .svg.");
}

}  // namespace sat::shapes

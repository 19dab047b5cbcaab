// The four nodes and their properties. They are in the order of the stream, which is that of the
// files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../data.hpp"

namespace students::nodes {

// A node has the number of its file.
using Node = File;
inline constexpr std::size_t kNodes = kFiles;
inline constexpr std::array<std::string_view, kNodes> kNodeNames{"basic", "exam", "exercise",
                                                                 "project"};

inline std::string name_of(Node node) { return std::string(kNodeNames[node]); }

inline std::optional<Node> node_named(std::string_view name) {
  for (std::size_t i = 0; i < kNodes; ++i) {
    if (kNodeNames[i] == name) return static_cast<Node>(i);
  }
  return std::nullopt;
}

// The bits of the files of the nodes before this node.
inline constexpr unsigned known_before(Node node) { return (1U << node) - 1; }

using Run = std::array<std::uint8_t, 16>;
inline constexpr Run kNoRun{};

}  // namespace students::nodes

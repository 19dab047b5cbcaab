// The fast method of making lines: the texts of a chunk, which is some whole blocks, as four flat
// arrays of characters. They depend only on the plan and the number of the chunk, so any thread may
// make them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "data.hpp"
#include "plan.hpp"

namespace students {

class ChunkText {
 public:
  // `plan` and `data` must live as long.
  ChunkText(const Plan& plan, const Data& data);

  static std::uint64_t chunks(const Plan& plan);
  static std::uint64_t memory_bytes(const Plan& plan);  // an upper bound

  // Makes the texts of this chunk, which is below chunks(plan). The first chunk also has the
  // content types. Returns the number of its students.
  std::uint64_t make(std::uint64_t chunk);

  std::string_view text(File file) const {
    return {texts_[file].get(), static_cast<std::size_t>(ends_[file] - texts_[file].get())};
  }

 private:
  struct Entry {
    std::array<char, 16> number;  // at most ten digits, and a tab
    std::uint32_t length;         // with the tab
    std::uint16_t label;
    char exam;
    char project;
  };

  static std::uint64_t blocks_in_chunk(const Plan& plan);
  void append_block(std::uint64_t block);
  void look_up(std::uint64_t first, std::uint64_t count);
  template <typename Rest>
  void append_lines(File file, std::uint64_t block, std::uint64_t count, Rest rest);
  char* append_exercises(char* at, std::uint64_t position) const;

  const Plan& plan_;
  const Data& data_;
  std::array<std::unique_ptr<char[]>, kFiles> texts_;
  std::array<char*, kFiles> ends_{};
  std::vector<Entry> entries_;        // of a block, by position
  std::vector<std::uint32_t> order_;  // of a block in a file
};

}  // namespace students

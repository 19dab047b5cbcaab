// The join of one partition: slots by number, which records fill in any order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "../complaint.hpp"
#include "../record.hpp"
#include "layout.hpp"
#include "scatter.hpp"

namespace students {

// The two texts that a merge writes: students in all four files, and the others.
enum Text : std::size_t { kResult = 0, kMissing = 1 };
using TextBytes = std::array<std::uint64_t, 2>;

// The complaint about records that were not there when they were counted.
Failure files_changed();

class Joiner {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{128} * 1024;

  // A student with two lines in a file.
  struct Twice {
    std::uint32_t number;
    File file;
    auto operator<=>(const Twice&) const = default;
  };

  // Has room for any partition of the layout, which must live as long.
  Joiner(const Layout& layout, const Scale& scale);

  // Begins a partition.
  void begin(const Partition& partition);
  // Adds the records of a block. Throws Failure if they are not those that were counted.
  void add(const char* block);
  // The lowest student number that is twice in a file, and the first such file.
  const std::optional<Twice>& twice() const { return twice_; }

  // The number of bytes that write() will give.
  TextBytes sizes() const;
  // Gives the texts in order of the numbers, in parts, to give(which, part). Returns the number of
  // students of each text.
  TextBytes write(const std::function<void(Text, std::string_view)>& give);

 private:
  // Calls call(number, slot) for each student in ascending order.
  template <typename Call>
  void for_each(Call call) const;
  Slot& slot(std::uint32_t number);
  std::string_view person(const Slot& slot) const {
    return {texts_.get() + slot.person, slot.person_bytes};
  }

  Scale scale_;
  std::uint64_t most_text_bytes_ = 0;
  std::uint64_t most_pages_ = 0;
  std::unique_ptr<char[]> texts_;
  std::unique_ptr<Slot[]> slots_;           // in pages of kSlotsInPage
  std::unique_ptr<std::uint32_t[]> index_;  // of each kSlotsInPage numbers: 1 + the page, 0: none
  std::array<std::unique_ptr<char[]>, 2> buffers_;

  std::uint32_t first_ = 0;
  std::uint64_t index_entries_ = 0;
  std::uint64_t text_bytes_ = 0;
  std::uint64_t pages_ = 0;
  std::optional<Twice> twice_;
};

}  // namespace students

// What the record carries of the mapped files, so that it can be analysed where the files are not:
// the symbols that hold what was recorded, those of code that was made at run time, and the code at
// the samples.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "image.hpp"
#include "writer.hpp"

namespace threadmark {

class Carried {
 public:
  // Absolute addresses of an image: of frames, of which only an exact stack has no call before the
  // innermost, and of objects.
  void frames(const WatchedImage& image, const std::vector<std::uint64_t>& stack, bool exact);
  void object(const WatchedImage& image, std::uint64_t address);

  // Reads the files and writes what is wanted of them. A file that is gone, replaced or no ELF file
  // is left out.
  void write(const std::vector<std::unique_ptr<WatchedImage>>& images, Writer& to) const;

 private:
  struct Wanted {
    std::unordered_set<std::uint64_t> calls, samples, objects;
  };
  std::unordered_map<std::uint64_t, Wanted> by_image_;
};

}  // namespace threadmark

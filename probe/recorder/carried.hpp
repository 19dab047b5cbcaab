// The parts of the mapped files that the record carries, so that a machine without the files can
// analyse it: the symbols that contain recorded addresses, those of code that was made at run time,
// and the code at the samples.
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
  // Adds absolute addresses of an image: of frames and of objects. Only in an exact stack is the
  // innermost frame not a return address.
  void frames(const WatchedImage& image, const std::vector<std::uint64_t>& stack, bool exact);
  void object(const WatchedImage& image, std::uint64_t address);

  // Reads the files and writes their wanted parts. It leaves out a file that is gone, replaced or
  // no ELF file.
  void write(const std::vector<std::unique_ptr<WatchedImage>>& images, Writer& to) const;

 private:
  struct Wanted {
    std::unordered_set<std::uint64_t> calls, samples, objects;
  };
  std::unordered_map<std::uint64_t, Wanted> by_image_;
};

}  // namespace threadmark

// An index of .eh_frame for programs whose linker wrote none: static programs of older linkers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/unwind/bytes.hpp"

namespace threadmark {

struct Section {
  std::uint64_t address = 0, offset = 0, size = 0;  // as in the ELF file; size 0: none
};

// The place of .eh_frame in an ELF file of 64 bits.
Section find_frames(const std::string& path);

// The bytes of an .eh_frame_hdr that would stand at `place`, for the frames from `address` on in
// `image`. Empty if there are none, or if they lie too far from `place`.
std::vector<unsigned char> index_frames(const unwind::Image& image, std::uint64_t address,
                                        std::uint64_t size, std::uint64_t place);

}  // namespace threadmark

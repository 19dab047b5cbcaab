// A file that has a temporary name until it is whole. A signal removes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "students/partial_file.hpp"

namespace sat {

class Output {
 public:
  // Makes an empty file beside `target`, or throws students::Failure. The destructor removes a file
  // that was not committed.
  explicit Output(const std::string& target) : file_(target, "another file with --out") {}

  // Appends; also ends the command if a signal came.
  void write(std::string_view text);
  // Gives the file its name, in place of an earlier one, and returns its bytes.
  std::uint64_t commit();

 private:
  students::PartialFile file_;
};

}  // namespace sat

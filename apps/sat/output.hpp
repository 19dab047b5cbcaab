// A file that has a temporary name until it is whole, so that nobody takes a part for the whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sat {

class Output {
 public:
  // Makes an empty file beside `target`, or throws students::Failure.
  explicit Output(std::string target);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();  // removes what was not committed

  // Appends; also ends the command if a signal came.
  void write(std::string_view text);
  // Gives the file its name, in place of an earlier one, and returns its bytes.
  std::uint64_t commit();

 private:
  std::string target_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  int descriptor_ = -1;
  bool exists_ = false;
};

}  // namespace sat

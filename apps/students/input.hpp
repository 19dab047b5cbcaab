// The four input files. The constructor checks the properties of a whole file; each line is checked
// when it is read. Each complaint names the file and the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "complaint.hpp"
#include "parse.hpp"

namespace students {

// One of the four files, open and checked to be of its kind. Any number of threads may read it.
class Input {
 public:
  // Checks the first line, the encoding and the last line feed, and notes the number of exercises.
  // `maximum` is that of Rules. Throws Failure.
  Input(const std::string& folder, File file, std::uint32_t maximum = kDefaultMaximum);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  const std::string& path() const { return path_; }
  const Rules& rules() const { return rules_; }
  std::uint64_t first() const { return first_; }  // beginning of the first student's line
  std::uint64_t size() const { return size_; }

  // Reads up to `bytes` bytes or to the end of the file; returns their number. Throws Failure.
  std::size_t read(std::uint64_t offset, char* to, std::size_t bytes) const;

  // The complaint about the line that begins at this offset. The function counts the lines before.
  Failure at_line(std::uint64_t offset, const std::string& what) const;

  // The complaint about a student with two lines in this file. The function searches for the lines.
  Failure twice(std::uint32_t number) const;

 private:
  void check_first_line();
  void check_last_line() const;
  void count_exercises();

  std::string path_;
  Rules rules_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t first_ = 0;
};

// Reads the lines of students that begin in a part of a file.
class LineReader {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{256} * 1024;  // beyond any line

  explicit LineReader(const Input& input) : LineReader(input, input.first(), input.size()) {}
  // Lines that begin in begin..end - 1; `begin` is at least input.first(), and need not be the
  // beginning of a line. The input must live as long.
  LineReader(const Input& input, std::uint64_t begin, std::uint64_t end);

  // Begins anew with another part of a file; the buffer stays.
  void restart(const Input& input, std::uint64_t begin, std::uint64_t end);

  // The next line; false when there is none. The texts of `line` hold until the next call.
  // Throws Failure; Interrupted when a signal was noted, checked now and then.
  bool next(Line& line) {
    if (at_ >= stop_ && !fill()) return false;
    line_ = at_;
    try {
      at_ = parse_line(input_->rules(), at_, filled_, line);
    } catch (const BadLine& error) {
      throw input_->at_line(offset_of(line_), error.what());
    }
    return true;
  }

  // The beginning of the last line of next(), and the beginning of the line after it.
  std::uint64_t line_offset() const { return offset_of(line_); }
  std::uint64_t next_offset() const { return offset_of(at_); }

 private:
  std::uint64_t offset_of(const char* at) const {
    return offset_ + static_cast<std::uint64_t>(at - buffer_.get());
  }
  bool fill();

  const Input* input_ = nullptr;
  std::unique_ptr<char[]> buffer_;
  std::uint64_t offset_ = 0;      // in the file, of the buffer
  std::uint64_t end_ = 0;         // no line that begins here or later is given
  const char* at_ = nullptr;      // the next line
  const char* line_ = nullptr;    // the last line
  const char* stop_ = nullptr;    // lines that begin before are whole in the buffer
  const char* filled_ = nullptr;  // the end of the read bytes
};

}  // namespace students

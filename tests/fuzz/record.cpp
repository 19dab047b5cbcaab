// Fuzzes the reader of a record: for any bytes, it prints lines of valid text that begin with
// a record and end with an end, or nothing at all, and holds no more memory than the bytes justify.
//
// A fuzzer would not find checksums, so this file makes chunks of the input: of each, one byte is
// the kind and two are the length. After a leading 0xff the reader gets the rest unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "probe/recorder/format.hpp"
#include "probe/recorder/reader.hpp"
#include "tests/fuzz/heap_watch.hpp"

namespace {

using threadmark::ChunkHead;
using threadmark::Printed;

// An entry of a table may be made of zeros that take a byte each, in a vector that grows by
// doubling. The printer keeps up to 2 MiB of text.
constexpr std::size_t kBytesPerByte = 128;
constexpr std::size_t kBytesForNothing = std::size_t{4} << 20;

[[noreturn]] void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "fuzz.record: %s: %.200s\n", what, detail.c_str());
  std::abort();
}

// Follows the text: brackets that match, strings that end, no control characters, and UTF-8.
class Checked final : public threadmark::Sink {
 public:
  bool take(std::string_view text) override {
    for (const char each : text) check(static_cast<unsigned char>(each));
    return true;
  }
  std::size_t lines() const { return lines_; }
  const std::string& last() const { return last_; }
  bool open() const { return depth_ != 0 || in_text_ || rest_ != 0; }
  const std::string& line() const { return line_; }

 private:
  void check(unsigned char byte) {
    if (rest_ > 0) {
      if ((byte & 0xc0) != 0x80) fail("text is not UTF-8", line_);
      --rest_;
    } else if (byte >= 0x80) {
      if (byte < 0xc2 || byte > 0xf4 || !in_text_) fail("text is not UTF-8", line_);
      rest_ = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    } else if (byte == '\n') {
      if (depth_ != 0 || in_text_) fail("a line ends too early", line_);
      ++lines_;
      last_ = line_;
      line_.clear();
      return;
    } else if (byte < 0x20) {
      fail("a control character", line_);
    } else if (escaped_) {
      escaped_ = false;
    } else if (in_text_) {
      escaped_ = byte == '\\';
      in_text_ = byte != '"';
    } else if (byte == '"') {
      in_text_ = true;
    } else if (byte == '{' || byte == '[') {
      ++depth_;
    } else if ((byte == '}' || byte == ']') && depth_-- == 0) {
      fail("brackets do not match", line_);
    }
    if (line_.size() < 200) line_ += static_cast<char>(byte);
  }

  std::string line_, last_;
  std::size_t lines_ = 0, depth_ = 0;
  unsigned rest_ = 0;
  bool in_text_ = false, escaped_ = false;
};

std::string chunks_of(std::string_view input) {
  if (!input.empty() && input[0] == '\xff') return std::string(input.substr(1));
  std::string file;
  while (input.size() >= 3) {
    const auto kind = static_cast<unsigned char>(input[0]);
    const std::size_t asked =
        static_cast<unsigned char>(input[1]) + 256U * static_cast<unsigned char>(input[2]);
    input.remove_prefix(3);
    const std::string_view body = input.substr(0, asked);
    input.remove_prefix(body.size());
    ChunkHead head{threadmark::kChunkMagic, kind, static_cast<std::uint32_t>(body.size()), 0};
    head.checksum = threadmark::checksum_of(head, body.data());
    file.append(reinterpret_cast<const char*>(&head), sizeof head);
    file += body;
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file = chunks_of({reinterpret_cast<const char*>(data), size});
  Checked sink;
  heap_watch::begin();
  const Printed printed = threadmark::print_record(file, sink);
  const std::size_t most_bytes = heap_watch::end();
  if (sink.open() || !sink.line().empty()) fail("the last line does not end", sink.line());
  const bool nothing = printed == Printed::no_record;
  if (nothing != (sink.lines() == 0)) fail("lines without a record", sink.last());
  if (!nothing && sink.last() != "{\"kind\":\"end\"}") fail("no end", sink.last());
  if (most_bytes > kBytesForNothing + kBytesPerByte * file.size()) {
    fail("more memory than the input justifies",
         std::to_string(most_bytes) + " bytes for " + std::to_string(file.size()));
  }
  return 0;
}

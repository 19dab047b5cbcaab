// The definitions.
#include "results.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "../complaint.hpp"
#include "../interruption.hpp"
#include "../merging/result_files.hpp"
#include "../partial_file.hpp"
#include "../record.hpp"
#include "message.hpp"

namespace students::nodes {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{128} * 1024;

// Of one run, whichever process writes it.
std::string temporary_name(const State& state) {
  std::string name = ".partial-";
  for (std::size_t i = 0; i < 4; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", state.words().run[i]);
    name += digits;
  }
  return name;
}

class Text {
 public:
  Text(const std::string& target, const State& state, std::string_view type)
      : file_(target, kOtherResult, temporary_name(state)), text_(kBufferBytes, '\0') {
    end_ = std::copy(type.begin(), type.end(), text_.data());
    *end_++ = '\n';
  }

  // Calls put(where the next line begins), which returns its end.
  template <typename Put>
  void line(Put put) {
    end_ = put(end_);
    ++lines_;
    if (end_ > text_.data() + kBufferBytes - kMostResultBytes) flush();
  }

  std::uint64_t lines() const { return lines_; }
  // The file with all lines.
  PartialFile& whole() {
    flush();
    return file_;
  }

 private:
  void flush() {
    file_.write({text_.data(), static_cast<std::size_t>(end_ - text_.data())});
    end_ = text_.data();
  }

  PartialFile file_;
  std::string text_;
  char* end_ = nullptr;
  std::uint64_t lines_ = 0;
};

// A record where the state keeps it.
struct Place {
  std::uint32_t number;
  const char* at;
};

void collect(std::string_view bytes, std::vector<Place>& places) {
  Record record;
  while (!bytes.empty()) {
    const char* const at = bytes.data();
    if (!take_record(bytes, record)) {
      throw Failure(
          "The state has a record that cannot be read; begin all nodes anew with --fresh.");
    }
    places.push_back({record.number, at});
  }
}

void write(const std::vector<Place>& places, const Scale& scale, Text& result, Text& list) {
  Record record;
  std::size_t count = 0;
  for (const Place& each : places) {
    if (++count % 4096 == 0) check_signals();
    std::string_view bytes(each.at, kRecordBytes + kMostPersonBytes);
    take_record(bytes, record);
    if (record.complete()) {
      result.line([&](char* at) {
        return put_result(at, record.number, record.person, record.points,
                          grade(record.points, scale));
      });
    } else {
      list.line([&](char* at) { return put_incomplete(at, record.number, record.known); });
    }
  }
}

}  // namespace

Results write_results(const State& state, const std::string& target, std::uint32_t maximum) {
  const Scale scale{.maximum = maximum, .exercises = state.words().exercises};
  Text result(target, state, kResultType);
  Text list(list_of(target), state, kIncompleteType);
  std::vector<Place> places;
  state.read_log([&](std::string_view bytes) { collect(bytes, places); },
                 [&] {
                   std::ranges::sort(places, {}, &Place::number);
                   write(places, scale, result, list);
                 });
  publish(result.whole(), list.whole(), list.lines() > 0);
  return {.complete = result.lines(), .incomplete = list.lines()};
}

}  // namespace students::nodes

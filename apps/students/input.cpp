// The definitions.
#include "input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "interruption.hpp"

namespace students {
namespace {

constexpr const char* kNotThere = "; choose the folder of the four files with --in.";
// More than the first line needs, and enough to know another file by.
constexpr std::size_t kBeginningBytes = 256;

Failure read_failure(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) return Failure(path + " does not exist" + kNotThere);
  std::string remedy = "check the file and its disk";
  if (error == EACCES || error == EPERM) remedy = "give read permission";
  if (error == EMFILE || error == ENFILE) remedy = "raise the limit of open files (ulimit -n)";
  return Failure(path + " cannot be read (" + std::strerror(error) + "); " + remedy + ".");
}

// What the encoding of the beginning of a file is, if it cannot be UTF-8.
std::optional<std::string> foreign_encoding(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) {
    return "it begins with a byte order mark; save the file as UTF-8 without one.";
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") ||
      (text.size() >= 2 && (text[0] == '\0') != (text[1] == '\0'))) {
    return "it is UTF-16, not UTF-8; convert the file (iconv -f UTF-16 -t UTF-8).";
  }
  return std::nullopt;
}

std::string wrong_type(std::string_view type, File file) {
  std::string result =
      "the content type is " + quoted(type) + ", not '" + std::string(kContentTypes[file]) + "'";
  const auto found = std::ranges::find(kContentTypes, type);
  if (found != kContentTypes.end()) {
    const auto other = static_cast<std::size_t>(found - kContentTypes.begin());
    return result + "; this is what " + std::string(kFileNames[other]) +
           " should be, so give each file its name.";
  }
  return result + "; put a file of the right kind here.";
}

}  // namespace

Input::Input(const std::string& folder, File file, std::uint32_t maximum)
    : path_((std::filesystem::path(folder) / kFileNames[file]).string()),
      rules_{.file = file, .exercises = 0, .maximum = maximum} {
  // O_NONBLOCK: a pipe without a writer is refused too.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw read_failure(path_, errno);
  try {
    struct stat facts{};
    if (fstat(descriptor_, &facts) != 0) throw read_failure(path_, errno);
    if (!S_ISREG(facts.st_mode)) throw Failure(path_ + " is not a regular file" + kNotThere);
    size_ = static_cast<std::uint64_t>(facts.st_size);
    check_first_line();
    check_last_line();
    count_exercises();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

Input::~Input() { close(descriptor_); }

std::size_t Input::read(std::uint64_t offset, char* to, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(descriptor_, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw read_failure(path_, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void Input::check_first_line() {
  if (size_ == 0) {
    throw Failure(path_ + " is empty, and its first line must be '" +
                  std::string(kContentTypes[rules_.file]) + "'; copy or generate it again.");
  }
  std::array<char, kBeginningBytes> beginning{};
  const std::string_view text(beginning.data(), read(0, beginning.data(), beginning.size()));
  if (const auto encoding = foreign_encoding(text)) throw at_line(0, *encoding);
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.size() == text.size()) {
    throw at_line(0, line == kContentTypes[rules_.file].substr(0, line.size())
                         ? "the file ends within it; copy or generate the file again."
                         : wrong_type(line, rules_.file));
  }
  if (line.ends_with('\r')) {
    throw at_line(0, "it ends with CR LF; convert the file (sed -i 's/\\r$//' FILE).");
  }
  if (line != kContentTypes[rules_.file]) throw at_line(0, wrong_type(line, rules_.file));
  first_ = line.size() + 1;
}

void Input::check_last_line() const {
  char last = 0;
  if (read(size_ - 1, &last, 1) == 1 && last == '\n') return;
  throw at_line(size_,
                "its line feed is missing, so the file is not whole; copy or generate it again.");
}

void Input::count_exercises() {
  if (rules_.file != kExercise || size_ == first_) return;
  const auto most = std::make_unique_for_overwrite<char[]>(kMostLineBytes);
  const std::string_view second(most.get(), read(first_, most.get(), kMostLineBytes));
  const std::uint32_t exercises = exercises_of(second.substr(0, second.find('\n')));
  if (exercises == 0 || exercises > kMostExercises) {
    throw at_line(first_, "it has points of " + std::to_string(exercises) +
                              " exercises, not of 1 to " + std::to_string(kMostExercises) +
                              "; correct the line.");
  }
  rules_.exercises = exercises;
}

Failure Input::at_line(std::uint64_t offset, const std::string& what) const {
  const auto buffer = std::make_unique_for_overwrite<char[]>(LineReader::kBufferBytes);
  std::uint64_t line = 1;
  for (std::uint64_t at = 0; at < offset;) {
    check_signals();
    const std::size_t wanted = std::min<std::uint64_t>(LineReader::kBufferBytes, offset - at);
    const std::size_t got = read(at, buffer.get(), wanted);
    if (got == 0) break;  // the file has become shorter
    line += static_cast<std::uint64_t>(std::count(buffer.get(), buffer.get() + got, '\n'));
    at += got;
  }
  return Failure(path_ + ", line " + std::to_string(line) + ": " + what);
}

Failure Input::twice(std::uint32_t number) const {
  LineReader reader(*this);
  Line line;
  std::uint64_t earlier = 0;
  for (std::uint64_t count = 2; reader.next(line); ++count) {
    if (line.number != number) continue;
    if (earlier != 0) {
      return Failure(path_ + ", line " + std::to_string(count) + ": the student " + padded(number) +
                     " is already in line " + std::to_string(earlier) +
                     "; remove one of the two lines.");
    }
    earlier = count;
  }
  return Failure(path_ + " has changed while it was read; begin again.");
}

LineReader::LineReader(const Input& input, std::uint64_t begin, std::uint64_t end)
    : buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {
  restart(input, begin, end);
}

void LineReader::restart(const Input& input, std::uint64_t begin, std::uint64_t end) {
  input_ = &input;
  offset_ = begin;
  end_ = end;
  at_ = line_ = stop_ = filled_ = buffer_.get();
  if (begin == input.first() || begin >= end) return;
  // The line that begins before the part belongs to the part before.
  --offset_;
  fill();
  at_ =
      static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(filled_ - at_))) + 1;
}

bool LineReader::fill() {
  check_signals();
  const std::uint64_t offset = offset_of(at_);
  if (offset >= end_) return false;
  const auto rest = static_cast<std::size_t>(filled_ - at_);
  std::memmove(buffer_.get(), at_, rest);
  offset_ = offset;
  at_ = buffer_.get();
  // The last line that begins in the part ends within this.
  const std::uint64_t wanted =
      std::min<std::uint64_t>(kBufferBytes, end_ - offset_ + kMostLineBytes);
  const std::size_t got =
      wanted <= rest ? 0 : input_->read(offset_ + rest, buffer_.get() + rest, wanted - rest);
  filled_ = buffer_.get() + rest + got;
  const char* whole = filled_;
  while (whole > at_ && whole[-1] != '\n') --whole;
  if (whole == at_) {
    throw input_->at_line(offset_, rest + got < wanted
                                       ? "its line feed is missing, so the file is not whole; copy "
                                         "or generate it again."
                                       : "it is longer than any line can be; put a file of the "
                                         "right kind here.");
  }
  stop_ = end_ - offset_ < static_cast<std::uint64_t>(whole - at_) ? at_ + (end_ - offset_) : whole;
  return true;
}

}  // namespace students

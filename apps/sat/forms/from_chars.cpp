// Numbers by std::from_chars out of the bytes of the file: no copy, no locale, nothing shared.
#include "fill.hpp"

namespace sat {
namespace {

class FromChars {
 public:
  void begin(std::string_view text) {
    begin_ = at_ = text.data();
    end_ = at_ + text.size();
  }
  char peek() {
    at_ = skip_blanks(at_, end_);
    return at_ == end_ ? '\0' : *at_;
  }
  // Whether no blank follows the character.
  bool skip() { return ++at_ != end_ && !is_blank(*at_); }
  bool integer(std::int64_t& value) {
    at_ = skip_blanks(at_, end_);
    return parse_integer(at_, end_, value);
  }
  bool real(double& value) {
    at_ = skip_blanks(at_, end_);
    return parse_real(at_, end_, value);
  }
  std::string_view word() {
    const std::string_view word = token_at(at_, end_);
    at_ += word.size();
    return word;
  }
  std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }
  void seek(std::size_t position) { at_ = begin_ + position; }

 private:
  const char* begin_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace

void fill_from_chars(Model& model, Range records, bool counts, Faults& faults, bool partial) {
  fill_records<FromChars>(model, records, counts, faults, partial);
}

}  // namespace sat

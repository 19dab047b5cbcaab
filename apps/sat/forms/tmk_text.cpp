// tmk::itext: extraction in the way of a stream, over the bytes of the file.
#include "fill.hpp"
#include "tmk/itext.hpp"

namespace sat {
namespace {

class TmkText {
 public:
  void begin(std::string_view text) {
    text_ = text;
    seek(0);
  }
  char peek() {
    if (in_.eof()) return '\0';
    in_ >> std::ws;
    return in_.eof() ? '\0' : static_cast<char>(in_.peek());
  }
  bool skip() {
    in_.get();
    return !is_blank(static_cast<char>(in_.peek()));
  }
  bool integer(std::int64_t& value) { return take(value); }
  bool real(double& value) { return take(value); }
  std::string_view word() {
    std::string_view word;
    in_ >> word;
    return word;
  }
  std::size_t position() const { return before_ + in_.position(); }
  void seek(std::size_t position) {
    before_ = position;
    in_ = tmk::itext(text_.substr(position));
  }

 private:
  template <class T>
  bool take(T& value) {
    in_ >> value;
    return !in_.fail() && (in_.eof() || is_blank(in_.rest().front()));
  }

  std::string_view text_;
  std::size_t before_ = 0;
  tmk::itext in_;
};

}  // namespace

void fill_tmk_text(Model& model, Range records, bool counts, Faults& faults, bool partial) {
  fill_records<TmkText>(model, records, counts, faults, partial);
}

}  // namespace sat

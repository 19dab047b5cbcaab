// Pass 2 on one record: its text becomes the fields of its object. It is long because all kinds of
// fields are here, which share the position in the record. A Source is a form of taking numbers and
// words out of a text; the schema gives their order. The threads share the kinds and the numbers of
// all records, and only read them.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "characters.hpp"
#include "model.hpp"
#include "schema.hpp"
#include "special.hpp"

namespace sat {

// The operations of a form on the text of one record.
template <class S>
concept SourceOfFields = requires(S source, std::string_view text, std::int64_t& whole,
                                  double& number, std::size_t position) {
  source.begin(text);                                          // goes on with another text
  { source.peek() } -> std::same_as<char>;                     // next but blanks; 0 at the end
  { source.skip() } -> std::same_as<bool>;                     // that; whether no blank follows
  { source.integer(whole) } -> std::same_as<bool>;             // takes a number, or returns false
  { source.real(number) } -> std::same_as<bool>;               // finite
  { source.word() } -> std::convertible_to<std::string_view>;  // good until the next call
  { source.position() } -> std::same_as<std::size_t>;          // after a peek that is not 0
  source.seek(position);
};

template <SourceOfFields Source>
class Filler {
 public:
  Filler(Model& model, bool counts) : model_(model), counts_(counts) {
    const Header& header = model.document.header;
    has_ids_ = header.has_ids();
    version_ = header.version;
    dollars_ = model.document.dollars;
  }

  // Throws FieldError.
  void fill(Ref record) {
    record_ = record;
    const std::string_view whole = model_.document.record(record);
    const std::string_view identifier = model_.document.identifier(record);
    const char* const begin = identifier.data() + identifier.size();
    text_ = {begin, static_cast<std::size_t>(whole.data() + whole.size() - begin)};
    const std::vector<Frame>& frames = model_.document.frames;
    next_subtype_ = frames[record].subtypes;
    last_subtype_ = record + 1 < frames.size()
                        ? frames[record + 1].subtypes
                        : static_cast<std::uint32_t>(model_.document.subtypes);
    in_.begin(text_);
    dispatch(model_.kinds[record], [&]<class T>() {
      T& object = model_.get<T>(record);
      fields(*this, object);
      fill_rest(object);
    });
  }

  bool has_ids() const { return has_ids_; }
  bool has_words() const { return version_ >= 400; }
  bool has_wires() const { return version_ >= 107; }

  void reference(const char* field, Ref& value, Kinds wanted) {
    const char next = in_.peek();
    if (next == '$') {
      if (!in_.skip()) fail(field, expected("the number of a record behind $"));
    } else if (dollars_) {
      fail(field, expected("a reference such as $7"));
    }
    std::int64_t number = 0;
    if (in_.peek() == '+' || !in_.integer(number)) fail(field, expected("the number of a record"));
    value = resolved(field, number, wanted);
  }

  void integer(const char* field, std::int64_t& value) {
    if (in_.peek() == '\0' || !in_.integer(value)) fail(field, expected("a whole number"));
  }
  // Before a reference: where those have no $, nobody could tell, and no such file has one.
  void maybe_integer(const char* field, std::int64_t& value) {
    if (dollars_ && begins_number(in_.peek())) integer(field, value);
  }
  void real(const char* field, double& value) {
    if (in_.peek() == '\0' || !in_.real(value)) fail(field, expected("a number"));
  }
  void maybe_real(const char* field, double& value) {
    if (begins_number(in_.peek())) real(field, value);
  }
  void edge_parameter(const char* field, double& value) {
    if (dollars_ && in_.peek() != '$') real(field, value);
  }
  void vector(const char* field, Vector& value) {
    real(field, value.x);
    real(field, value.y);
    real(field, value.z);
  }
  void maybe_vector(const char* field, Vector& value) {
    if (begins_number(in_.peek())) vector(field, value);
  }

  void choice(const char* field, Choice& value, const Words& words) {
    in_.peek();
    const std::string_view word = in_.word();
    if (word == words.first || word == "0") {
      value = Choice::kFirst;
    } else if (word == words.second || word == "1") {
      value = Choice::kSecond;
    } else {
      fail(field, std::string(words.first) + " or " + words.second + " is expected, not " +
                      quoted(word) + ".");
    }
  }
  void maybe_choice(const char* field, Choice& value, const Words& words) {
    const char next = in_.peek();
    if (next == words.first[0] || next == words.second[0] || next == '0' || next == '1') {
      choice(field, value, words);
    }
  }

  void maybe_string(const char* field, std::string_view& value) {
    const char next = in_.peek();
    if (has_ids_ ? next != '@' : !is_digit(next)) return;
    if (has_ids_ && !in_.skip()) fail(field, expected("the length of a text behind @"));
    std::int64_t size = 0;
    if (!is_digit(in_.peek()) || !in_.integer(size)) {
      fail(field, expected("the length of a text"));
    }
    // The text begins after the one blank behind its length, and may begin with blanks.
    const std::size_t begin = in_.peek() == '\0' ? text_.size() : blank_before();
    if (size < 0 || static_cast<std::size_t>(size) > text_.size() - begin) {
      fail(field, "the text is to have " + std::to_string(size) +
                      " characters, and the record has not so many.");
    }
    const std::size_t end = begin + static_cast<std::size_t>(size);
    if (end != text_.size() && !is_blank(text_[end])) {
      fail(field, "the text does not end after " + std::to_string(size) + " characters.");
    }
    value = text_.substr(begin, static_cast<std::size_t>(size));
    in_.seek(end);
  }

  void maybe_bound(const char* field, double& value) {
    const char next = in_.peek();
    if (next != 'I' && next != 'F') return;
    letter(field);
    value = kInfinite;
    if (next == 'F') real(field, value);
  }
  void maybe_bounds(const char* field, Bounds& value) {
    maybe_bound(field, value.low);
    maybe_bound(field, value.high);
  }

  void maybe_box(const char* field, Box& value) {
    const char next = in_.peek();
    if (next != 'T' && next != 'F') return;
    letter(field);
    value.given = next == 'T' ? Choice::kSecond : Choice::kFirst;
    if (next == 'F') return;
    vector(field, value.low);
    vector(field, value.high);
  }

  // `{ name ... }`, a definition, or `{ ref 7 }`.
  void maybe_subtype(const char* field, std::uint32_t& value) {
    if (in_.peek() != '{') return;
    const std::size_t begin = in_.position();
    if (begin + 1 == text_.size() || !is_blank(text_[begin + 1]))
      fail(field, "a blank is expected after {.");
    const std::uint32_t mine = next_subtype_;
    const std::size_t end = scan(field, begin, /*one=*/true);
    if (next_subtype_ == mine) {
      value = last_ref_;
    } else {
      value = mine;
      Subtype& subtype = model_.subtypes[mine];
      const auto name_end =
          static_cast<std::size_t>(subtype.name.data() + subtype.name.size() - text_.data());
      in_.seek(name_end);
      read_nurbs(subtype);
    }
    in_.seek(end);
  }

 private:
  [[noreturn]] static void fail(const char* field, const std::string& what) {
    throw FieldError(field, what);
  }
  std::string expected(const std::string& what) {
    if (in_.peek() == '\0') return "the record ends where " + what + " is expected.";
    return what + " is expected, not " + quoted(in_.word()) + ".";
  }

  // A token of one character.
  void letter(const char* field) {
    const std::string_view word = in_.word();
    if (word.size() != 1) fail(field, "one letter is expected, not " + quoted(word) + ".");
  }

  // The place after one blank behind a length that was just read.
  std::size_t blank_before() {
    std::size_t at = in_.position();
    while (at > 0 && is_blank(text_[at - 1])) --at;
    return at + 1;
  }

  Ref resolved(const char* field, std::int64_t number, Kinds wanted) {
    if (number == -1) return kNull;
    const Ref found = model_.numbers.find(number);
    if (found == kNull) {
      fail(field, reference_text(number) + " names no record; the file has " +
                      std::to_string(model_.size()) + ".");
    }
    const Kind kind = model_.kinds[found];
    if (!contains(wanted, kind) && kind != Kind::kUnknown) {
      fail(field, reference_text(number) + " is of class " +
                      printable(model_.document.identifier(found)) +
                      ", which this field cannot name.");
    }
    if (counts_) std::atomic_ref(model_.entity(found).handles).fetch_add(1);
    return found;
  }

  void fill_rest(Entity& object) {
    if (in_.peek() == '\0') return;
    const std::size_t begin = in_.position();
    object.rest = text_.substr(begin);  // with its blanks, as one may be the end of a string
    scan("rest", begin, /*one=*/false);
  }

  struct Open {
    std::uint32_t number;  // kNoSubtype: of a `ref`
  };

  // Goes over braces, references and strings from `begin` on, without a schema: to the end, or to
  // the end of the one subtype that begins there. Enters definitions into the table. Returns where
  // it stopped.
  std::size_t scan(const char* field, std::size_t begin, bool one) {
    const char* const end = text_.data() + text_.size();
    const char* at = text_.data() + begin;
    open_.clear();
    while ((at = find_special<'{', '}', '$', '@'>(at, end)) != end) {
      const bool starts = at == text_.data() || is_blank(at[-1]);
      const char which = *at++;
      if (!starts) continue;
      const bool alone = at == end || is_blank(*at);
      if ((which == '{' || which == '}') && !alone) continue;
      if (which == '{') {
        at = open_subtype(field, at, end);
      } else if (which == '}') {
        close_subtype(field, at - 1);
        if (one && open_.empty()) return static_cast<std::size_t>(at - text_.data());
      } else if (which == '$') {
        at = check_reference(field, at, end);
      } else if (has_ids_) {
        at = skip_string(at, end);
      }
    }
    if (!open_.empty()) fail(field, "a { has no }.");
    return text_.size();
  }

  const char* open_subtype(const char* field, const char* at, const char* end) {
    at = skip_blanks(at, end);
    const std::string_view name = token_at(at, end);
    at += name.size();
    if (name != "ref") {
      // Framing has skipped it as a string, so that the end of the record depends on it.
      if (has_ids_ && name.starts_with('@')) {
        fail(field, "the name of a subtype is expected after {, not " + quoted(name) + ".");
      }
      // Framing, which knows no fields, may have taken this for a part of a string.
      if (next_subtype_ == last_subtype_) fail(field, "a { is where a string seems to be.");
      Subtype& subtype = model_.subtypes[next_subtype_];
      subtype.record = record_;
      subtype.name = name;
      open_.push_back({next_subtype_++});
      return at;
    }
    at = skip_blanks(at, end);
    std::int64_t number = 0;
    if (!parse_integer(at, end, number)) {
      fail(field, "ref needs the number of a subtype, not " + quoted(token_at(at, end)) + ".");
    }
    if (number < 0 || number >= next_subtype_) {
      fail(field, "ref " + std::to_string(number) + " names no subtype before it; there are " +
                      std::to_string(next_subtype_) + ".");
    }
    for (const Open& each : open_) {
      if (each.number == number) {
        fail(field, "ref " + std::to_string(number) + " is a part of that subtype itself.");
      }
    }
    at = skip_blanks(at, end);
    if (const std::string_view next = token_at(at, end); next != "}") {
      fail(field, "ref " + std::to_string(number) + " is followed by } alone, not by " +
                      quoted(next) + ".");
    }
    last_ref_ = static_cast<std::uint32_t>(number);
    open_.push_back({kNoSubtype});
    return at;
  }

  void close_subtype(const char* field, const char* brace) {
    if (open_.empty()) fail(field, "a } has no {.");
    const std::uint32_t number = open_.back().number;
    open_.pop_back();
    if (number == kNoSubtype) return;
    Subtype& subtype = model_.subtypes[number];
    const char* const begin = subtype.name.data();
    subtype.text = {begin, static_cast<std::size_t>(std::max(brace, begin) - begin)};
  }

  const char* check_reference(const char* field, const char* at, const char* end) {
    std::int64_t number = 0;
    if (parse_integer(at, end, number)) resolved(field, number, kAnyKind);
    return at;
  }

  // The B-spline at the beginning of a subtype, if there is one. Surfaces of other constructions
  // than exactsur have it at their end, behind what only their own schema could tell.
  void read_nurbs(Subtype& subtype) {
    const Kind kind = model_.kinds[record_];
    const bool surface = kind == Kind::kSpline;
    if (surface && subtype.name != "exactsur" && subtype.name != "exact_spl_sur") return;
    if (begins_number(in_.peek())) skip_word();  // its number in the table, from 2500 on
    std::string_view word = word_if_letter();
    if (word == "full") word = word_if_letter();
    const bool rational = word == "nurbs";
    if (!rational && word != "nubs") return;
    auto nurbs = std::make_unique<Nurbs>();
    nurbs->rational = rational;
    nurbs->form = surface                 ? Nurbs::Form::kSurface
                  : kind == Kind::kPcurve ? Nurbs::Form::kCurve2
                                          : Nurbs::Form::kCurve3;
    try {
      if (surface ? read_surface(*nurbs) : read_curve(*nurbs)) subtype.nurbs = std::move(nurbs);
    } catch (const FieldError&) {
      // Others may begin otherwise than those that were seen: then they are kept as text.
      if (is_seen(subtype.name)) throw;
    }
  }
  static bool is_seen(std::string_view name) {
    return name == "exactcur" || name == "exactsur" || name == "exppc" || name == "surfintcur" ||
           name == "parcur" || name == "lawintcur" || name == "offintcur" || name == "bldcur";
  }

  void skip_word() {
    in_.peek();
    in_.word();
  }
  std::string_view word_if_letter() {
    const char next = in_.peek();
    return next >= 'a' && next <= 'z' ? in_.word() : std::string_view();
  }

  // A number of things that the file has: each takes at least two characters.
  std::uint32_t count(const char* field) {
    std::int64_t value = 0;
    integer(field, value);
    if (value < 0 || static_cast<std::uint64_t>(value) > text_.size() / 2) {
      fail(field, std::to_string(value) + " is a number that the record has no room for.");
    }
    return static_cast<std::uint32_t>(value);
  }
  void closure(Nurbs::Direction& direction) {
    in_.peek();
    const std::string_view word = in_.word();
    if (word != "open" && word != "closed" && word != "periodic" && word != "0" && word != "1" &&
        word != "2") {
      fail("closure", "open, closed or periodic is expected, not " + quoted(word) + ".");
    }
    direction.closure = is_digit(word[0]) ? "ocp"[word[0] - '0'] : word[0];
  }
  void knots(Nurbs::Direction& direction, std::uint32_t number) {
    direction.knots.resize(number);
    direction.multiplicities.resize(number);
    for (std::uint32_t i = 0; i < number; ++i) {
      real("knot", direction.knots[i]);
      direction.multiplicities[i] = count("multiplicity");
    }
  }
  // False if the subtype ends before it has so many: then it is kept as text.
  bool poles(Nurbs& nurbs, std::size_t number) {
    const std::size_t each = nurbs.coordinates();
    if (number > text_.size() / 2 / each) {
      fail("poles", std::to_string(number) + " are wanted, for which the record has no room.");
    }
    nurbs.poles.reserve(number * each);
    for (std::size_t i = 0; i < number; ++i) {
      if (in_.peek() == '}') return false;
      for (std::size_t j = 0; j < each; ++j) real("pole", nurbs.poles.emplace_back());
    }
    return true;
  }

  bool read_curve(Nurbs& nurbs) {
    nurbs.u.degree = count("degree");
    closure(nurbs.u);
    const std::uint32_t number = count("number of knots");
    knots(nurbs.u, number);
    return poles(nurbs, nurbs.u.poles());
  }

  // Where the poles of a row coincide: none, low, high, both, or their numbers from 0. Knots, whose
  // numbers come next, are two at least.
  void singularities() {
    if (!begins_number(in_.peek())) {
      skip_word();
      if (!begins_number(in_.peek())) skip_word();
      return;
    }
    const std::size_t before = in_.position();
    std::int64_t u = 0;
    std::int64_t v = 0;
    if (in_.integer(u) && in_.peek() != '\0' && in_.integer(v) && (u < 2 || v < 2)) return;
    in_.seek(before);
  }

  bool read_surface(Nurbs& nurbs) {
    nurbs.u.degree = count("degree");
    nurbs.v.degree = count("degree");
    // Of which directions the weights depend on; `both`, `u`, `v`.
    const char next = in_.peek();
    if (next == 'b' || next == 'u' || next == 'v') skip_word();
    closure(nurbs.u);
    closure(nurbs.v);
    singularities();
    const std::uint32_t u_knots = count("number of knots");
    const std::uint32_t v_knots = count("number of knots");
    knots(nurbs.u, u_knots);
    knots(nurbs.v, v_knots);
    const std::size_t rows = nurbs.v.poles();
    const std::size_t most = text_.size();
    if (nurbs.u.poles() > most || rows > most / (nurbs.u.poles() + 1)) {
      fail("poles", "the record has no room for them.");
    }
    return poles(nurbs, rows * nurbs.u.poles());
  }

  Model& model_;
  Source in_;
  std::string_view text_;
  std::vector<Open> open_;
  Ref record_ = kNull;
  std::uint32_t next_subtype_ = 0;  // and where those of the next record begin
  std::uint32_t last_subtype_ = 0;
  std::uint32_t last_ref_ = kNoSubtype;
  std::int64_t version_;
  bool counts_;
  bool has_ids_;
  bool dollars_;
};

}  // namespace sat

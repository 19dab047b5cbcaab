// The archive that writes the fields of objects; see schema.hpp.
#pragma once

#include <string>
#include <string_view>

#include "characters.hpp"
#include "model.hpp"
#include "schema.hpp"

namespace sat {

// The fewest digits that give the same bits.
void append_real(double value, std::string& out);
void append_integer(std::int64_t value, std::string& out);

class Writer {
 public:
  Writer(const Model& model, std::string& out)
      : model_(model), out_(out), version_(model.document.header.version) {}

  void record(Ref record) {
    record_ = record;
    if (model_.document.numbered) {
      out_ += '-';
      append_integer(model_.numbers.of(record), out_);
      out_ += ' ';
    }
    out_ += model_.document.identifier(record);
    out_ += ' ';
    dispatch(model_.kinds[record], [&]<class T>() {
      T object = model_.get<T>(record);
      fields(*this, object);
      add_raw(object.rest);
    });
    const std::string_view whole = model_.document.record(record);
    if (!whole.empty() && !is_blank(whole.back()) && ends_with_length()) out_.pop_back();
    out_ += "#\n";
  }

  bool has_ids() const { return version_ >= 700; }
  bool has_words() const { return version_ >= 400; }
  bool has_wires() const { return version_ >= 107; }

  void reference(const char*, Ref value, Kinds) {
    if (model_.document.dollars) out_ += '$';
    append_integer(value == kNull ? -1 : model_.numbers.of(value), out_);
    out_ += ' ';
  }
  void integer(const char*, std::int64_t value) {
    append_integer(value, out_);
    out_ += ' ';
  }
  void maybe_integer(const char* field, std::int64_t value) {
    if (value != kAbsent) integer(field, value);
  }
  void real(const char*, double value) {
    append_real(value, out_);
    out_ += ' ';
  }
  void maybe_real(const char* field, double value) {
    if (!same(value, kAbsentReal)) real(field, value);
  }
  void edge_parameter(const char* field, double value) { maybe_real(field, value); }
  void vector(const char* field, const Vector& value) {
    for (const double each : {value.x, value.y, value.z}) real(field, each);
  }
  void maybe_vector(const char* field, const Vector& value) {
    if (!same(value.x, kAbsentReal)) vector(field, value);
  }
  void choice(const char*, Choice value, const Words& words) {
    if (version_ < 400) {
      add(value == Choice::kFirst ? "0" : "1");
    } else {
      add(value == Choice::kFirst ? words.first : words.second);
    }
  }
  void maybe_choice(const char* field, Choice value, const Words& words) {
    if (value != Choice::kNone) choice(field, value, words);
  }
  void maybe_string(const char*, std::string_view value) {
    if (value.data() == nullptr) return;
    if (has_ids()) out_ += '@';
    append_integer(static_cast<std::int64_t>(value.size()), out_);
    out_ += ' ';
    add(value);
  }
  void maybe_bounds(const char* field, const Bounds& value) {
    for (const double each : {value.low, value.high}) {
      if (same(each, kAbsentReal)) continue;
      add(same(each, kInfinite) ? "I" : "F");
      if (!same(each, kInfinite)) real(field, each);
    }
  }
  void maybe_box(const char* field, const Box& value) {
    if (value.given == Choice::kNone) return;
    add(value.given == Choice::kSecond ? "T" : "F");
    if (value.given == Choice::kFirst) return;
    vector(field, value.low);
    vector(field, value.high);
  }
  void maybe_subtype(const char*, std::uint32_t number) {
    if (number == kNoSubtype) return;
    const Subtype& subtype = model_.subtypes[number];
    add("{");
    // The record with the definition is this record, or another one.
    if (subtype.record == record_) {
      add_raw(subtype.text);
    } else {
      add("ref");
      append_integer(number, out_);
      out_ += ' ';
    }
    add("}");
  }

 private:
  // `@7` as the last token of a record is no string where the `#` came at once. With a blank
  // between them it would be one, of the next seven characters. Where the file has that blank, `@7`
  // is the end of a string.
  bool ends_with_length() const {
    std::string_view text(out_);
    if (!text.ends_with(' ')) return false;
    text.remove_suffix(1);
    const std::string_view token = text.substr(text.find_last_of(" \t\r\n\v\f") + 1);
    return token.starts_with('@') && token.find_first_not_of('0', 1) != std::string_view::npos &&
           token.find_first_not_of("0123456789", 1) == std::string_view::npos;
  }

  // Adds the text as it was in the file. Its blanks stay, because a blank may be the end of a
  // string.
  void add_raw(std::string_view text) {
    out_ += text;
    if (!text.empty() && !is_blank(text.back())) out_ += ' ';
  }
  void add(std::string_view token) {
    out_ += token;
    out_ += ' ';
  }

  const Model& model_;
  std::string& out_;
  std::int64_t version_;
  Ref record_ = kNull;
};

}  // namespace sat

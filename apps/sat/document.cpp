// The definitions.
#include "document.hpp"

#include <algorithm>
#include <cstring>

#include "characters.hpp"

namespace sat {
namespace {

// So that one can be added to a number.
constexpr std::int64_t kMostNumber = std::int64_t{1} << 62;

// Either throws, or keeps the problem.
void report(Document& document, const ReadOptions& options, Problem problem) {
  if (!options.partial) throw BadFile(problem);
  document.problems.push_back(std::move(problem));
}

void find_forms(Document& document) {
  if (document.frames.empty()) return;
  const std::string_view first = document.record(0);
  document.numbered = first.starts_with('-');
  if (document.header.version >= 400) return;
  document.dollars = std::ranges::any_of(document.frames, [&](const Frame& each) {
    return document.bytes.view().substr(each.begin, each.size).find('$') != std::string_view::npos;
  });
}

// Of what stands behind the last record.
void read_end(Document& document, const Framing& framing, const ReadOptions& options, Check check) {
  const std::string_view bytes = document.bytes.view();
  std::size_t end = framing.end;
  const bool counted = document.header.has_ids();
  document.mark = framing.mark;
  if (framing.ending == Ending::kHistory) {
    document.history = true;
    const Framing last = find_end_mark(bytes, framing.end, counted, check);
    document.mark = {};
    if (last.ending != Ending::kEndMark) {
      report(document, options,
             {.line = line_of(bytes, framing.end),
              .what = "the file ends within the history that begins here."});
      return;
    }
    document.mark = last.mark;
    end = last.end;
  } else if (framing.ending == Ending::kNoMark && document.header.records == 0) {
    report(document, options,
           {.line = line_of(bytes, bytes.size()),
            .what = "the file ends after " + std::to_string(framing.frames.size()) +
                    " records without the mark End-of-ACIS-data."});
  }
  const std::string_view after = bytes.substr(end);
  document.after_mark =
      static_cast<std::size_t>(std::ranges::count_if(after, [](char c) { return !is_blank(c); }));
}

void check_counts(Document& document, const ReadOptions& options) {
  const auto frames = static_cast<std::int64_t>(document.frames.size());
  const auto differs = [&](const char* field, std::int64_t said, const char* what) {
    report(document, options,
           {.line = 1,
            .field = field,
            .what = "the header says " + std::to_string(said) + ", and the file has " + what +
                    std::to_string(frames) + " records."});
  };
  const Header& header = document.header;
  // With a history the number may include old records.
  if (header.records != 0 && header.records != frames && !document.history) {
    differs("number of records", header.records, "");
  }
  if (header.tops > frames) differs("number of entities", header.tops, "only ");
}

}  // namespace

Bytes::Bytes(std::string_view text) : Bytes(text.size()) {
  if (!text.empty()) std::memcpy(data_.get(), text.data(), text.size());
}

std::int64_t Document::written_number(std::size_t i) const {
  const std::string_view text = record(i);
  const char* at = text.data();
  std::int64_t number = 0;
  const bool good = text.starts_with('-') && parse_integer(at, text.data() + text.size(), number) &&
                    number > -kMostNumber;
  if (!good) {
    throw FieldError("number",
                     "a record number such as -7 is expected, as the first record has one, not " +
                         quoted(token_at(text.data(), text.data() + text.size())) + ".");
  }
  return -number;
}

std::string_view Document::identifier(std::size_t i) const {
  const std::string_view text = record(i);
  const char* const end = text.data() + text.size();
  const char* at = text.data();
  if (numbered) at = skip_blanks(token_end(at, end), end);
  return token_at(at, end);
}

Document read(Bytes bytes, Team& team, const ReadOptions& options) {
  Document document;
  document.bytes = std::move(bytes);
  std::size_t begin = 0;
  const std::string_view text = document.bytes.view();
  document.header = read_header(text, begin);
  Framing framing = frame(text, begin, document.header.has_ids(), team);
  document.frames = std::move(framing.frames);
  document.subtypes = framing.subtypes;
  if (framing.ending == Ending::kBroken) {
    const std::string_view rest = text.substr(framing.broken_at);
    report(document, options,
           {.line = line_of(text, framing.broken_at),
            .record = static_cast<std::int64_t>(document.frames.size()),
            .identifier = {},
            .field = "end",
            .what = framing.broken + " It begins with " +
                    quoted(token_at(rest.data(), rest.data() + rest.size())) + "."});
  } else {
    read_end(document, framing, options, team.check());
  }
  find_forms(document);
  check_counts(document, options);
  return document;
}

}  // namespace sat

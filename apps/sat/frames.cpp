// The definitions. Framer is one pass over a part of the file; frame() lets threads begin at
// guessed record ends and keeps the parts that began at a real one.
#include "frames.hpp"

#include <algorithm>
#include <limits>

#include "characters.hpp"
#include "memory.hpp"
#include "special.hpp"

namespace sat {
namespace {

constexpr std::size_t kLeastPart = 64 * 1024;
// Frame's numbers have 32 bits.
constexpr std::uint64_t kMostInRecord = std::numeric_limits<std::uint32_t>::max();

class Framer {
 public:
  Framer(std::string_view bytes, bool counted, Check check)
      : begin_(bytes.data()), end_(begin_ + bytes.size()), counted_(counted), check_(check) {}

  // Frames the records that begin in [from, until), and sets `end` of `out` to where it stopped: a
  // record's beginning at `until` or beyond, a mark's end, or the end of the file.
  void run(std::size_t from, std::size_t until, Framing& out) const {
    const char* at = begin_ + from;
    for (;;) {
      check_now_and_then(check_, out.frames.size());
      at = skip_blanks(at, end_);
      if (at == end_ || at >= begin_ + until) break;
      if ((*at == 'E' || *at == 'B') && stop_at_mark(at, out)) return;
      if (!record(at, out)) return;
    }
    out.end = position(at);
    out.ending = Ending::kNoMark;
  }

 private:
  std::size_t position(const char* at) const { return static_cast<std::size_t>(at - begin_); }

  bool stop_at_mark(const char* at, Framing& out) const {
    const std::string_view token = token_at(at, end_);
    const bool ends = token == "End-of-ACIS-data" || token == "End-of-ASM-data";
    const bool history = token.starts_with("Begin-of-") && token.ends_with("-History-Data");
    if (!ends && !history) return false;
    out.ending = ends ? Ending::kEndMark : Ending::kHistory;
    out.mark = token;
    out.end = position(at) + token.size();
    return true;
  }

  static bool broken(Framing& out, std::size_t at, const std::string& what) {
    out.ending = Ending::kBroken;
    out.broken_at = at;
    out.broken = what;
    out.end = at;
    return false;
  }

  // The record at `at`, which moves behind its `#`.
  bool record(const char*& at, Framing& out) const {
    const char* const first = at;
    std::uint32_t subtypes = 0;
    const char* p = at;
    for (;;) {
      p = counted_ ? find_special<'#', '{', '@'>(p, end_) : find_special<'#', '{'>(p, end_);
      if (p == end_) return broken(out, position(first), "the file ends within this record.");
      if (*p == '#' && ends_record(p)) break;
      if (*p == '{' && defines_subtype(p)) ++subtypes;
      if (*p == '@' && (p == begin_ || is_blank(p[-1]))) {
        std::string why;
        p = skip_string(p, why);
        if (!why.empty()) return broken(out, position(first), why);
      } else {
        ++p;
      }
    }
    const auto size = static_cast<std::uint64_t>(p - first);
    if (size > kMostInRecord) {
      return broken(out, position(first),
                    "the record has more than 4 GiB, which is not supported.");
    }
    out.frames.push_back({position(first), static_cast<std::uint32_t>(size), subtypes});
    out.subtypes += subtypes;
    at = p + 1;
    return true;
  }

  // Without @, strings cannot be skipped, and a `#` must stand alone to end a record.
  bool ends_record(const char* p) const {
    if (counted_) return true;
    return (p == begin_ || is_blank(p[-1])) && (p + 1 == end_ || is_blank(p[1]));
  }

  bool defines_subtype(const char* p) const {
    if (p != begin_ && !is_blank(p[-1])) return false;
    if (p + 1 != end_ && !is_blank(p[1])) return false;
    return token_at(skip_blanks(p + 1, end_), end_) != "ref";
  }

  // Behind the string at `p`, or behind the @ if it begins none.
  const char* skip_string(const char* p, std::string& why) const {
    const char* at = p + 1;
    std::int64_t size = 0;
    if (at == end_ || !is_digit(*at) || !parse_integer(at, end_, size)) return p + 1;
    // Of the file, one blank goes before the text and one follows it.
    if (size > end_ - at - 1) {
      why = "the text after " + quoted(token_at(p, end_)) + " is longer than the rest of the file.";
      return p;
    }
    at += 1 + size;
    if (at != end_ && !is_blank(*at)) {
      why =
          "the text after " + quoted(token_at(p, end_)) + " does not end after so many characters.";
    }
    return at;
  }

  const char* begin_;
  const char* end_;
  bool counted_;
  Check check_;
};

// A place in [from, until) that is likely to be the beginning of a record: after `#` and line end.
std::size_t guess(std::string_view bytes, std::size_t from, std::size_t until) {
  for (std::size_t at = from; at < until; ++at) {
    at = bytes.find('#', at);
    if (at >= until) return until;
    std::size_t next = at + 1;
    while (next < bytes.size() && is_blank(bytes[next]) && bytes[next] != '\n') ++next;
    if (next < bytes.size() && bytes[next] == '\n') return next + 1;
  }
  return until;
}

struct Part {
  std::size_t from = 0;
  std::size_t until = 0;
  Framing found;
};

// Parts from the front on as far as they belong to the records: where the part before ended, this
// one must have begun, else it is framed again from there.
std::size_t keep(std::string_view bytes, const Framer& framer, std::vector<Part>& parts) {
  std::size_t expected = parts.front().from;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    const char* const at = skip_blanks(bytes.data() + part.from, bytes.data() + bytes.size());
    if (static_cast<std::size_t>(at - bytes.data()) != expected && i != 0) {
      part.found = {};
      framer.run(expected, part.until, part.found);
    }
    if (part.found.ending != Ending::kNoMark) return i + 1;
    expected = part.found.end;
  }
  return parts.size();
}

// All frames in one, with the numbers of their first subtypes.
Framing join(std::vector<Part>& parts, std::size_t kept, Team& team) {
  Framing all;
  std::vector<std::size_t> places;
  std::vector<std::uint64_t> subtypes;
  std::size_t frames = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    places.push_back(frames);
    subtypes.push_back(all.subtypes);
    frames += parts[i].found.frames.size();
    all.subtypes += parts[i].found.subtypes;
  }
  const Framing& last = parts[kept - 1].found;
  all.end = last.end;
  all.ending = last.ending;
  all.mark = last.mark;
  all.broken_at = last.broken_at;
  all.broken = last.broken;
  require_memory(frames * sizeof(Frame), "the table of its " + std::to_string(frames) + " records");
  all.frames.resize(frames);
  team.each(kept, [&](std::size_t i) {
    std::uint64_t number = subtypes[i];
    std::size_t place = places[i];
    for (Frame each : parts[i].found.frames) {
      const std::uint32_t defined = each.subtypes;
      each.subtypes = static_cast<std::uint32_t>(number);
      number += defined;
      all.frames[place++] = each;
    }
    parts[i].found.frames = {};
  });
  return all;
}

}  // namespace

Framing frame(std::string_view bytes, std::size_t begin, bool counted, Team& team) {
  const Framer framer(bytes, counted, team.check());
  const std::size_t rest = bytes.size() - begin;
  std::vector<Part> parts(team.parts(rest, kLeastPart));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Range range(rest, parts.size(), i);
    parts[i].until = begin + range.last;
    parts[i].from = begin + range.first;
  }
  team.each(parts.size(), [&](std::size_t i) {
    Part& part = parts[i];
    if (i != 0) part.from = guess(bytes, part.from, part.until);
    framer.run(part.from, part.until, part.found);
  });
  const std::size_t kept = keep(bytes, framer, parts);
  Framing all = join(parts, kept, team);
  if (all.subtypes > kMostInRecord || all.frames.size() >= kMostInRecord) {
    throw BadFile({.what = "the file has more records or subtypes than 4294967294."});
  }
  return all;
}

Framing find_end_mark(std::string_view bytes, std::size_t begin, bool counted, Check check) {
  const Framer framer(bytes, counted, check);
  Framing found;
  // Marks within the history end no record of it.
  std::size_t at = begin;
  while (at < bytes.size()) {
    const char* const first = skip_blanks(bytes.data() + at, bytes.data() + bytes.size());
    const std::string_view token = token_at(first, bytes.data() + bytes.size());
    const auto place = static_cast<std::size_t>(first - bytes.data());
    if (token.starts_with("End-of-") && token.ends_with("-History-Section")) {
      at = place + token.size();
      continue;
    }
    found = {};
    framer.run(place, place + 1, found);
    if (found.ending == Ending::kEndMark || found.ending == Ending::kBroken) break;
    at = found.end;
  }
  return found;
}

std::uint64_t line_of(std::string_view bytes, std::size_t position) {
  return Lines(bytes).of(position);
}

std::uint64_t Lines::of(std::size_t position) {
  const auto [first, last] = std::minmax(position_, position);
  const std::string_view between = bytes_.substr(first, last - first);
  const auto lines = static_cast<std::uint64_t>(std::count(between.begin(), between.end(), '\n'));
  line_ = position < position_ ? line_ - lines : line_ + lines;
  position_ = position;
  return line_;
}

}  // namespace sat

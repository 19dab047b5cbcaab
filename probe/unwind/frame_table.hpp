// The rules for leaving the frame of a program counter: reads .eh_frame_hdr and .eh_frame of one
// module to a row of rules. Tables may be damaged or hostile: every loop is bounded and every read
// checked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/unwind/bytes.hpp"
#include "probe/unwind/registers.hpp"

namespace threadmark::unwind {

// A module in the unwound process.
struct Module {
  std::uint64_t low = 0, high = 0;  // its code
  Image tables;                     // the segment with .eh_frame_hdr and .eh_frame
  std::uint64_t header = 0;         // address of .eh_frame_hdr
};

struct Rule {
  enum Kind : unsigned char {
    kSame,         // the caller's value is still there
    kUndefined,    // the value is lost; of the return address: there is no caller
    kOffset,       // saved at CFA + number
    kValueOffset,  // is CFA + number
    kRegister,     // is in the register `number`
    kExpression,   // saved at the result of the expression at the address `number`
    kValueExpression,
  };
  Kind kind = kSame;
  std::int64_t number = 0;
};

struct Row {
  Rule cfa;  // kOffset: register `cfa_register` + number; or kExpression
  std::uint32_t cfa_register = 0;
  Rule rules[kRegisters];
  std::size_t return_column = kLink;
  bool signal = false;  // the caller was interrupted: its pc is that of no call
};

// The memory of a walk beside the registers. It is large because DW_CFA_remember_state nests.
struct Scratch {
  static constexpr std::size_t kRemembered = 3;
  static constexpr std::size_t kValues = 16;
  Row row, first, remembered[kRemembered];
  std::uint64_t values[kValues];  // of an expression
  std::uint64_t function;         // where the code of the last row begins
};

namespace detail {

struct Description {  // a CIE and one FDE of it
  std::uint64_t from = 0, until = 0;
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  unsigned char encoding = kAbsolute;
  bool sized = false;  // its FDEs give the length of their own augmentation
  Reader first, program;
};

inline bool read_common(const Image& image, std::uint64_t address, Description& to, Row& row) {
  Reader in(image, address);
  const auto length = in.number<std::uint32_t>();
  if (length == 0 || length == 0xffffffffU) return false;
  in.limit(length);
  if (in.number<std::uint32_t>() != 0) return false;  // not a CIE
  const auto version = in.number<unsigned char>();
  if (version != 1 && version != 3) return false;
  const Reader augmentation = in;
  for (int i = 0; in.number<char>() != '\0'; ++i)
    if (i > 8 || !in.good()) return false;
  to.code_alignment = in.uleb();
  to.data_alignment = in.sleb();
  row.return_column =
      static_cast<std::size_t>(version == 1 ? in.number<unsigned char>() : in.uleb());
  Reader letters = augmentation;
  std::uint64_t instructions = in.address();
  for (char letter = letters.number<char>(); letter != '\0' && letters.good();
       letter = letters.number<char>()) {
    switch (letter) {
      case 'z': {
        const auto size = in.uleb();
        to.sized = true;
        if (size > in.left()) return false;
        instructions = in.address() + size;
        break;
      }
      case 'R':
        to.encoding = in.number<unsigned char>();
        break;
      case 'P': {
        const auto how = in.number<unsigned char>();
        static_cast<void>(in.pointer(how, 0));
        break;
      }
      case 'L':
        static_cast<void>(in.number<unsigned char>());
        break;
      case 'S':
        row.signal = true;
        break;
      case 'B':  // aarch64: the return address is signed with the other key
      case 'G':
        break;
      default:
        if (!to.sized) return false;
    }
  }
  in.go(instructions);
  to.first = in;
  return in.good() && row.return_column < kRegisters;
}

inline bool read_description(const Image& image, std::uint64_t address, Description& to, Row& row) {
  Reader in(image, address);
  const auto length = in.number<std::uint32_t>();
  if (length == 0 || length == 0xffffffffU) return false;
  in.limit(length);
  const std::uint64_t place = in.address();
  const auto back = in.number<std::uint32_t>();
  if (back == 0 || !in.good()) return false;  // a CIE
  if (!read_common(image, place - back, to, row)) return false;
  to.from = in.pointer(to.encoding, 0);
  to.until = to.from + in.pointer(to.encoding & 0x0fU, 0);
  if (to.sized) in.skip(in.uleb());
  to.program = in;
  return in.good();
}

inline bool apply_program(Reader in, const Description& about, std::uint64_t pc, Scratch& scratch,
                          bool initial) {
  Row& row = scratch.row;
  std::uint64_t location = about.from;
  std::size_t remembered = 0;
  const auto advance = [&](std::uint64_t by) {
    location += by * about.code_alignment;
    return location <= pc;
  };
  const auto rule = [&](std::uint64_t number, Rule::Kind kind, std::int64_t what) {
    if (number < kRegisters) row.rules[number] = {kind, what};
  };
  const auto restore = [&](std::uint64_t number) {
    if (number < kRegisters) row.rules[number] = initial ? Rule{} : scratch.first.rules[number];
  };
  const auto scaled = [&](std::int64_t number) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(number) *
                                     static_cast<std::uint64_t>(about.data_alignment));
  };
  const auto signed_of = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  const auto expression = [&] {
    const auto at = in.address();
    in.skip(in.uleb());
    return static_cast<std::int64_t>(at);
  };
  while (in.good() && in.left() > 0) {
    const auto code = in.number<unsigned char>();
    const unsigned low = code & 0x3fU;
    switch (code & 0xc0U) {
      case 0x40:
        if (!advance(low)) return true;
        continue;
      case 0x80:
        rule(low, Rule::kOffset, scaled(signed_of(in.uleb())));
        continue;
      case 0xc0:
        restore(low);
        continue;
      default:
        break;
    }
    switch (code) {
      case 0x00:  // nop
        break;
      case 0x01:  // set_loc
        location = in.pointer(about.encoding, 0);
        if (location > pc) return in.good();
        break;
      case 0x02:
        if (!advance(in.number<std::uint8_t>())) return in.good();
        break;
      case 0x03:
        if (!advance(in.number<std::uint16_t>())) return in.good();
        break;
      case 0x04:
        if (!advance(in.number<std::uint32_t>())) return in.good();
        break;
      case 0x05: {  // offset_extended
        const auto number = in.uleb();
        rule(number, Rule::kOffset, scaled(signed_of(in.uleb())));
        break;
      }
      case 0x06:
        restore(in.uleb());
        break;
      case 0x07:
        rule(in.uleb(), Rule::kUndefined, 0);
        break;
      case 0x08:
        rule(in.uleb(), Rule::kSame, 0);
        break;
      case 0x09: {
        const auto number = in.uleb();
        rule(number, Rule::kRegister, signed_of(in.uleb()));
        break;
      }
      case 0x0a:  // remember_state
        if (remembered == Scratch::kRemembered) return false;
        scratch.remembered[remembered++] = row;
        break;
      case 0x0b:
        if (remembered == 0) return false;
        row = scratch.remembered[--remembered];
        break;
      case 0x0c:  // def_cfa
        row.cfa_register = static_cast<std::uint32_t>(in.uleb());
        row.cfa = {Rule::kOffset, signed_of(in.uleb())};
        break;
      case 0x0d:
        row.cfa_register = static_cast<std::uint32_t>(in.uleb());
        break;
      case 0x0e:
        row.cfa.number = signed_of(in.uleb());
        break;
      case 0x0f:
        row.cfa = {Rule::kExpression, expression()};
        break;
      case 0x10: {
        const auto number = in.uleb();
        rule(number, Rule::kExpression, expression());
        break;
      }
      case 0x11: {
        const auto number = in.uleb();
        rule(number, Rule::kOffset, scaled(in.sleb()));
        break;
      }
      case 0x12:  // def_cfa_sf
        row.cfa_register = static_cast<std::uint32_t>(in.uleb());
        row.cfa = {Rule::kOffset, scaled(in.sleb())};
        break;
      case 0x13:
        row.cfa.number = scaled(in.sleb());
        break;
      case 0x14: {
        const auto number = in.uleb();
        rule(number, Rule::kValueOffset, scaled(signed_of(in.uleb())));
        break;
      }
      case 0x15: {
        const auto number = in.uleb();
        rule(number, Rule::kValueOffset, scaled(in.sleb()));
        break;
      }
      case 0x16: {
        const auto number = in.uleb();
        rule(number, Rule::kValueExpression, expression());
        break;
      }
      case 0x2d:  // aarch64: the return address is signed from here; the walk strips it always
        break;
      case 0x2e:  // GNU_args_size
        static_cast<void>(in.uleb());
        break;
      default:
        return false;
    }
  }
  return in.good();
}

// The address of the FDE that .eh_frame_hdr gives for `pc`, or 0.
inline std::uint64_t find_description(const Module& module, std::uint64_t pc) {
  Reader in(module.tables, module.header);
  if (in.number<unsigned char>() != 1) return 0;
  const auto frame_encoding = in.number<unsigned char>();
  const auto count_encoding = in.number<unsigned char>();
  const auto table_encoding = in.number<unsigned char>();
  static_cast<void>(in.pointer(frame_encoding, module.header));
  // Linkers write only one form, which is sorted and so can be searched by halving.
  if (table_encoding != (kRelativeToData | kSigned4)) return 0;
  std::uint64_t count = in.pointer(count_encoding, module.header);
  if (!in.good() || in.left() / 8 == 0) return 0;
  if (count > in.left() / 8) count = in.left() / 8;
  const std::uint64_t table = in.address();
  const auto start = [&](std::uint64_t entry, std::uint64_t column) {
    Reader at(module.tables, table + entry * 8 + column * 4);
    return at.pointer(table_encoding, module.header);
  };
  std::uint64_t low = 0, high = count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (start(middle, 0) <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? 0 : start(low - 1, 1);
}

}  // namespace detail

// Fills scratch.row for `pc`. False if the tables do not cover it.
inline bool find_row(const Module& module, std::uint64_t pc, Scratch& scratch) {
  const std::uint64_t address = detail::find_description(module, pc);
  if (address == 0) return false;
  scratch.row = Row{};
  detail::Description about{.first = Reader(module.tables), .program = Reader(module.tables)};
  if (!detail::read_description(module.tables, address, about, scratch.row)) return false;
  if (pc < about.from || pc >= about.until) return false;
  if (!detail::apply_program(about.first, about, ~std::uint64_t{0}, scratch, true)) return false;
  scratch.first = scratch.row;
  scratch.function = about.from;
  return detail::apply_program(about.program, about, pc, scratch, false);
}

}  // namespace threadmark::unwind

// Unwinds a stack, frame by frame. The walk allocates nothing, takes no lock, calls no loader and
// ends after a bounded number of steps, whatever tables and stack contain.
//
// Memory:  bool read(std::uint64_t address, std::uint64_t& word)   of the stack that is unwound
// Modules: const Module* find(std::uint64_t pc)                   nullptr where nothing is known
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/unwind/frame_table.hpp"

namespace threadmark::unwind {

namespace detail {

template <class Memory>
bool evaluate(const Image& image, std::uint64_t address, const Registers& registers, Memory& memory,
              std::uint64_t* values, bool with_cfa, std::uint64_t cfa, std::uint64_t& result) {
  Reader in(image, address);
  in.limit(in.uleb());
  std::size_t depth = 0;
  const auto push = [&](std::uint64_t value) {
    if (depth == Scratch::kValues) return in.fail();
    values[depth++] = value;
  };
  const auto pop = [&]() -> std::uint64_t {
    if (depth == 0) {
      in.fail();
      return 0;
    }
    return values[--depth];
  };
  const auto based = [&](std::uint64_t number) {
    const auto offset = in.sleb();
    if (!registers.has(number)) return in.fail();
    push(registers.value[number] + static_cast<std::uint64_t>(offset));
  };
  const auto branch = [&](std::int16_t by) {
    in.go(in.address() + static_cast<std::uint64_t>(std::int64_t{by}));
  };
  if (with_cfa) push(cfa);
  // A branch back may make a loop, so the number of operations is bounded too.
  for (int operations = 0; in.good() && in.left() > 0; ++operations) {
    if (operations == 256) return false;
    const auto code = in.number<unsigned char>();
    if (code >= 0x30 && code <= 0x4f) {
      push(code - 0x30U);
      continue;
    }
    if (code >= 0x50 && code <= 0x6f) {
      if (!registers.has(code - 0x50U)) return false;
      push(registers.value[code - 0x50U]);
      continue;
    }
    if (code >= 0x70 && code <= 0x8f) {
      based(code - 0x70U);
      continue;
    }
    switch (code) {
      case 0x03:
      case 0x0e:
      case 0x0f:
        push(in.number<std::uint64_t>());
        break;
      case 0x06: {  // deref
        std::uint64_t word = 0;
        if (!memory.read(pop(), word)) return false;
        push(word);
        break;
      }
      case 0x08:
        push(in.number<std::uint8_t>());
        break;
      case 0x09:
        push(static_cast<std::uint64_t>(std::int64_t{in.number<std::int8_t>()}));
        break;
      case 0x0a:
        push(in.number<std::uint16_t>());
        break;
      case 0x0b:
        push(static_cast<std::uint64_t>(std::int64_t{in.number<std::int16_t>()}));
        break;
      case 0x0c:
        push(in.number<std::uint32_t>());
        break;
      case 0x0d:
        push(static_cast<std::uint64_t>(std::int64_t{in.number<std::int32_t>()}));
        break;
      case 0x10:
        push(in.uleb());
        break;
      case 0x11:
        push(static_cast<std::uint64_t>(in.sleb()));
        break;
      case 0x12: {  // dup
        const auto top = pop();
        push(top);
        push(top);
        break;
      }
      case 0x13:
        static_cast<void>(pop());
        break;
      case 0x14:    // over
      case 0x15: {  // pick
        const std::size_t index = code == 0x14 ? 1 : in.number<std::uint8_t>();
        if (index >= depth) return false;
        push(values[depth - 1 - index]);
        break;
      }
      case 0x16: {  // swap
        const auto top = pop(), next = pop();
        push(top);
        push(next);
        break;
      }
      case 0x19: {  // abs
        const auto top = pop();
        push(static_cast<std::int64_t>(top) < 0 ? 0 - top : top);
        break;
      }
      case 0x1f:
        push(0 - pop());
        break;
      case 0x20:
        push(~pop());
        break;
      case 0x23:
        push(pop() + in.uleb());
        break;
      case 0x28: {  // bra
        const auto by = in.number<std::int16_t>();
        if (pop() != 0) branch(by);
        break;
      }
      case 0x2f:
        branch(in.number<std::int16_t>());
        break;
      case 0x92:
        based(in.uleb());
        break;
      case 0x96:
        break;
      default: {
        const auto right = pop(), left = pop();
        const auto a = static_cast<std::int64_t>(left), b = static_cast<std::int64_t>(right);
        switch (code) {
          case 0x1a:
            push(left & right);
            break;
          case 0x1c:
            push(left - right);
            break;
          case 0x1e:
            push(left * right);
            break;
          case 0x21:
            push(left | right);
            break;
          case 0x22:
            push(left + right);
            break;
          case 0x24:
            push(right < 64 ? left << right : 0);
            break;
          case 0x25:
            push(right < 64 ? left >> right : 0);
            break;
          case 0x26:
            push(static_cast<std::uint64_t>(a >> (right < 64 ? right : 63)));
            break;
          case 0x27:
            push(left ^ right);
            break;
          case 0x29:
            push(a == b);
            break;
          case 0x2a:
            push(a >= b);
            break;
          case 0x2b:
            push(a > b);
            break;
          case 0x2c:
            push(a <= b);
            break;
          case 0x2d:
            push(a < b);
            break;
          case 0x2e:
            push(a != b);
            break;
          default:
            return false;
        }
      }
    }
  }
  if (!in.good() || depth == 0) return false;
  result = values[depth - 1];
  return true;
}

#if defined(__aarch64__)
// Signed return addresses have their signature in the bits above the address.
inline std::uint64_t stripped(std::uint64_t pc) { return pc & 0x0000ffffffffffffU; }
#else
inline std::uint64_t stripped(std::uint64_t pc) { return pc; }
#endif

}  // namespace detail

struct Frame {
  std::uint64_t pc;    // of the caller
  std::uint64_t slot;  // where it was saved on the stack; 0: in a register
};

// The position of a walk. `pc` of the registers is the current frame's. `call` is false if the
// frame was interrupted and its pc is the next instruction, true if the pc is behind a call.
struct Place {
  Registers registers;
  bool call = false;
};

// Goes from a frame to its caller with the module's tables. False: the stack ends here, or the
// tables do not cover the pc.
template <class Memory>
bool step_by_table(const Module& module, Memory& memory, Place& place, Scratch& scratch,
                   Frame& to) {
  Registers& now = place.registers;
  if (!find_row(module, now.pc() - (place.call ? 1 : 0), scratch)) return false;
  const Row& row = scratch.row;
  std::uint64_t cfa = 0;
  if (row.cfa.kind == Rule::kExpression) {
    if (!detail::evaluate(module.tables, static_cast<std::uint64_t>(row.cfa.number), now, memory,
                          scratch.values, false, 0, cfa))
      return false;
  } else {
    if (row.cfa.kind != Rule::kOffset || !now.has(row.cfa_register)) return false;
    cfa = now.value[row.cfa_register] + static_cast<std::uint64_t>(row.cfa.number);
  }
  // A caller's frame lies above its callee's; only a signal's may lie on another stack.
  if (!row.signal && cfa < now.sp()) return false;
  const Registers before = now;
  to = {0, 0};
  std::uint64_t caller = 0;
  for (std::size_t number = 0; number < kRegisters; ++number) {
    const Rule& rule = row.rules[number];
    std::uint64_t where = 0, value = 0;
    bool known = true;
    switch (rule.kind) {
      case Rule::kSame:
        known = before.has(number);
        value = before.value[number];
        break;
      case Rule::kUndefined:
        known = false;
        break;
      case Rule::kOffset:
        where = cfa + static_cast<std::uint64_t>(rule.number);
        known = memory.read(where, value);
        break;
      case Rule::kValueOffset:
        value = cfa + static_cast<std::uint64_t>(rule.number);
        break;
      case Rule::kRegister:
        known = before.has(static_cast<std::size_t>(rule.number));
        if (known) value = before.value[rule.number];
        break;
      case Rule::kExpression:
      case Rule::kValueExpression:
        known = detail::evaluate(module.tables, static_cast<std::uint64_t>(rule.number), before,
                                 memory, scratch.values, true, cfa, value);
        if (known && rule.kind == Rule::kExpression) {
          where = value;
          known = memory.read(where, value);
        }
        break;
    }
    if (number == row.return_column) {
      if (!known) return false;
      if (rule.kind == Rule::kSame && (place.call || kLink == kReturn)) return false;
      caller = detail::stripped(value);
      to.slot = where;
    }
    if (known)
      now.set(number, value);
    else
      now.forget(number);
  }
  if (row.rules[kStackPointer].kind == Rule::kSame) now.set(kStackPointer, cfa);
  if (caller == 0 || !now.has(kStackPointer)) return false;
  now.set(kReturn, caller);
  to.pc = caller;
  place.call = !row.signal;
  return true;
}

// Follows the chain of frame pointers, for code without tables.
template <class Memory>
bool step_by_frame_pointer(Memory& memory, Place& place, Frame& to) {
  Registers& now = place.registers;
  if (!now.has(kFramePointer)) return false;
  const std::uint64_t frame = now.value[kFramePointer];
  std::uint64_t next = 0, caller = 0;
  if (frame < now.sp() || frame % 8 != 0) return false;
  if (!memory.read(frame, next) || !memory.read(frame + 8, caller) || caller == 0) return false;
  now.known = 0;
  now.set(kFramePointer, next);
  now.set(kStackPointer, frame + 16);
  now.set(kReturn, detail::stripped(caller));
  to = {now.pc(), frame + 8};
  place.call = true;
  return true;
}

// The callers of the place, innermost first, at most `most`. The walk believes frame pointers only
// if they lead to code of a module, because code without tables may use the register otherwise.
template <class Memory, class Modules>
std::size_t walk(Place& place, Memory& memory, Modules& modules, Scratch& scratch, Frame* frames,
                 std::size_t most) {
  constexpr std::size_t kGuessed = 16;
  std::size_t count = 0, believed = 0;
  const Module* module = modules.find(place.registers.pc() - (place.call ? 1 : 0));
  while (count < most && count - believed < kGuessed) {
    const std::uint64_t before = place.registers.sp();
    const bool table = module != nullptr && module->header != 0;
    if (!(table ? step_by_table(*module, memory, place, scratch, frames[count])
                : step_by_frame_pointer(memory, place, frames[count])))
      break;
    ++count;
    module = modules.find(place.registers.pc() - (place.call ? 1 : 0));
    if (table || module != nullptr) believed = count;
    if (place.call && place.registers.sp() <= before) break;  // no progress: a damaged stack
  }
  return believed;
}

}  // namespace threadmark::unwind

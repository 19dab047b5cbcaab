// The registers that frames are unwound with, by their DWARF numbers on x86-64 and aarch64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace threadmark::unwind {

#if defined(__aarch64__)
inline constexpr std::size_t kRegisters = 33;
inline constexpr std::size_t kStackPointer = 31;
inline constexpr std::size_t kFramePointer = 29;
inline constexpr std::size_t kReturn = 32;  // the program counter, in a column that DWARF leaves
inline constexpr std::size_t kLink = 30;    // CIEs name it as the column of the return address
#else
inline constexpr std::size_t kRegisters = 17;
inline constexpr std::size_t kStackPointer = 7;
inline constexpr std::size_t kFramePointer = 6;
inline constexpr std::size_t kReturn = 16;
inline constexpr std::size_t kLink = 16;
#endif

struct Registers {
  std::uint64_t value[kRegisters];
  std::uint64_t known;  // a bit for each register that no callee may have destroyed

  [[nodiscard]] bool has(std::size_t number) const {
    return number < kRegisters && (known >> number & 1) != 0;
  }
  void set(std::size_t number, std::uint64_t what) {
    value[number] = what;
    known |= std::uint64_t{1} << number;
  }
  void forget(std::size_t number) { known &= ~(std::uint64_t{1} << number); }
  [[nodiscard]] std::uint64_t pc() const { return value[kReturn]; }
  [[nodiscard]] std::uint64_t sp() const { return value[kStackPointer]; }
};

// Reads the caller's registers that unwinding needs, with the pc behind this code itself.
[[gnu::always_inline]] inline void read_registers(Registers& to) {
  to.known = 0;
#if defined(__aarch64__)
  std::uint64_t pc, sp;
  asm("adr %0, .\n\tmov %1, sp" : "=r"(pc), "=r"(sp));
  asm("stp x19, x20, [%0, #152]\n\tstp x21, x22, [%0, #168]\n\tstp x23, x24, [%0, #184]\n\t"
      "stp x25, x26, [%0, #200]\n\tstp x27, x28, [%0, #216]\n\tstp x29, x30, [%0, #232]"
      :
      : "r"(to.value)
      : "memory");
  to.known = std::uint64_t{0xfff} << 19;
  to.set(kStackPointer, sp);
  to.set(kReturn, pc);
#else
  asm("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\tmovq %%r12, 96(%0)\n\t"
      "movq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\tmovq %%r15, 120(%0)\n\t"
      "leaq 0(%%rip), %%rax\n\tmovq %%rax, 128(%0)"
      :
      : "r"(to.value)
      : "rax", "memory");
  to.known = 1U << 3 | 1U << 6 | 1U << 7 | 0xfU << 12 | 1U << 16;
#endif
}

}  // namespace threadmark::unwind

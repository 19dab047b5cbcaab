"""Machine code of x86-64, decoded: instructions, their operands and registers."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from threadmark.kinds.explain.analysis.meaning import Operand

_STORES = re.compile(r"v?p?(mov|maskmov|extr|compress|scatter)|fi?st")


@cache
def decoder() -> Any:
    """The decoder of x86-64, with operands."""
    import capstone

    found = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    found.detail = True
    return found


def writes_memory(instruction: Any) -> bool:
    """Whether an instruction writes memory. capstone 5 takes most stores of vectors for reads, and
    knows the operand that they write only by its place, the first one."""
    import capstone
    from capstone import x86

    stores = _STORES.match(instruction.mnemonic) is not None
    return any(
        each.type == x86.X86_OP_MEM and (each.access & capstone.CS_AC_WRITE or (stores and not at))
        for at, each in enumerate(instruction.operands)
    )


def target_of(instruction: Any) -> int | None:
    """The target of a jump, if the instruction has it."""
    from capstone import x86

    operands = instruction.operands
    if len(operands) == 1 and operands[0].type == x86.X86_OP_IMM:
        return int(operands[0].imm)
    return None


def memory(instruction: Any, bias: int | None, *, loops: bool) -> Operand | None:
    """The operand that an instruction reads or writes in memory."""
    from capstone import x86

    for each in instruction.operands:
        if each.type != x86.X86_OP_MEM:
            continue
        memory = each.mem
        if memory.base == x86.X86_REG_RIP:
            if bias is None:
                return None
            absolute = bias + instruction.address + instruction.size + memory.disp
            return Operand(absolute=absolute, loops=loops)
        if memory.segment:  # of the thread itself
            return None
        base = plain_name(instruction.reg_name(memory.base)) if memory.base else ""
        index = plain_name(instruction.reg_name(memory.index)) if memory.index else ""
        if not base and not index:
            return Operand(absolute=(bias or 0) + memory.disp, loops=loops)
        return Operand(base, index, memory.scale, memory.disp, loops=loops)
    return None


def plain_name(register: str) -> str:
    """The record's name of a register: 'ax' for 'rax', 'eax' and 'al'; 'r8' for 'r8d'."""
    name = register.lower()
    if name[:1] == "r" and name[1:2].isdigit():
        return name.rstrip("bwd")
    name = name[1:] if len(name) == 3 and name[0] in "re" else name
    if name[-1:] in "lh" and name[:1] in "abcd" and len(name) == 2:
        return f"{name[0]}x"
    return name[:2]

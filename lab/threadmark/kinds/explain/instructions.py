"""What the instruction before a sample does: a sample lands behind the one that was waited for.

Two questions are answered for x86-64: is it atomic, and at which address; does the sample lie in a
short loop that only waits. For other machines nothing is said.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from threadmark.kinds.explain.analysis.meaning import Operand

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 15  # bytes of an instruction
_LOOP = 64  # bytes of a loop that only waits
_WAITS = frozenset([
    "mov", "movzx", "movsx", "movsxd", "cmp", "test", "pause", "nop", "jmp", "xchg", "bts",
    "cmpxchg", "lock",
])  # fmt: skip
_WORDS = 4  # the least length of an atomic instruction on memory


@cache
def _decoder() -> Any:
    import capstone

    found = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    found.detail = True
    return found


def operand(code: bytes, first: int, address: int, bias: int | None) -> Operand | None:
    """Of the instruction that ends at `address`; `code` begins at `first`. All are addresses of the
    file, which `bias` makes absolute."""
    waits = _loop(code, first, address, bias)
    if waits is not None:
        return waits
    for length in range(_WORDS - 1, _LONGEST + 1):
        at = address - length - first
        if at < 0:
            return None
        if code[at] == 0xF0:  # the prefix LOCK
            for each in _decoder().disasm(code[at : at + _LONGEST], address - length, 1):
                if each.size == length:
                    return _memory(each, bias, loops=False)
    return None


def _loop(code: bytes, first: int, address: int, bias: int | None) -> Operand | None:
    """The word that a loop round an address waits for; None if there is no such loop."""
    end = None
    for each in _decoder().disasm(code[address - first :], address):
        if each.mnemonic.startswith("j"):
            target = _target(each)
            if target is not None and target <= address and address - target <= _LOOP:
                end = each.address + each.size
                begin = target
                break
        if each.mnemonic in ("call", "ret", "syscall", "hlt") or each.address > address + _LOOP:
            return None
    if end is None or begin < first:
        return None
    body = list(_decoder().disasm(code[begin - first : end - first], begin))
    if not body or body[-1].address + body[-1].size != end or not _only_waits(body):
        return None
    for each in body:
        found = _memory(each, bias, loops=True)
        if found is not None:
            return found
    pauses = any(each.mnemonic == "pause" for each in body)
    return Operand(loops=True) if pauses else None


def _only_waits(body: Sequence[Any]) -> bool:
    from capstone import x86

    pauses = any(each.mnemonic == "pause" for each in body)
    for each in body:
        name = each.mnemonic.split()[-1]
        locked = each.mnemonic.startswith("lock") or name == "xchg"
        if not (name in _WAITS or name.startswith("j")) and not pauses:
            return False
        if name == "cmpxchg" and not pauses:
            return False  # it may change the word and go on: that is no lock
        operands = each.operands
        if name == "mov" and operands and operands[0].type == x86.X86_OP_MEM and not pauses:
            return False
        if name.startswith("mov") and len(operands) == 2 and operands[1].type == x86.X86_OP_MEM:
            base = operands[1].mem.base
            into = each.reg_name(operands[0].reg) if operands[0].type == x86.X86_OP_REG else ""
            if base and into and _plain(into) == _plain(each.reg_name(base)):
                return False  # it follows a list
        if locked and name not in ("xchg", "bts", "cmpxchg", "lock") and not pauses:
            return False
    return True


def _target(instruction: Any) -> int | None:
    from capstone import x86

    operands = instruction.operands
    if len(operands) == 1 and operands[0].type == x86.X86_OP_IMM:
        return int(operands[0].imm)
    return None


def _memory(instruction: Any, bias: int | None, *, loops: bool) -> Operand | None:
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
        base = _plain(instruction.reg_name(memory.base)) if memory.base else ""
        index = _plain(instruction.reg_name(memory.index)) if memory.index else ""
        if not base and not index:
            return Operand(absolute=(bias or 0) + memory.disp, loops=loops)
        return Operand(base, index, memory.scale, memory.disp, loops=loops)
    return None


def _plain(register: str) -> str:
    """'rax', 'eax' and 'al' as the record names it: 'ax'; 'r8d' as 'r8'."""
    name = register.lower()
    if name[:1] == "r" and name[1:2].isdigit():
        return name.rstrip("bwd")
    name = name[1:] if len(name) == 3 and name[0] in "re" else name
    if name[-1:] in "lh" and name[:1] in "abcd" and len(name) == 2:
        return f"{name[0]}x"
    return name[:2]

"""The effect of the instruction before a sample: a sample lands behind the instruction that waited.

The module answers two questions for x86-64: is the instruction atomic, and at which address; does
the sample lie in a short loop that only waits. For other machines there is no answer.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from threadmark.kinds.explain.analysis.meaning import Operand

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 15  # bytes of an instruction
RETRY = 2048  # bytes from a place to the compare-exchange that repeats it
_EXCHANGES = (b"\x0f\xb0", b"\x0f\xb1", b"\x0f\xc7")  # cmpxchg, cmpxchg8b and 16b
_LOOP = 64  # bytes of a loop that only waits
_NEAR = 5  # instructions from a compare-exchange to the jump of its result
_STORES = re.compile(r"v?p?(mov|maskmov|extr|compress|scatter)|fi?st")
_WAITS = frozenset([
    "mov", "movzx", "movsx", "movsxd", "cmp", "test", "pause", "nop", "jmp", "xchg", "bts",
    "cmpxchg", "lock",
])  # fmt: skip


_COUNTS = frozenset([
    "add", "sub", "inc", "dec", "imul", "ror", "rol", "shl", "shr", "sar", "and", "or", "xor",
    "lea",
])  # fmt: skip


@cache
def decoder() -> Any:
    """The decoder of x86-64, with operands."""
    import capstone

    found = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    found.detail = True
    return found


def operand(code: bytes, first: int, address: int, bias: int | None) -> Operand | None:
    """The operand of the instruction that ends at `address`; `code` begins at `first`. All are
    addresses of the file, which `bias` makes absolute."""
    body = _body(code, first, address)
    waits = _loop(body, bias) if body else None
    if waits is not None:
        return waits
    if body and (word := _counts(body, bias)) is not None:
        return word
    each = _before(code[: address - first], first)
    if each is None or each.mnemonic in ("lea", "nop", "call", "push", "pop"):
        return None
    # xchg on memory is atomic without the prefix.
    atomic = each.mnemonic.startswith("lock") or each.mnemonic == "xchg"
    found = memory(each, bias, loops=False)
    if found is None:
        return None
    if atomic:
        return replace(found, exchanges="cmpxchg" in each.mnemonic)
    return replace(found, plain=True, writes=writes_memory(each))


def retried(code: bytes, address: int) -> bool:
    """Whether a compare-exchange that fails goes back to `address`, where `code` begins, or before
    it. A loop that also goes on after a success repeats nothing."""
    last = max(code.rfind(each) for each in _EXCHANGES)
    read = list(decoder().disasm(code[: last + _LOOP], address)) if last >= 0 else []
    at = {each.address: place for place, each in enumerate(read)}

    def goes_back(place: int) -> bool:
        jump = next((each for each in read[place : place + _NEAR] if _leaves(each)), None)
        target = target_of(jump) if jump else None
        return jump is not None and target is not None and target <= address

    for place, each in enumerate(read):
        if not each.mnemonic.startswith("lock cmpxchg"):
            continue
        jump = next((n for n in range(place, min(place + _NEAR, len(read))) if _leaves(read[n])), 0)
        if not jump:
            continue
        # The jump of the success, behind which the failure goes on, or the jump of the failure.
        if read[jump].mnemonic == _of_success([e.mnemonic for e in read[place + 1 : jump]]):
            failed = jump + 1
        else:
            failed = at.get(target_of(read[jump]) or 0, 0)
            if goes_back(jump):
                return True
        if failed > place and read[failed : failed + 1] and goes_back(failed):
            return True
    return False


def _of_success(between: Sequence[str]) -> str:
    """The jump after an exchange that did not fail, by the code between the two: none, or code that
    keeps the result as a number and tests it."""
    kept = [place for place, each in enumerate(between) if each == "sete"]
    tested = kept and any(each in ("test", "cmp") for each in between[kept[0] :])
    return "jne" if tested else "je"


def _leaves(instruction: Any) -> bool:
    return instruction.mnemonic == "ret" or bool(instruction.mnemonic.startswith("j"))


def text(code: bytes, address: int) -> str:
    """The first instruction of `code` as an assembler writes it; empty for none."""
    for each in decoder().disasm(code, address, 1):
        return f"{each.mnemonic} {each.op_str}".strip()
    return ""


def text_before(code: bytes, first: int) -> str:
    """The last instruction of `code`, which begins at `first`."""
    each = _before(code, first)
    return f"{each.mnemonic} {each.op_str}".strip() if each else ""


def _before(code: bytes, first: int) -> Any | None:
    """The last instruction of `code`. Instructions differ in length, so `code` is read from several
    places on. Most of these readings soon agree on the beginnings of instructions."""
    votes: Counter[int] = Counter()
    last: dict[int, Any] = {}
    for start in range(min(LONGEST + 1, len(code))):
        read = list(decoder().disasm(code[start:], first + start))
        each = read[-1] if read else None
        if each is not None and each.address + each.size == first + len(code):
            votes[each.address] += 1
            last[each.address] = each
    return last[max(votes, key=lambda at: (votes[at], at))] if votes else None


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


def _body(code: bytes, first: int, address: int) -> list[Any]:
    """The instructions of the short loop around an address; empty if there is none."""
    end = None
    for each in decoder().disasm(code[address - first :], address):
        if each.mnemonic.startswith("j"):
            target = target_of(each)
            if target is not None and target <= address and address - target <= _LOOP:
                end = each.address + each.size
                begin = target
                break
        if each.mnemonic in ("call", "ret", "syscall", "hlt") or each.address > address + _LOOP:
            return []
    if end is None or begin < first:
        return []
    body = list(decoder().disasm(code[begin - first : end - first], begin))
    if not body or body[-1].address + body[-1].size != end:
        return []
    jumps = (target_of(each) for each in body if each.mnemonic == "jmp")
    # Code after a jump out of the loop is no part of it.
    return body if all(to is None or begin <= to < end for to in jumps) else []


def _counts(body: Sequence[Any], bias: int | None) -> Operand | None:
    """The one word that a loop reads again and again while it only counts; else None. Work that a
    flag stops may look the same, so further evidence of a wait is needed."""
    from capstone import x86

    words = set()
    changed = set()
    for each in body:
        if each.mnemonic not in _WAITS | _COUNTS and not each.mnemonic.startswith("j"):
            return None
        if each.mnemonic.startswith("lock") or writes_memory(each):
            return None
        word = memory(each, bias, loops=False)
        if word is not None:
            words.add(word)
        written = each.regs_access()[1]
        changed |= {plain_name(each.reg_name(register)) for register in written}
        if any(o.type == x86.X86_OP_MEM for o in each.operands) and word is None:
            return None
    if len(words) != 1:
        return None
    [word] = words
    if {word.base, word.index} & changed:
        return None  # each time another word
    return replace(word, plain=True, counts=True)


def _loop(body: Sequence[Any], bias: int | None) -> Operand | None:
    """The word that a loop waits for; None if the loop works."""
    if not _only_waits(body) and not _repeats(body):
        return None
    for each in body:
        found = memory(each, bias, loops=True)
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
            if base and into and plain_name(into) == plain_name(each.reg_name(base)):
                return False  # it follows a list
        if locked and name not in ("xchg", "bts", "cmpxchg", "lock") and not pauses:
            return False
    return True


def _repeats(body: Sequence[Any]) -> bool:
    """Whether a loop does the same each time until another thread changes the word that it reads:
    it writes no memory, and no register has a value from the previous turn."""
    inside = {each.address for each in body[1:]}
    changed: set[str] = set()
    kept: set[str] = set()  # registers that are read before they are written
    for each in body:
        if each.mnemonic.startswith(("lock", "xchg", "rep")) or writes_memory(each):
            return False
        if each.mnemonic.startswith("j") and target_of(each) in inside:
            return False  # skipped code may give another value each time
        reads, writes = ({plain_name(each.reg_name(r)) for r in of} for of in each.regs_access())
        if each.mnemonic.startswith("cmov"):
            reads |= writes
        if each.mnemonic == "xor" and len({*each.op_str.split(", ")}) == 1:
            reads -= writes  # it makes zero
        kept |= reads - changed
        changed |= writes
    return not kept & changed - {plain_name("rflags")}


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

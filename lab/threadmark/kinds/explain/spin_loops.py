"""Short loops of machine code that wait for a word which another thread changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.decoding import (
    decoder,
    memory,
    plain_name,
    target_of,
    writes_memory,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOP = 64  # bytes of a loop that only waits
_END = 4  # instructions at the end of a function
PAUSE = b"\xf3\x90"
APART = 512  # bytes from a pause to the loop that it belongs to
_SHORT_TURN = 16  # instructions of a loop with a pause and without calls
_TURN = 64  # instructions of such a loop; without optimisation it calls functions of the library
_WAITS = frozenset([
    "mov", "movzx", "movsx", "movsxd", "cmp", "test", "pause", "nop", "jmp", "xchg", "bts",
    "cmpxchg", "lock",
])  # fmt: skip


_COUNTS = frozenset([
    "add", "sub", "inc", "dec", "imul", "ror", "rol", "shl", "shr", "sar", "and", "or", "xor",
    "lea",
])  # fmt: skip


def word_of_loop(
    code: bytes, first: int, address: int, bias: int | None, *, calls: bool
) -> Operand | None:
    """The word that the short loop around an address waits for; None if there is no such loop.
    `code` begins at `first`. `calls`: a loop with a pause may call functions."""
    body = _body(code, first, address)
    if not body and code[: address - first].endswith(PAUSE):
        if calls and _only_pauses(code[address - first :], address):
            return Operand(loops=True)
        body = _turn(code, first, address, calls=calls)
    if not body:
        return None
    return _loop(body, bias) or _counts(body, bias)


def _body(code: bytes, first: int, address: int) -> list[Any]:
    """The instructions of the short loop around an address; empty if there is none."""
    end = None
    for each in decoder().disasm(code[address - first :], address):
        if each.mnemonic.startswith("j"):
            target = target_of(each)
            if target is not None and target <= address and address - target <= LOOP:
                end = each.address + each.size
                begin = target
                break
        if each.mnemonic in ("call", "ret", "syscall", "hlt") or each.address > address + LOOP:
            return []
    if end is None or begin < first:
        return []
    body = list(decoder().disasm(code[begin - first : end - first], begin))
    if not body or body[-1].address + body[-1].size != end:
        return []
    jumps = (target_of(each) for each in body if each.mnemonic == "jmp")
    # Code after a jump out of the loop is no part of it.
    return body if all(to is None or begin <= to < end for to in jumps) else []


def _only_pauses(code: bytes, address: int) -> bool:
    """Whether the function ends behind a pause: its caller waits in a loop."""
    rest = [name for _, _, name, _ in decoder().disasm_lite(code[:LOOP], address, _END)]
    return "ret" in rest and set(rest[: rest.index("ret")]) <= {"nop", "leave", "pop"}


def _turn(code: bytes, first: int, address: int, *, calls: bool) -> list[Any]:
    """The instructions of a loop from the pause before an address back to that pause, by the
    shortest way; empty if there is none. A compiler moves the pause behind the end of the function
    if it takes success for likely."""
    begin = address - len(PAUSE)
    ends: dict[int, list[Any]] = {begin: []}  # the next instruction of each way
    for _ in range(_TURN if calls else _SHORT_TURN):
        ahead: dict[int, list[Any]] = {}
        for at, way in ends.items():
            each = next(decoder().disasm(code[at - first :], at, 1), None) if at >= first else None
            for target in _next(each, calls=calls) if each else ():
                if target == begin:
                    return [*way, each]
                ahead.setdefault(target, [*way, each])
        ends = ahead
    return []


def _next(each: Any, *, calls: bool) -> list[int]:
    """The addresses of the function at which a thread may go on after an instruction; none after
    one that leaves the function or the program."""
    if each.mnemonic in ("ret", "syscall", "hlt") or (each.mnemonic == "call" and not calls):
        return []
    target = target_of(each) if each.mnemonic.startswith("j") else None
    behind = [] if each.mnemonic == "jmp" else [each.address + each.size]
    return [*behind, *([] if target is None else [target])]


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
        if locked and name not in ("xchg", "bts", "cmpxchg", "lock") and not pauses:
            return False
    return pauses or not _carried(body)  # a loop that follows a list or tree works


def _repeats(body: Sequence[Any]) -> bool:
    """Whether a loop does the same each time until another thread changes the word that it reads:
    it writes no memory, and no register has a value from the previous turn. A turn may begin
    anywhere in the loop, because a compiler moves the test to its top."""
    inside = {each.address for each in body[1:]}
    for each in body:
        if each.mnemonic.startswith(("lock", "xchg", "rep")) or writes_memory(each):
            return False
        if each.mnemonic.startswith("j") and target_of(each) in inside:
            return False  # skipped code may give another value each time
    return not all(_carried([*body[at:], *body[:at]]) for at in range(len(body)))


def _carried(body: Sequence[Any]) -> set[str]:
    """The registers with a value from the previous turn of a loop that the loop changes, apart from
    the flags and from a value that xchg writes to memory."""
    changed: set[str] = set()
    kept: set[str] = set()  # registers that are read before they are written
    for each in body:
        reads, writes = ({plain_name(each.reg_name(r)) for r in of} for of in each.regs_access())
        if each.mnemonic.startswith("cmov"):
            reads |= writes
        if each.mnemonic == "xor" and len({*each.op_str.split(", ")}) == 1:
            reads -= writes  # it makes zero
        if each.mnemonic == "xchg":
            reads -= writes
        kept |= reads - changed
        changed |= writes
    return kept & changed - {plain_name("rflags")}

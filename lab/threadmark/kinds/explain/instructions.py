"""The effect of the instruction before a sample: a sample lands behind the instruction that waited.

The module answers two questions for x86-64: is the instruction atomic, and at which address; does
the sample lie in a short loop that only waits. For other machines there is no answer.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.decoding import decoder, memory, target_of, writes_memory
from threadmark.kinds.explain.spin_loops import LOOP, word_of_loop

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 15  # bytes of an instruction
RETRY = 2048  # bytes from a place to the compare-exchange that repeats it
_EXCHANGES = (b"\x0f\xb0", b"\x0f\xb1", b"\x0f\xc7")  # cmpxchg, cmpxchg8b and 16b
_NEAR = 5  # instructions from a compare-exchange to the jump of its result


def operand(
    code: bytes, first: int, address: int, bias: int | None, *, own: bool = True
) -> Operand | None:
    """The operand of the instruction that ends at `address`; `code` begins at `first`. All are
    addresses of the file, which `bias` makes absolute. `own`: the file is the program's. A runtime
    that pauses between its calls may look for work."""
    if (word := word_of_loop(code, first, address, bias, calls=own)) is not None:
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
    read = list(decoder().disasm(code[: last + LOOP], address)) if last >= 0 else []
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


def mnemonics(code: bytes, most: int) -> tuple[str, ...]:
    """The names of the first instructions of `code`."""
    return tuple(name for _, _, name, _ in decoder().disasm_lite(code, 0, most))


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

"""Finds the words that a thread writes soon after a sample.

A sample lands behind the instruction that waited. On some processors that is a read in nearly all
samples, though the writes behind it are what takes the line from the other thread.
"""

from __future__ import annotations

from dataclasses import replace

from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.decoding import decoder, memory, plain_name, writes_memory

_MOST = 24  # instructions
REACH = 128  # bytes of these


def written_next(code: bytes, address: int, bias: int | None) -> tuple[Operand, ...]:
    """The words that the code at `address`, where `code` begins, writes before it branches, by
    registers that are unchanged since then. Atomic instructions do not count."""
    found = []
    changed: set[str] = set()
    for each in decoder().disasm(code, address, _MOST):
        if each.mnemonic.startswith("j") or each.mnemonic in ("call", "ret", "syscall", "hlt"):
            break
        if writes_memory(each) and not each.mnemonic.startswith(("lock", "xchg")):
            word = memory(each, bias, loops=False)
            if word is not None and not {word.base, word.index} & changed:
                found.append(replace(word, plain=True, writes=True))
        changed |= {plain_name(each.reg_name(register)) for register in each.regs_access()[1]}
    return tuple(found)

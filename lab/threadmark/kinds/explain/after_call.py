"""Finds the word that a loop reads when the loop calls a function in each turn, such as a yield."""

from __future__ import annotations

from threadmark.kinds.explain.decoding import decoder, memory, target_of, writes_memory

REACH = 512  # bytes from the call to the beginning of its loop
_MOST = 16  # instructions from the call to the word


def word_after(code: bytes, first: int, address: int, bias: int | None) -> int | None:
    """The address of the first word that the code reads when the call that ends at `address`
    returns; None if the code does other work first, or if the word's address is in a register.
    `code` begins at `first`. All are addresses of the file, which `bias` makes absolute."""
    at = address
    for _ in range(_MOST):
        each = next(decoder().disasm(code[at - first :], at, 1), None) if at >= first else None
        if each is None or each.mnemonic in ("call", "ret", "syscall"):
            return None
        at = each.address + each.size
        if each.mnemonic.startswith("j"):
            target = target_of(each)
            if each.mnemonic != "jmp" or target is None:
                return None
            at = target
            continue
        found = None if each.mnemonic == "lea" else memory(each, bias, loops=False)
        if found is not None:
            return None if writes_memory(each) and each.mnemonic != "xchg" else found.absolute
    return None

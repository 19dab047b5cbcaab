"""The word that a loop reads when the function that it calls returns."""

from __future__ import annotations

import pytest
from threadmark.kinds.explain.after_call import word_after

CALL = bytes.fromhex("e800000000")
READ = bytes.fromhex("0fb605f8ff0000")  # movzx eax, byte [rip + 0xfff8]
TEST = bytes.fromhex("84c0")


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (CALL + READ + TEST, 0x1000 + 5 + 7 + 0xFFF8),
        (CALL + bytes.fromhex("eb02 9090".replace(" ", "")) + READ, 0x1000 + 9 + 7 + 0xFFF8),
        (CALL + bytes.fromhex("8b4508") + READ, None),  # the code first reads through a register
        (CALL + bytes.fromhex("c705f0ff000001000000") + READ, None),  # the code writes
        (CALL + CALL + READ, None),
        (CALL + bytes.fromhex("7502") + READ, None),  # the code decides by the result of the call
        (CALL + bytes.fromhex("ebfe"), None),  # an endless loop
        (CALL + bytes.fromhex("e900100000"), None),  # the jump leaves the known code
        (CALL, None),
        (CALL + b"\x06" + READ, None),  # an invalid instruction
    ],
)
def test_the_word_is_what_is_read_first(code: bytes, word: int | None) -> None:
    assert word_after(code, 0x1000, 0x1005, 0) == word


def test_a_loop_goes_back_to_where_it_looks() -> None:
    code = READ + TEST + CALL + bytes.fromhex("ebf0")
    assert word_after(code, 0x2000, 0x2000 + len(READ + TEST + CALL), 0x100) == 0x2107 + 0xFFF8

"""The words that code writes soon after a sample, from its bytes."""

from __future__ import annotations

import pytest
from threadmark.kinds.explain.next_writes import written_next

ADD_16 = "48017710"  # add [rdi+0x10], rsi
STORE = "0f1107"  # movups [rdi], xmm0
NEXT = "4883c718"  # add rdi, 0x18
LOAD = "488b4708"  # mov rax, [rdi+8]
LOCKED = "f0480107"  # lock add [rdi], rax
GLOBAL = "480305f00f0000"  # add rax, [rip+0xff0]
STORE_GLOBAL = "480105f00f0000"  # add [rip+0xff0], rax
JUMP, CALL, RET = "7410", "e800000000", "c3"


def written(code: str) -> list[tuple[str, int, int | None]]:
    found = written_next(bytes.fromhex(code), 0x1000, 0x10000)
    assert all(each.plain and each.writes for each in found)
    return [(each.base, each.offset, each.absolute) for each in found]


def test_the_writes_before_a_branch_are_found() -> None:
    assert written(ADD_16 + LOAD + STORE + RET) == [("di", 16, None), ("di", 0, None)]
    assert written(STORE_GLOBAL) == [("", 0, 0x10000 + 0x1007 + 0xFF0)]


@pytest.mark.parametrize("code", [JUMP, CALL, RET])
def test_code_behind_a_branch_does_not_count(code: str) -> None:
    assert written(code + STORE) == []


def test_a_register_that_changed_tells_no_address() -> None:
    assert written(STORE + NEXT + ADD_16) == [("di", 0, None)]


def test_reads_and_atomic_instructions_are_no_plain_writes() -> None:
    assert written(LOAD + LOCKED + GLOBAL) == []


def test_unknown_code_writes_nothing() -> None:
    assert written("") == []

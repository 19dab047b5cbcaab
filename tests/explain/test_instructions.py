"""The effect of the instruction before a sample, from its bytes."""

from __future__ import annotations

from typing import Any

import pytest
from threadmark.kinds.explain.instructions import operand, retried

NOPS = "90" * 20


def before(code: str) -> Any:
    """The operand of the last instruction of some bytes, behind others that do nothing."""
    whole = bytes.fromhex(NOPS + code)
    return operand(whole + bytes.fromhex("c3" + "90" * 20), 0x1000, 0x1000 + len(whole), 0)


def test_an_atomic_instruction_has_its_word() -> None:
    found = before("f0 0f c1 43 08")  # lock xadd [rbx+8], eax
    assert (found.base, found.offset, found.plain) == ("bx", 8, False)
    assert not before("87 43 08").plain  # xchg [rbx+8], eax needs no prefix


def test_an_instruction_behind_a_byte_that_looks_like_the_prefix_is_not_atomic() -> None:
    # mov eax, esi ends with 0xf0, and add [rdi], rax follows it.
    found = before("89 f0 48 01 07")
    assert (found.base, found.plain, found.writes) == ("di", True, True)


@pytest.mark.parametrize(
    ("code", "writes"),
    [
        *[("48 8b 07", False), ("48 89 07", True), ("48 ff 07", True), ("48 3b 07", False)],
        *[("0f 10 07", False), ("0f 11 07", True)],  # movups
        *[("66 0f d6 07", True), ("f3 0f 7e 07", False)],  # movq
        *[("c5 fb 10 07", False), ("c5 fb 11 07", True)],  # vmovsd
        *[("dd 07", False), ("dd 1f", True), ("df 3f", True)],  # fld, fstp, fistp
    ],
)
def test_plain_instructions_say_whether_they_write(code: str, writes: bool) -> None:
    assert before(code).writes == writes


@pytest.mark.parametrize("code", ["89 f0", "48 8d 47 08", "64 48 89 04 25 28 00 00 00", "c3"])
def test_others_have_no_word(code: str) -> None:
    assert before(code) is None


def looped(body: str, at: int) -> Any:
    """The operand of a sample behind the first `at` bytes of a loop."""
    whole = bytes.fromhex(NOPS + body + "c3" + "90" * 20)
    return operand(whole, 0x1000, 0x1000 + len(NOPS) // 2 + at, 0)


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        # add ebp, 1; mov eax, [r12]; cmp r14d, eax; je; imul eax, ebp, ...; cmp eax, ...; ja back
        ("83c501 418b0424 4139c6 740f 69c5d578e926 3d37894100 77e7", True),
        ("83c501 418b042c 4139c6 740f 69c5d578e926 3d37894100 77e7", False),  # [r12+rbp]: a list
        ("83c501 41890424 4139c6 740f 69c5d578e926 3d37894100 77e7", False),  # the loop writes it
        ("83c501 418b0424 4139c6 740f f30f58c0 9090 3d37894100 77e7", False),  # addss: work
    ],
    ids=["one word", "each time another", "written", "other work"],
)
def test_a_loop_that_looks_at_one_word_and_counts(body: str, counts: bool) -> None:
    found = looped(body, 7)
    assert bool(found and found.counts) == counts
    assert not found or not found.loops


@pytest.mark.parametrize(
    ("body", "waits"),
    [
        # mov rdx, [rdi]; mov rcx, [rsi]; mov rax, rcx; imul rax, r8; cmp rdx, rax; jl back
        ("488b17 488b0e 4889c8 490fafc0 4839c2 7cee", True),
        ("488b17 488b0e 4801c8 490fafc0 4839c2 7cee", False),  # add rax, rcx: the loop counts
        ("488b17 488b0e 488907 490fafc0 4839c2 7cee", False),  # mov [rdi], rax: the loop writes
        ("488b3f 488b0e 4889c8 490fafc0 4839c2 7cee", False),  # mov rdi, [rdi]: it walks a list
        ("488b17 488b0e 480f44c1 490fafc0 4839c2 7ced", False),  # cmove rax, rcx: or rax is old
        ("31c0 488b17 4801d0 4839f0 7cf3", True),  # xor eax, eax; mov; add; cmp; jl
        ("488b17 4839c2 7402 31c0 4839f0 7cf1", False),  # je over the xor: rax may be old
        ("488b17 eb40 4839c2 4839f0 7cf3", False),  # jmp away; the jl behind it is of other code
        # cmp rdx, rcx; je out; mov rdx, [rdi]; mov rcx, [rsi]; cmp rdx, rsi; jl back
        ("4839ca 7440 488b17 488b0e 4839f2 7cf0", True),
        ("4839ca 7440 4801ca 488b0e 4839f2 7cf0", False),  # add rdx, rcx: the loop counts
    ],
    ids=[
        "the same", "counts", "writes", "list", "conditional", "from zero", "left out", "no loop",
        "test at the top", "test at the top of a count",
    ],
)  # fmt: skip
def test_a_loop_that_does_the_same_each_time_waits_for_another_thread(
    body: str, waits: bool
) -> None:
    found = looped(body, 3)
    assert bool(found and found.loops) == waits
    assert not waits or found.base == "di"


@pytest.mark.parametrize(
    ("body", "waits"),
    [
        # mov rax, rcx; test rax, rax; je out; mov rdx, [rax+16]; mov rcx, [rax+24];
        # cmp [rax+32], rdi; jg back; mov r8, rax; mov rax, rdx; test rax, rax; jne to the fourth:
        # std::map::find
        ("4889c8 4885c0 741b 488b5010 488b4818 48397820 7fea 4989c0 4889d0 4885c0 75e7", False),
        # cmp [rsi+rax*8], rdi; je; mov rax, [rdx+rax*8]; test rax, rax; jns back: a chain
        ("48393cc6 7407 488b04c2 4885c0 79f1", False),
        ("8a07 84c0 75fa", True),  # mov al, [rdi]; test al, al; jne back
        ("89d0 8607 84c0 75f8", True),  # mov eax, edx; xchg al, [rdi]; test al, al; jne back
        ("8607 84c0 75fa", True),
        ("488b4708 833800 74f7", True),  # mov rax, [rdi+8]; cmp [rax], 0; je back
        ("488b7f08 48833f00 74f6", False),  # mov rdi, [rdi+8]; cmp [rdi], 0; je back: a list
    ],
    ids=["map", "chain", "flag", "lock", "lock again", "pointer", "list"],
)
def test_a_loop_that_goes_from_place_to_place_works(body: str, waits: bool) -> None:
    ends = (at for at in range(3, 24) if (found := looped(body, at)) and found.loops)
    assert bool([*ends]) == waits


# mov rax, [rdi]; lea rcx, [rax+1]; lock cmpxchg [rdi], rcx; and then
TRIES = "488b07 488d4801 f0480fb10f"


@pytest.mark.parametrize(
    ("behind", "at", "again"),
    [
        ("75f2 c3", 0, True),  # jne to the mov
        ("75f2 c3", 3, True),
        ("7402 ebf0 c3", 0, True),  # je out; jmp to the mov
        ("7504 c3909090 ebec", 0, True),  # jne to a jmp to the mov
        ("75f9 ebf0 c3", 0, False),  # jne to the cmpxchg; an outer loop goes on after a success
        ("75f9 ebf0 c3", 7, True),
        ("c3 9090 ebee", 0, False),  # the code ignores the result
        # sete cl; movzx ecx, cl; test ecx, ecx: je is the jump of the failure
        ("0f94c1 0fb6c9 85c9 74ea c3", 0, True),
        ("0f94c1 0fb6c9 85c9 74f1 ebe8 c3", 0, False),
        ("0f94c1 0fb6c9 85c9 7502 ebe8 c3", 0, True),
    ],
)
def test_code_is_done_again_where_its_compare_exchange_fails(
    behind: str, at: int, again: bool
) -> None:
    code = bytes.fromhex(TRIES + behind + "90" * 20)
    assert retried(code[at:], 0x1000 + at) == again


@pytest.mark.parametrize(
    ("pause", "ret", "waits"), [("f390", "c3", True), ("9090", "c3", False), ("f390", "90", True)]
)
def test_a_pause_may_lie_apart_from_its_loop(pause: str, ret: str, waits: bool) -> None:
    """mov eax, [rdi]; test al, 1; jne pause; lock cmpxchg [rdi], edx; jne pause; ret; pause; jmp"""
    begin = "8b07 a801 0f855e000000 8d5001 f00fb117 0f8551000000"
    found = looped(f"{begin} {ret} {'90' * 80} {pause} e991ffffff", 106)
    assert bool(found and found.loops) == waits
    assert not waits or (found.base, found.offset) == ("di", 0)


@pytest.mark.parametrize(("back", "waits"), [("f5", True), ("f7", False)])
def test_a_loop_with_a_pause_may_call_functions(back: str, waits: bool) -> None:
    """pause; call; test al, al; je pause: a loop that is not optimised. A jump to the call leaves
    the pause out."""
    body = f"f390 e800000000 84c0 74{back} c3"
    found = looped(body, 2)
    assert bool(found and found.loops) == waits
    # A runtime may look for work between its pauses.
    found = operand(bytes.fromhex(body), 0x1000, 0x1002, 0, own=False)
    assert not (found and found.loops)


@pytest.mark.parametrize(
    ("rest", "waits"),
    [("c3", True), ("90 5d c3", True), ("8b07 c3", False), ("90 90 90 90", False)],
)
def test_a_function_that_only_pauses_waits_in_its_caller(rest: str, waits: bool) -> None:
    found = looped(f"f390 {rest}", 2)
    assert bool(found and found.loops) == waits
    found = operand(bytes.fromhex(f"f390 {rest}"), 0x1000, 0x1002, 0, own=False)
    assert not (found and found.loops)


def test_a_pause_that_no_way_comes_back_to_is_no_loop() -> None:
    # The jump behind it leads to the return.
    found = looped(f"8b07 c3 {'90' * 80} f390 e996ffffff", 85)
    assert found is None or not found.loops

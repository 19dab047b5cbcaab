"""Callers and callees of a function, from the stacks of a run."""

from __future__ import annotations

from typing import Any

import pytest
from threadmark.kinds.explain.functions import function
from threadmark.model.errors import LabError

STACKS: dict[str, Any] = {
    "running": [
        (["malloc", "ns::grow", "worker"], 30),
        (["ns::grow", "worker"], 10),
        (["malloc", "main"], 5),
        (["walk", "leaf", "walk", "walk", "main"], 7),
        (["other::grow", "main"], 1),
    ],
    "waiting": [
        (["ns::grow", "worker"], 2000, "mutex"),
        (["read", "ns::grow", "worker"], 500, "io"),
    ],
    "hot": {"malloc": {"lines": [["m.c:7", 30]], "instructions": [["m+0x8", "lock inc", 30]]}},
}


def test_samples_and_waits_are_told_with_callers_and_callees() -> None:
    found = function(STACKS, "ns::grow").record()
    assert found["running_samples"] == {
        "all": 53, "inclusive": 40, "exclusive": 10,
        "callers": {"worker": 40}, "callees": {"malloc": 30},
    }  # fmt: skip
    assert found["waiting_us"] == {
        "all": 2500, "inclusive": 2500, "exclusive": 2000, "for": {"mutex": 2000},
        "callers": {"worker": 2500}, "callees": {"read": 500},
    }  # fmt: skip


def test_a_function_that_calls_itself_counts_once() -> None:
    part = function(STACKS, "walk").running
    assert (part.inclusive, part.exclusive) == (7, 7)
    assert (part.callers, part.callees) == ({"main": 7}, {})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("grow", "2 functions are named grow; write one whole: ns::grow, other::grow."),
        ("mallo", "no stack of this run has a function mallo. Similar: malloc."),
        ("", "no stack of this run has a function ."),
    ],
)
def test_a_name_that_says_no_single_function_is_refused(name: str, words: str) -> None:
    with pytest.raises(LabError) as caught:
        function(STACKS, name)
    assert words.lower() in str(caught.value).lower()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_fit_the_terminal(width: int) -> None:
    lines = [each.plain for each in function(STACKS, "malloc").lines(width, utf8=False)]
    assert max(map(len, lines)) <= max(width, 40)
    assert any("ns::grow" in line and "56.6 %" in line for line in lines)


def test_lines_and_instructions_are_those_of_the_function_itself() -> None:
    found = function(STACKS, "malloc")
    lines = [each.plain for each in found.lines(80, utf8=False)]
    for words in ("m.c:7", "m+0x8  lock inc"):
        assert any(words in line and "56.6 %" in line for line in lines)
    assert found.record()["lines"] == [{"where": "m.c:7", "samples": 30}]
    assert found.record()["instructions"][0]["text"] == "lock inc"
    assert function(STACKS, "walk").record()["instructions"] == []

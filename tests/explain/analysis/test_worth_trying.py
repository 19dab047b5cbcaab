"""explain proposes the fixes that can help with a cause worth removing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from threadmark.fixes import choosing
from threadmark.kinds.explain import table
from threadmark.kinds.explain.turns import Turns
from threadmark.kinds.explain.worth_trying import worth_trying
from threadmark.model.places import DEFAULT_STORE


def cause(category: str, bound: float | None) -> dict[str, Any]:
    """The fields of a cause that the function reads."""
    return {"category": category, "bound": bound}


def answer(*causes: dict[str, Any]) -> dict[str, Any]:
    """The fields of an answer that the function reads; no fix helps with more than one of the
    causes."""
    return {"causes": causes, "fixes": choosing.at_least([], causes)}


def test_the_fixes_of_the_first_causes_are_named_with_their_bounds_and_a_command() -> None:
    found = worth_trying(
        answer(cause("allocator", 1.8), cause("mutex", 1.2)), ["./absent", "a b"], DEFAULT_STORE
    )
    names = [each["name"] for each in found["fixes"]]
    assert names[0] in ("jemalloc", "mimalloc", "tcmalloc", "tbbmalloc")
    assert {each["bound"] for each in found["fixes"][:4]} == {1.8}
    assert found["command"] == f"./threadmark try --only {','.join(names)} -- ./absent 'a b'"
    found = worth_trying(answer(cause("stdio", 1.8)), ["./absent"], Path("my runs.db"))
    assert found["command"].endswith(" --store 'my runs.db' -- ./absent")


def test_a_fix_is_worth_what_is_known_of_all_its_causes_at_once() -> None:
    causes = [cause("allocator", 1.8), cause("kernel_memory", 1.2), cause("none", None)]
    fixes = choosing.at_least([{"name": "jemalloc", "bound": 2.5}], causes)
    found = worth_trying({"causes": causes, "fixes": fixes}, ["./absent"], DEFAULT_STORE)
    bounds = {each["name"]: each["bound"] for each in found["fixes"]}
    assert bounds["jemalloc"] == 2.5
    assert bounds["mimalloc"] == 1.8


def test_what_a_comparison_was_asked_with_is_asked_again() -> None:
    turns = Turns(threads="1,2", variable="NT", progress=r"done (\d+)")
    found = worth_trying(
        answer(cause("mutex", 1.4)), ["true", "{threads}"], DEFAULT_STORE, turns.options()
    )
    asked = r"./threadmark try --threads 1,2 --threads-env NT --progress 'done (\d+)' --only "
    assert found["command"].startswith(asked)


def test_nothing_is_proposed_where_nothing_can_help() -> None:
    assert worth_trying(answer(cause("none", None)), ["true"], DEFAULT_STORE) == {}
    assert worth_trying(answer(cause("mutex", 1.01)), ["true"], DEFAULT_STORE) == {}
    assert worth_trying(answer(cause("mutex", None)), ["true"], DEFAULT_STORE) == {}
    assert worth_trying(answer(cause("serial_dependency", 1.9)), ["true"], DEFAULT_STORE) == {}
    later = [cause("none", None), cause("unknown", None), cause("allocator", 2.0)]
    assert worth_trying(answer(*later), ["true"], DEFAULT_STORE) == {}


def test_no_fix_is_proposed_for_functions_that_the_program_does_not_call() -> None:
    found = worth_trying(
        answer(cause("mutex", 1.4)), ["true"], DEFAULT_STORE
    )  # the program seems to have a lock of its own
    names = {each["name"] for each in found["fixes"]}
    assert names
    assert not names & {"adaptive-mutex", "spinning-mutex", "queueing-mutex"}


def test_the_answer_ends_with_what_is_worth_trying() -> None:
    found: dict[str, Any] = {
        "command": ["p"], "threads": 2, "wall_s": 1.0, "thread_s": 2.0, "accounted": 1.0,
        "states": {}, "limits": [],
        "causes": [{"category": "none", "words": "It scales.", "certain": True}],
        "try": {
            "fixes": [
                {"name": "jemalloc", "bound": 1.8}, {"name": "arenas", "bound": 1.8},
                {"name": "batch", "bound": None},
            ],
            "command": "./threadmark try --only jemalloc,batch -- p",
        },
    }  # fmt: skip
    said = [line.plain for line in table.lines(found, 80, utf8=True)]
    text = " ".join(" ".join(said).split())
    assert "Worth trying: jemalloc, arenas (at most x1.8); batch (bound not known). This" in text
    assert "   ./threadmark try --only jemalloc,batch -- p" in said

"""The library of queueing mutexes: its effect on a program, and all interleavings of a model."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from threadmark.setup.preload_library import preload_library

THREADS = 3
FIRST = ("first", "locks", "calm", "hand on", "close", "turn")  # steps of the first waiter
TAKEN = 2  # the times that each thread takes the mutex


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_mutexes_in_turn_are_mutexes_in_every_way(tmp_path: Path) -> None:
    source = Path(__file__).with_name("queueing.cpp")
    program = tmp_path / "prog"
    subprocess.run(["g++", "-O1", "-std=c++17", "-pthread", source, "-o", program], check=True)
    library = preload_library("queueing_mutex")
    for _ in range(2):
        done = subprocess.run(
            [program], env={**os.environ, "LD_PRELOAD": str(library)}, capture_output=True,
            text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


class State(NamedTuple):
    """The state of the threads and of the mutex. Each thread has its step, the number of times that
    it has had the mutex, its place (next, turn; or None), and the place before its own. The mutex
    has its tail, the mark that the first waiter insists, and its holder."""

    steps: tuple[str, ...]
    had: tuple[int, ...]
    places: tuple[tuple[int | None, str] | None, ...]
    before: tuple[int | None, ...]
    tail: int | None
    insists: bool
    holder: int | None

    def at(self, me: int, step: str, **changes: Any) -> State:
        """The state with thread `me` at another step."""
        return self._replace(steps=_with(self.steps, me, step), **changes)

    def placed(self, whose: int, place: tuple[int | None, str] | None) -> tuple[Any, ...]:
        """The places with another place of thread `whose`."""
        return _with(self.places, whose, place)


def _with(values: tuple[Any, ...], at: int, value: object) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _newcomer(s: State, me: int) -> Iterator[State]:
    match s.steps[me]:
        case "idle" if s.had[me] < TAKEN:
            yield s.at(me, "append" if s.tail is not None and s.insists else "try")
        case "try":
            if s.holder is None:
                yield s.at(me, "has", holder=me)
            else:
                yield s.at(me, "append")
        case "append":
            changes = {"places": s.placed(me, (None, "waits")), "tail": me}
            step = "first" if s.tail is None else "link"
            yield s.at(me, step, before=_with(s.before, me, s.tail), **changes)
        case "has":
            yield s.at(me, "idle", holder=None, had=_with(s.had, me, s.had[me] + 1))


def _waiter(s: State, me: int) -> Iterator[State]:
    place = s.places[me]
    match s.steps[me]:
        case "link":
            before = s.before[me]
            assert before is not None
            assert s.places[before] is not None, "a place is written that is no place any more"
            yield s.at(me, "look", places=s.placed(before, (me, s.places[before][1])))
        case "look":
            assert place
            yield s.at(me, "first" if place[1] == "first" else "sleep")
        case "sleep":
            assert place
            if place[1] == "waits":
                yield s.at(me, "wait", places=s.placed(me, (place[0], "sleeps")))
            else:
                yield s.at(me, "first")
        case "wait":
            assert place
            yield s.at(me, "asleep" if place[1] == "sleeps" else "first")
        case "first":
            yield s.at(me, "locks", insists=True)
            if s.holder is None:
                yield s.at(me, "hand on", holder=me)
        case "locks" if s.holder is None:
            yield s.at(me, "calm", holder=me)
        case "calm":
            yield s.at(me, "hand on", insists=False)


def _hands_on(s: State, me: int) -> Iterator[State]:
    place = s.places[me]
    match s.steps[me]:
        case "hand on":
            assert place
            yield s.at(me, "close" if place[0] is None else "turn")
        case "close":
            assert not s.insists
            if s.tail == me:
                yield s.at(me, "has", tail=None, places=s.placed(me, None))
            else:
                yield s.at(me, "turn")
        case "turn" if place and place[0] is not None:
            next_ = place[0]
            behind = s.places[next_]
            assert behind is not None, "a turn is given that nobody waits for"
            step = f"wake {next_}" if behind[1] == "sleeps" else "has"
            places = _with(s.placed(me, None), next_, (behind[0], "first"))
            yield s.at(me, step, places=places)
        case step if step.startswith("wake"):
            whom = int(step.split()[1])
            # A waiter that is not asleep yet sees that its turn has come; its wake is one too many.
            woken = s.at(whom, "wait") if s.steps[whom] == "asleep" else s
            yield woken.at(me, "has")


def _next(state: State) -> list[State]:
    each = (_newcomer, _waiter, _hands_on)
    return [after for me in range(THREADS) for step in each for after in step(state, me)]


def test_no_interleaving_leaves_a_thread_waiting() -> None:
    nothing = (None,) * THREADS
    start = State(("idle",) * THREADS, (0,) * THREADS, nothing, nothing, None, False, None)
    seen, todo = {start}, [start]
    ended = 0
    while todo:
        state = todo.pop()
        first = [each for each in state.steps if each in FIRST]
        assert len(first) <= 1, state
        assert not state.insists or first[0] in ("locks", "calm"), state
        after = _next(state)
        if not after:
            assert state.had == (TAKEN,) * THREADS, f"threads wait for ever: {state}"
            assert (state.tail, state.insists, state.holder) == (None, False, None)
            ended += 1
        for each in after:
            if each not in seen:
                seen.add(each)
                todo.append(each)
    assert ended
    assert len(seen) > 1000

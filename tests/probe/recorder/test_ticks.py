"""Ticks and their questions: the stacks of sleeping threads, and the processors that threads may
use."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorder_support import Record, Recorder, functions, record, said

Compile = Callable[..., Path]


def test_the_processors_of_each_thread_are_known(recorder: Recorder, compiled: Compile) -> None:
    found = record(recorder, compiled("doing.cpp"), "stay", "wait_in_poll")
    allowed = {thread["tid"]: thread["allowed"] for thread in found.all("thread")}
    assert allowed[said(found, "stay")["tid"]] == [found.head["cpus"][0]]
    assert allowed[said(found, "wait_in_poll")["tid"]] == found.head["cpus"]
    assert allowed[found.head["pid"]] == found.head["cpus"]


def asleep(found: Record, word: str) -> list[list[Any]]:
    """What ticks show of the first thread with this word while it is asleep."""
    tid = said(found, word)["tid"]
    threads = [each for tick in found.all("tick") for each in tick["threads"]]
    return [each for each in threads if (each[0], each[5]) == (tid, "S")]


def test_threads_asleep_in_calls_that_the_agent_knows_have_stacks(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    target = compiled("doing.cpp")
    found = record(recorder, target, "wait_in_poll", "wait_for_byte", agent=agent)
    for word, activity in (("wait_in_poll", "poll"), ("wait_for_byte", "io")):
        known = [each for each in asleep(found, word) if each[1] == activity]
        assert len(known) > 30
        right = [t for t in known if t[3] and word in functions(found, target, t[3])]
        assert len(right) > 0.9 * len(known), activity


@pytest.mark.parametrize("agent_too", [True, False])
def test_a_wait_for_no_file_is_a_sleep(
    recorder: Recorder, compiled: Compile, agent: str, agent_too: bool
) -> None:
    words = {"wait_in_poll": "poll", "sleep_in_poll": "sleep", "sleep_in_select": "sleep"}
    found = record(recorder, compiled("doing.cpp"), *words, agent=agent if agent_too else "")
    for word, activity in words.items():
        seen = Counter(each[1] for each in asleep(found, word))
        assert seen[activity] > 0.9 * seen.total() > 30, word


def test_stacks_below_frame_pointers_that_are_not_known_are_whole(
    recorder: Recorder, compiled: Compile
) -> None:
    target = compiled("frame_pointers.cpp", "-fno-omit-frame-pointer", "-static")
    found = record(recorder, target)
    tid = said(found, "wait_below_frames")["tid"]
    asleep = [
        functions(found, target, t[3])
        for tick in found.all("tick")
        for t in tick["threads"]
        if (t[0], t[5]) == (tid, "S") and t[3]
    ]
    assert len(asleep) > 30
    right = ["sleep_in_call", "middle", "wait_below_frames"]
    wrong = [each for each in asleep if each[:3] != right or "leave" in each]
    assert len(wrong) < 0.1 * len(asleep), wrong[:3]


@pytest.mark.parametrize("threads", [30, 42, 54, 90])
def test_longer_ticks_are_said_only_where_they_were_longer(
    recorder: Recorder, compiled: Compile, threads: int
) -> None:
    recorder.run(compiled("threads.cpp"), str(threads), "20", "1000")
    found = recorder.read()
    sentences = [s for s in found.head["limits"] if s.startswith("Threads were looked at every")]
    times = [tick["at_ns"] for tick in found.all("tick")]
    longest = max(b - a for a, b in itertools.pairwise(times)) / 1e6
    for sentence in sentences:
        match = re.search(r"every (\d+) ms at times instead of every 4 ms", sentence)
        assert match is not None
        assert 6 <= int(match[1]) <= longest + 1
    assert sentences or threads <= 64


def test_the_waits_of_threads_that_live_for_a_few_ticks_are_known(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    recorder.run(compiled("short_waiters.cpp"), options=("--agent", agent))
    found = recorder.read()
    waits = [
        activity
        for tick in found.all("tick")
        for tid, activity, *_, state, _call, _run, _ready in tick["threads"]
        if tid != found.head["pid"] and state == "S"
    ]
    assert len(waits) > 40
    assert waits.count("semaphore") > 0.5 * len(waits)

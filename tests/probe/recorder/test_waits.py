"""The record of waits of which the agent and the recorder each know a part."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from recorder_support import Recorder, functions

Compile = Callable[..., Path]


def test_a_woken_thread_awaits_the_holder_of_the_mutex(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    done = recorder.run(compiled("relock.cpp"), options=("--agent", agent))
    waiter, holder = map(int, done.stdout.split())
    record = recorder.read()
    objects = {each["id"]: each for each in record.all("object")}
    (condition,) = [each for each in objects.values() if each["what"] == "condition"]
    assert objects[condition["mutex"]]["what"] == "mutex"
    assert condition["futile"] == 0
    waits = [
        each
        for tick in record.all("tick")
        for each in tick["threads"]
        if each[0] == waiter and each[1] in ("condition", "relock")
    ]
    assert {wait[2] for wait in waits} == {condition["id"]}
    relocks = [wait for wait in waits if wait[1] == "relock"]
    assert len(relocks) > 20, "200 ms of ticks each 4 ms"
    assert {wait[4] for wait in relocks} == {holder}
    assert len(waits) - len(relocks) > 5, "50 ms before the signal"
    assert {wait[4] for wait in waits if wait[1] == "condition"} == {0}


def test_a_waiting_thread_awaits_the_one_that_has_what_it_waits_for(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    done = recorder.run(compiled("awaited.cpp"), options=("--agent", agent))
    record = recorder.read()
    lines = done.stdout.splitlines()
    assert len(lines) == 9
    for line in lines:
        activity, waiter, holder = line.split()
        awaited = [
            each[4]
            for tick in record.all("tick")
            for each in tick["threads"]
            if each[:2] == [int(waiter), activity]
        ]
        assert len(awaited) > 10, line
        assert set(awaited) == {int(holder)}, line


def test_ticks_tell_where_the_holder_of_a_lock_writes(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    target = compiled("locked_output.cpp")
    done = recorder.run(target, "800", "1", "500", options=("--agent", agent))
    assert done.returncode == 0
    looks = [
        each for tick in recorder.read().all("tick") for each in tick["threads"] if each[1] == "io"
    ]
    assert len(looks) > 20
    assert sum(each[3] != 0 for each in looks) > 0.7 * len(looks)


@pytest.mark.parametrize("writes", [("1", "500"), ("100", "20")])
def test_a_call_with_a_descriptor_tells_which_lock_its_thread_has(
    recorder: Recorder, compiled: Compile, agent: str, writes: tuple[str, str]
) -> None:
    """The lock is mostly held for a moment, so few holds are noted."""
    recorder.run(compiled("locked_output.cpp"), "800", *writes, options=("--agent", agent))
    record = recorder.read()
    held = {each["stack"] for each in record.all("hold")}
    calls = [each for each in record.all("pair") if each["activity"] == "io" and each["holder"]]
    assert {each["holder"] for each in calls} <= held
    (file,) = [each for each in record.all("file") if each["writes"] > 1000]
    counted = sum(each["waits"] for each in calls if each["object"] == file["object"])
    assert 0.7 * file["writes"] < counted <= file["writes"]


def test_what_is_read_from_a_file_is_not_counted_as_written(
    recorder: Recorder, agent: str, tmp_path: Path
) -> None:
    program = (
        "import os, sys; f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "for i in range(50): os.pwrite(f, b'x' * 100, 100 * i); os.pread(f, 5000, 0)"
    )
    recorder.run(sys.executable, "-c", program, str(tmp_path / "f"), options=("--agent", agent))
    (file,) = [each for each in recorder.read().all("file") if each["writes"]]
    assert (file["writes"], file["bytes"]) == (50, 5000)


def test_a_thread_that_is_older_than_the_agent_has_its_whole_life(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    early = compiled("early.cpp", "-shared", "-fPIC")
    target = compiled("threads.cpp", "-Wl,--no-as-needed", str(early), f"-Wl,-rpath,{early.parent}")
    done = recorder.run(target, "1", "1", "600000", options=("--agent", agent))
    assert (done.returncode, done.stderr) == (0, "")
    record = recorder.read()
    (thread,) = [each for each in record.all("thread") if "sleep" in each["totals"]]
    assert thread["made_at"] == 0
    assert thread["totals"]["sleep"]["times"] > 10
    assert thread["began_ns"] - record.head["began_ns"] < 150e6


def test_a_lock_on_a_stack_is_made_by_the_function_that_has_it_in_its_frame(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    target = compiled("on_stack.cpp")
    recorder.run(target, options=("--agent", agent))
    record = recorder.read()
    (mutex,) = [each for each in record.all("object") if each["what"] == "mutex"]
    assert mutex["region"] == "stack"
    assert functions(record, target, mutex["made_at"])[:2] == ["own_the_lock", "main"]


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_a_lock_is_recorded_where_a_sanitizers_runtime_comes_first(
    recorder: Recorder, compiled: Compile, agent: str, sanitizer: str
) -> None:
    target = compiled("threads.cpp", f"-fsanitize={sanitizer}")
    done = recorder.run(target, "3", "100", "300", options=("--agent", agent))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    record = recorder.read()
    assert record.head["tier"]["agent"]
    (lock,) = [o for o in record.all("object") if o["what"] == "mutex" and not o["sampled"]]
    assert lock["waits"] > 0  # few if other programs have the processors


def test_a_recursive_mutex_is_held_from_its_first_acquisition_to_its_last_release(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    target = compiled("recursive.cpp")
    done = recorder.run(target, "20000", options=("--agent", agent))
    assert done.stdout == "done\n"
    (mutex,) = [each for each in recorder.read().all("object") if each["what"] == "mutex"]
    assert mutex["waits"] > 0
    assert 0 < mutex["holds"] <= 2 * 20_000 * 1.5  # samples count short holds
    assert mutex["hold_ns"] / mutex["holds"] > 20 * 100 * 0.2  # all 20 inner ones included


def test_walks_of_stacks_that_always_differ_take_little_of_the_time(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    target = compiled("deep.cpp")
    done = recorder.run(target, "1000000", options=("--agent", agent))
    assert done.stdout == "done\n"
    record = recorder.read()
    wall_ns = record.head["ended_ns"] - record.head["began_ns"]
    assert record.head["agent_ns"] < 0.15 * 2 * wall_ns

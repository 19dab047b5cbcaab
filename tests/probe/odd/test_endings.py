"""The record that is left if the program or the recorder is killed, interrupted, or crashes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
BUILT = sorted((ROOT / "build").glob("*/probe/odd/goes_on"))
PROBE = BUILT[0].parents[1] if BUILT else ROOT
pytestmark = pytest.mark.skipif(not BUILT, reason="no platform is built; run: ./threadmark test")
LOST_S = 1.0  # the most time that a killed recorder may lose
SLOW_S = 0.7  # a snapshot may be late on a busy machine

# A process in the background of a shell ignores Ctrl-C, and so would the program.
signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def recording(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A recording of goes_on in a session of its own, which ends in any case."""
    line = [str(PROBE / "threadmark-record"), "-o", str(folder / "record"), "--"]
    process = subprocess.Popen(
        [*line, str(BUILT[0]), *words], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        with_children = [process.pid, *children(process.pid)]
        for pid in with_children:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    except OSError:
        return []
    return [int(word) for word in text.split()]


def read_until(process: subprocess.Popen[str], waits: int) -> int:
    """The time, in microseconds, of the first line with at least so many waits."""
    assert process.stdout is not None
    for line in process.stdout:
        at, count = line.split()
        if int(count) >= waits:
            return int(at)
    raise AssertionError("it ended before")


def rest(process: subprocess.Popen[str]) -> list[tuple[int, int]]:
    """The further output: times in microseconds and waits."""
    assert process.stdout is not None
    lines = [line.split() for line in process.stdout.read().splitlines()]
    return [(int(line[0]), int(line[1])) for line in lines if len(line) == 2]


def read_record(folder: Path) -> list[dict[str, Any]]:
    line = [str(PROBE / "threadmark-record"), "--print", str(folder / "record")]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    lines = [json.loads(each) for each in done.stdout.splitlines()]
    assert lines[-1] == {"kind": "end"}
    return lines


def waits(record: list[dict[str, Any]]) -> int:
    """The recorded waits of the semaphore."""
    kinds = [each for each in record if each["kind"] == "object" and each["what"] == "semaphore"]
    return sum(each["waits"] for each in kinds)


def test_a_killed_recorder_loses_at_most_the_last_second(tmp_path: Path) -> None:
    with recording(tmp_path, "on") as process:
        read_until(process, 1_000)  # takes some two seconds
        target = children(process.pid)
        process.kill()
        killed_us = time.monotonic_ns() // 1_000
        process.wait()
        # The program goes on, and no record has its output from now on.
        later = read_until(process, 1_100)
        assert later > killed_us - 1_000_000
        for pid in target:
            os.kill(pid, signal.SIGKILL)
    record = read_record(tmp_path)
    assert not record[0]["complete"]
    last_us = max(each["at_ns"] for each in record if each["kind"] == "tick") // 1_000
    assert killed_us - last_us < (LOST_S + SLOW_S) * 1e6
    seconds = (killed_us - record[0]["began_ns"] // 1_000) / 1e6
    kept = (seconds - LOST_S - SLOW_S) / seconds
    assert waits(record) > 0.9 * kept * 1_000


def test_of_a_killed_program_nothing_is_lost(tmp_path: Path) -> None:
    with recording(tmp_path, "on") as process:
        read_until(process, 300)
        (target,) = children(process.pid)
        os.kill(target, signal.SIGKILL)
        said = rest(process)
        assert process.wait(60) == -signal.SIGKILL
    last = said[-1][1] if said else 300
    record = read_record(tmp_path)
    assert (record[0]["signal"], record[0]["complete"]) == (signal.SIGKILL, True)
    # A wait that finds an earlier post does not count.
    assert 0.95 * last <= waits(record) <= last + 10


@pytest.mark.parametrize(
    ("how", "number"), [("aborts", signal.SIGABRT), ("faults", signal.SIGSEGV)]
)
def test_of_a_crashed_program_nothing_is_lost(
    tmp_path: Path, how: str, number: signal.Signals
) -> None:
    with recording(tmp_path, how, "200") as process:
        assert rest(process)[-1][1] == 200
        assert process.wait(60) == -number
    record = read_record(tmp_path)
    assert (record[0]["signal"], record[0]["complete"]) == (number, True)
    assert 190 <= waits(record) <= 200


def test_ctrl_c_for_the_group_leaves_a_whole_record(tmp_path: Path) -> None:
    with recording(tmp_path, "on") as process:
        read_until(process, 100)
        os.killpg(process.pid, signal.SIGINT)
        said = rest(process)
        assert process.wait(60) == -signal.SIGINT
    last = said[-1][1] if said else 100
    record = read_record(tmp_path)
    assert (record[0]["signal"], record[0]["complete"]) == (signal.SIGINT, True)
    assert 0.95 * last <= waits(record) <= last + 10

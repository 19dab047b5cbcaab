"""costs.py with made-up figures, and with the real program for a moment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import costs
import pytest
from costs import Bench, Row, Sample, Subject
from threadmark.judge.estimates import Interval

BUILT = sorted((costs.ROOT / "build").glob("*/explain/costs/subject"))
needs_build = pytest.mark.skipif(not BUILT, reason="no platform is built; run: ./threadmark test")


class MadeUp(Bench):
    """A machine on which recording has the costs `factors`, and gprofng costs twice as much."""

    def __init__(self, factors: dict[tuple[str, int], float]) -> None:
        self.factors = factors
        self.order: list[tuple[str, str]] = []

    @property
    def ways(self) -> list[str]:
        return ["alone", "recorded", "gprofng"]

    def sample(self, subject: Subject, way: str = "alone") -> Sample:
        self.order.append((subject.name, way))
        factor = {"alone": 1.0, "gprofng": 2.0}.get(way) or self.factors.get(
            (subject.kind, subject.threads), 1.0
        )
        waits = 5000 if subject.kind == "semaphore" else 10
        return Sample(1e6 * subject.times * factor, subject.times, waits * subject.times)


def rows_of(factors: dict[tuple[str, int], float], monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    monkeypatch.setattr(costs.os, "sched_getaffinity", lambda _: {0, 1})
    return costs.ratios(MadeUp(factors), 6, 0.2, lambda _: None)


def missed(rows: Sequence[Row]) -> list[str]:
    return [row.name for row in rows if not row.held]


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ({}, []),
        ({("compute", 1): 1.02, ("compute", 2): 1.02, ("lock", 1): 1.29}, []),
        ({("compute", 1): 1.04, ("compute", 2): 1.04}, ["compute, 1 thread", "compute, 2 threads"]),
        ({("compute", 2): 1.05}, ["compute, 2 threads", "scaling lost, 2 threads over 1"]),
        ({("lock", 1): 1.31}, ["lock and unlock, nobody waits"]),
        ({("threads", 1): 1.21}, ["start and end of a thread"]),
        ({("semaphore", 2): 1.11}, ["most waits"]),
        ({("mutex", 2): 9.0}, []),  # not the subject that waits most often, so it only informs
    ],
)
def test_a_bar_is_missed_by_what_it_is_for(
    factors: dict[tuple[str, int], float], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(factors, monkeypatch)
    assert missed(rows) == expected
    assert sum("waits" in row.name for row in rows) == len(costs.WAITS) + 1
    (busiest,) = [row for row in rows if row.name == "most waits"]
    assert busiest.note.startswith("semaphore, 2 threads: 5,000,000 waits a second")
    assert busiest.other is not None
    assert busiest.other.estimate == 2.0


def test_the_ways_come_in_turns_that_change() -> None:
    bench = MadeUp({})
    costs.turns(bench, [Subject("lock", 1, 5)], 3)
    assert [way for _, way in bench.order] == [
        *("alone", "recorded", "gprofng"),
        *("recorded", "gprofng", "alone"),
        *("gprofng", "alone", "recorded"),
    ]


def test_a_size_is_held_to_its_bar() -> None:
    figure = Interval(20.1, 20.1, 20.1)
    row = Row("record, MB a minute", figure, "", costs.MOST_MEGABYTES)
    assert not row.held
    assert "MISSED" in costs.table([row])
    said = json.loads(costs.as_json([row], 5))
    assert said["rows"][0] | {"what": "record, MB a minute", "held": False} == said["rows"][0]


@needs_build
@pytest.mark.parametrize("kind", [*costs.WAITS, "compute", "lock", "threads"])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_subject_does_what_it_is_told(kind: str, threads: int) -> None:
    if threads == 1 and kind in ("condition", "semaphore", "futex"):
        pytest.skip("waits for a second thread")
    sample = Bench(BUILT[0].parents[2], Path()).sample(Subject(kind, threads, 20))
    assert sample.operations == 20 * threads
    assert sample.ns > 0


@needs_build
def test_the_table_comes_from_real_recordings() -> None:
    line = [sys.executable, costs.__file__, "--json", "--pairs", "2", "--seconds", "0.02"]
    line += ["--size", "0.1", "--build", str(BUILT[0].parents[2])]
    done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert done.returncode == int(not all(row["held"] for row in rows))
    assert sum(row["limit"] is not None for row in rows) >= 6 + 2 * 2
    assert all(0 < row["figure"] < 1000 for row in rows)

"""A small run to show and export: two threads, one lock, and all parts that a page can have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from threadmark.model.cell import Run, Stored

sys.path.insert(0, str(Path(__file__).parent / "analysis"))
from made import MAIN, TICK, Made, waits, works

__all__ = ["MAIN", "complete", "record", "run"]
HOSTILE = "</script><script>alert(1)</script><img src=x>"


def record() -> Made:
    """A worker that waits every other tick for a lock that the first thread holds."""
    lock = waits("mutex", 1, "Cache::get worker", MAIN)
    made = Made().thread(MAIN, [works(), waits("join", 9, "main", MAIN + 1)], name="prog")
    made.thread(MAIN + 1, [lock, works()], "main", name="worker")
    made.thing(1, "mutex", made_at="make main", waits=10, wait_ns=10 * TICK, longest_ns=TICK)
    made.pair(1, "mutex", "Cache::get worker", "Cache::put main", 10 * TICK)
    made.pair(9, "join", "main", "", 50 * TICK)
    made.hold(1, "Cache::put main", 12, 11 * TICK)
    return made.sample(MAIN + 1, "Cache::put worker", 30)


def run(**fields: Any) -> Stored:
    """The run as the store keeps it, with more in its details."""
    answer, details = record().analysed()
    machine = {"kernel": "6.1", "processors": 2}
    stored = Run(1, "2026-01-02T03:04:05+00:00", "2026-01-02T03:04:06+00:00", "explain", 0, {},
                 machine)  # fmt: skip
    return Stored(stored, [], [], {"answer": answer, "details": {**details, **fields}})


def complete() -> Stored:
    """A run with a differential, wakes, a critical path, a remedy, and a hostile name."""
    frames = ["Cache::get", "worker"]
    stored = run(
        differential={"stacks": [[frames, 1000.0, 4000.0], [["Cache::put", HOSTILE], 50.0, 40.0]]},
        wakeups={
            "nodes": [{"name": "main thread", "threads": 1}, {"name": HOSTILE, "threads": 3}],
            "edges": [
                {"from": 0, "to": 1, "wakes": 1234, "waited_s": 0.2, "for": "lock", "at": frames},
                {"from": 1, "to": 0, "wakes": 1, "waited_s": 0.1, "for": "end", "at": frames},
            ],
        },
        critical_path={
            "segments": [
                {"thread": "prog", "tid": MAIN, "from_s": 0.0, "to_s": 0.3, "state": "useful",
                 "what": "main"},
                {"thread": "worker", "tid": MAIN + 1, "from_s": 0.3, "to_s": 0.4,
                 "state": "waiting", "what": HOSTILE},
            ],
            "totals": [
                {"what": "main", "state": "useful", "s": 0.3},
                {"what": HOSTILE, "state": "waiting", "s": 0.1},
            ],
        },
    )  # fmt: skip
    answer = stored.documents["answer"]
    answer["causes"][0]["remedy"] = "Give each thread a cache of its own."
    answer["command"] = ["./prog", HOSTILE]
    return stored

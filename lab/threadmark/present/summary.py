"""A run in few bytes, for documents that publish its figures: the request, the machine, and
verdicts.

Each verdict has its speed-ups with their intervals and the number of processes behind them; single
repeats are left out. `tools/figures` reads these files in docs/runs/.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from threadmark.judge.estimates import Interval
from threadmark.judge.findings import Judged
from threadmark.machine.version import version
from threadmark.model.cell import Row, Run, Stored
from threadmark.model.effort import IMPORTED
from threadmark.present import plain

SCHEMA = "threadmark/summary/1"
_OPTIONS = {"arguments": "arg", "budget_s": "budget"}  # of a request, if the command differs
_LEFT_OUT = ("commit", "executables", "host", "order")  # of the machine's facts


def to_summary(stored: Stored, command: str, verdicts: Iterable[dict[str, Any]]) -> str:
    """The document as JSON, one verdict per line, so that two documents can be compared line by
    line."""
    run = stored.run
    head = {
        "schema": SCHEMA,
        "version": 1,
        "judged_by": version(),
        "command": command,
        "date": f"{run.started_at[:16]}Z",
        "finished": f"{run.finished_at[:16]}Z" if run.finished_at else "",
        "commit": run.machine.get("commit", ""),
        "machine": {k: v for k, v in run.machine.items() if k not in _LEFT_OUT},
        "seed": run.seed,
        "request": run.request,
        "notes": list(run.notes),
        "processes": _processes(stored.rows),
    }
    lines = [plain.dumps(each, indent=None) for each in verdicts]
    text = plain.dumps(plain.finite(head)).removesuffix("\n}")
    return text + ',\n  "verdicts": [\n    ' + ",\n    ".join(lines) + "\n  ]\n}\n"


def command(run: Run, name: str, options: Mapping[str, str]) -> str:
    """The command line that requests the same run, with all defaults written out: `name` is the
    command, `options` are the options of request fields with another name, or with none."""
    if run.profile == IMPORTED:
        return shlex.join(["./threadmark", "import", str(run.request["import"])])
    words = ["./threadmark", name]
    for field, value in run.request.items():
        own = {**_OPTIONS, **options}.get(field, field.replace("_", "-"))
        if value in (None, "", [], ()) or not own:
            continue
        option = f"--{own}"
        if field == "threads":
            words += [option, ",".join(map(str, value))]
        elif field == "arguments":
            words += [word for each in value for word in (option, each)]
        elif isinstance(value, list | tuple):
            words += [option, *value]
        else:
            words += [option, str(value).removesuffix(".0")]
    return shlex.join(words)


def _processes(rows: Sequence[Row]) -> dict[str, Any]:
    """The number of processes, their endings, and the number of good ones that were disturbed."""
    ran = [row for row in rows if row.status.ran]
    return {
        "run": len(ran),
        "rounds": len({row.round for row in ran}),
        "timed": sum(row.sample_ns is not None for row in ran),
        "disturbed": sum(row.sample_ns is not None and bool(row.disturbed) for row in ran),
        "ended": dict(sorted(Counter(row.status.value for row in ran).items())),
    }


def verdict_summary(judged: Judged) -> dict[str, Any]:
    """A verdict with its speed-ups and the number of processes behind them."""
    cell, verdict = judged.cell, judged.verdict
    record: dict[str, Any] = {
        "program": cell.program,
        "backend": cell.backend,
        "variant": cell.variant,
        "platform": cell.platform,
        "size": cell.size,
        "allocator": cell.allocator,
        "kind": verdict.kind.value,
        "at": verdict.at_threads,
    }
    if cell.arguments:
        record["arguments"] = dict(cell.arguments)
    if verdict.kind.value == "unclear":
        record["detail"] = verdict.detail
    if judged.base:
        record["serial"] = judged.base.name
        record["serial_ns"] = short(judged.base.time_ns.estimate)
    record["threads"] = {str(p): _point(judged, p) for p in judged.rows}
    return record


def _point(judged: Judged, threads: int) -> dict[str, Any]:
    """The endings of the processes at one number of threads, their median time, the speed-up."""
    rows = judged.rows[threads]
    ended = Counter("disturbed" if row.disturbed else row.status.value for row in rows)
    point: dict[str, Any] = {"n": dict(sorted(ended.items()))}
    if time := judged.times_ns.get(threads):
        point["ns"] = short(time.estimate)
    if speedup := judged.verdict.speedups.get(threads):
        point["x"] = _limits(speedup)
    return point


def _limits(interval: Interval) -> list[Any]:
    """Low, estimate and high; null for a limit that is not bounded."""
    return [short(x) for x in (interval.low, interval.estimate, interval.high)]


def short(value: Any) -> Any:
    """The value with five figures, because more would only make the file larger."""
    return plain.finite(float(f"{value:.5g}")) if isinstance(value, float) else value

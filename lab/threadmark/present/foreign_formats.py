"""Rows in formats of other tools: CSV and the JSON of Google Benchmark.

Google Benchmark's tools/compare.py pairs entries by `name`, takes every entry of a name as a
repetition of it, needs real_time, cpu_time and time_unit of each, heeds no label, and tests with
Mann-Whitney. So failed and disturbed processes and those without a processor time are left out of
that format (its tool would compare them as times) and counted in the context; CSV and JSON keep
all.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any

from threadmark.judge import estimates
from threadmark.model.cell import Cell, Row, Stored
from threadmark.model.errors import LabError
from threadmark.present import plain

_MEASURED = (
    "yardstick_ns", "tasks", "nodes", "cpu_ns", "max_rss_bytes", "per_second", "overlap",
)  # fmt: skip
FIELDS = (
    "run", "program", "size", "arguments", "backend", "variant", "platform", "allocator", "threads",
    "round", "status", "reason", "sample_ns", "disturbed", "started_at", "command", *_MEASURED,
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # beginnings of code in a cell of a spreadsheet


def to_csv(stored: Stored) -> str:
    """One line per row with a header; text that a spreadsheet would execute gets a leading
    quote."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in stored.rows:
        record: dict[str, Any] = {**plain.row_record(row), "run": stored.run.id}
        record["command"] = plain.shell_command(row)
        record["arguments"] = " ".join(f"{k}={v}" for k, v in row.cell.arguments)
        for name in _MEASURED:
            record[name] = measured(row, name)
        writer.writerow({k: _inert(v) for k, v in record.items()})
    return text.getvalue()


def to_google_benchmark(stored: Stored) -> str:
    """The format of `benchmark --benchmark_out_format=json`: context, and an entry per ok process.

    LabError when no process of the run has its processor time, which each entry must have.
    """
    run = stored.run
    kept: dict[str, list[Row]] = {"": [], "failed": [], "disturbed": [], "no_cpu_time": []}
    for row in stored.rows:
        kept[_left_out(row)].append(row)
    timed = kept.pop("")
    if kept["no_cpu_time"] and not timed:
        raise LabError(
            f"Run {run.id} has no processor times, which Google Benchmark's format needs; "
            "write it with --format csv or json."
        )
    context = {
        "date": run.started_at,
        "executable": "threadmark",
        **_known_of(run.machine),
        "threadmark_run": run.id,
        "threadmark_left_out": {why: len(each) for why, each in kept.items()},
    }
    repetitions = Counter(row.cell for row in timed)
    families = {cell: number for number, cell in enumerate(dict.fromkeys(r.cell for r in timed))}
    seen: Counter[Cell] = Counter()
    entries = []
    for row in timed:
        cell = row.cell
        name = benchmark_name(cell)
        entries.append({
            "name": name,
            "family_index": families[cell],
            "per_family_instance_index": 0,
            "run_name": name,
            "run_type": "iteration",
            "repetitions": repetitions[cell],
            "repetition_index": seen[cell],
            "threads": cell.threads,
            "iterations": sum(not each.get("warmup") for each in row.repeats),
            "real_time": row.sample_ns,
            "cpu_time": measured(row, "cpu_ns"),
            "time_unit": "ns",
        })  # fmt: skip
        seen[cell] += 1
    return plain.dumps({"context": context, "benchmarks": entries}) + "\n"


def _left_out(row: Row) -> str:
    """The reason for which a row has no entry; empty if it has one."""
    if row.sample_ns is None:
        return "failed"
    if row.disturbed:
        return "disturbed"
    return "" if measured(row, "cpu_ns") is not None else "no_cpu_time"


def _known_of(machine: dict[str, Any]) -> dict[str, Any]:
    """The fields of a context that the facts of a machine give; the others are left out."""
    known: dict[str, Any] = {}
    if machine.get("processors"):
        known["num_cpus"] = machine["processors"]
    if machine.get("governor"):
        known["cpu_scaling_enabled"] = machine["governor"] != "performance"
    if "load" in machine:
        known["load_avg"] = [machine["load"]]
    return known


def benchmark_name(cell: Cell) -> str:
    """The name of a cell in Google Benchmark's style:
    fib/quick/tbb:futures/gcc-libstdc++/threads:2."""
    arguments = [f"{k}:{v}" for k, v in cell.arguments]
    parts = (cell.program, cell.size, *arguments, f"{cell.backend}:{cell.variant}", cell.platform)
    return "/".join((*filter(None, (*parts, cell.allocator)), f"threads:{cell.threads}"))


def measured(row: Row, key: str) -> float | None:
    """Median of a figure over the measured repeats of one process; None if none reports it."""
    values = [r[key] for r in row.repeats if not r.get("warmup") and r.get(key) is not None]
    return estimates.median(values) if values else None


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

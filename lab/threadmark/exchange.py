"""Rows in other people's formats: CSV, JSON, and the JSON of Google Benchmark.

Google Benchmark's tools/compare.py pairs entries by `name`, takes every entry of a name as a
repetition of it, needs real_time, cpu_time and time_unit of each, heeds no label, and tests with
Mann-Whitney. Failed and disturbed processes and those without a processor time are therefore left
out there (they would be compared as times) and counted in the context; CSV and JSON keep all.
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from threadmark import judgement, records, statistics
from threadmark.cell import Cell, Row, Run
from threadmark.errors import LabError
from threadmark.output import document
from threadmark.profile import CATALOGUE
from threadmark.version import version

_MEASURED = (
    "yardstick_ns", "tasks", "nodes", "cpu_ns", "max_rss_bytes", "per_second", "overlap",
)  # fmt: skip
FIELDS = (
    "run", "program", "size", "arguments", "backend", "variant", "platform", "allocator", "threads",
    "round", "status", "reason", "sample_ns", "disturbed", "started_at", "command", *_MEASURED,
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a spreadsheet recognises code in a cell


def to_csv(run: Run, rows: Sequence[Row]) -> str:
    """One line per row with a header; text that a spreadsheet would execute gets a leading
    quote."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        record: dict[str, Any] = {**records.row_record(row), "run": run.id}
        record["command"] = records.shell_command(row)
        record["arguments"] = " ".join(f"{k}={v}" for k, v in row.cell.arguments)
        for name in _MEASURED:
            record[name] = measured(row, name)
        writer.writerow({k: _inert(v) for k, v in record.items()})
    return text.getvalue()


def to_json(run: Run, rows: Sequence[Row], descriptions: Sequence[dict[str, Any]]) -> str:
    """The run, its verdicts and every row with its status, as `show --json` gives them."""
    fields = {
        "judged_by": version(),
        "run": records.finite(records.run_record(run)),
        **_verdicts(run, rows, descriptions),
        "rows": [records.row_record(row) for row in rows],
    }
    kind = "catalogue" if run.profile == CATALOGUE else "run"
    return records.dumps(document(kind, fields)) + "\n"


def _verdicts(
    run: Run, rows: Sequence[Row], descriptions: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    if run.profile == CATALOGUE:
        from threadmark.catalogue import judgement as catalogue
        from threadmark.catalogue import records as entries

        return entries.catalogue_record(catalogue.judge(rows, descriptions))
    judged = judgement.judge(rows, descriptions)
    return {"verdicts": [records.judged_record(each) for each in judged]}


def to_google_benchmark(run: Run, rows: Sequence[Row]) -> str:
    """What `benchmark --benchmark_out_format=json` writes: context, and an entry per ok process.

    LabError when no process of the run has its processor time, which each entry must have.
    """
    kept: dict[str, list[Row]] = {"": [], "failed": [], "disturbed": [], "no_cpu_time": []}
    for row in rows:
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
    return records.dumps({"context": context, "benchmarks": entries}) + "\n"


def _left_out(row: Row) -> str:
    """Why a row has no entry; empty when it has one."""
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
    """The cell as Google Benchmark names things: fib/quick/tbb:futures/gcc-libstdc++/threads:2."""
    arguments = [f"{k}:{v}" for k, v in cell.arguments]
    parts = (cell.program, cell.size, *arguments, f"{cell.backend}:{cell.variant}", cell.platform)
    return "/".join((*filter(None, (*parts, cell.allocator)), f"threads:{cell.threads}"))


def measured(row: Row, key: str) -> float | None:
    """Median of a figure over the measured repeats of one process; None if none reports it."""
    values = [r[key] for r in row.repeats if not r.get("warmup") and r.get(key) is not None]
    return statistics.median(values) if values else None


def write_atomically(path: Path, text: str) -> None:
    """Put `text` into `path` all at once: a reader sees the old file or the new, never a part.

    LabError when the place cannot be written.
    """
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            encoding="utf-8",
            errors="backslashreplace",  # a command may hold a path whose bytes are no UTF-8
            dir=path.parent,
            prefix=f".{path.name}.",
            delete=False,
        ) as file:
            temporary = file.name
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)  # a temporary file is private, a result is not
        Path(temporary).replace(path)
        temporary = ""
    except OSError as error:
        raise LabError(
            f"{path} cannot be written ({error.strerror}); name another file with --output."
        ) from error
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

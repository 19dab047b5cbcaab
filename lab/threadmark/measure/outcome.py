"""From the end of a process to a row: every way of ending has exactly one status and a sentence.

The module trusts no output of the program, because it may be cut off, hostile or of another
program.
"""

from __future__ import annotations

import json
import math
import signal
import statistics
from dataclasses import dataclass
from typing import Any

from threadmark.machine import load
from threadmark.machine.limits import Limits
from threadmark.measure.process import OUTPUT_BYTES, Ending, Killed
from threadmark.model.cell import Cell, Row, Status

_EXIT = {  # ARCHITECTURE.md, "What an executable says"
    0: Status.OK,
    3: Status.WRONG,
    4: Status.REFUSED,
    5: Status.OUT_OF_MEMORY,
    6: Status.CRASHED,
}
_FIGURES = (  # of a repeat, all of them numbers
    "wall_ns", "cpu_ns", "run_delay_ns", "voluntary_switches", "max_rss_bytes", "tasks", "nodes",
    "operations", "per_second", "slowest_per_second", "fastest_per_second", "overlap",
    "yardstick_ns",
)  # fmt: skip
_MOST = 10**18  # of any figure; 10^18 ns are 31 years
_LINES = 10_000  # far more than a start, an end and the repeats of a block
# Messages of the dynamic loader about a library that is absent, or without which it runs the
# program.
_LOADER = ("from LD_PRELOAD cannot be preloaded", "error while loading shared libraries")
_NO_MEMORY = ("bad_alloc", "Out of memory allocating")  # of C++ libraries, of libgomp
_NO_THREAD = "Resource temporarily unavailable"  # EAGAIN in C++ libraries and libgomp


@dataclass(frozen=True)
class Attempt:
    """One process of a cell: its command and its limits."""

    cell: Cell
    round: int
    command: tuple[str, ...]
    environment: dict[str, str]  # all but the mark of the lab
    cpus: tuple[int, ...]
    repeat_limit_s: float
    repeats: int | None  # None if the program chooses the number
    started_at: str


@dataclass(frozen=True)
class _Said:
    """The output of a program, as far as it follows the format."""

    start: dict[str, Any]
    repeats: tuple[dict[str, Any], ...]
    end: dict[str, Any]
    fault: str  # the violation of the format; empty if there is none
    no_figure: str  # the first invalid figure; it is not in `repeats`


def judge(attempt: Attempt, ending: Ending, limits: Limits) -> Row:
    """The row of this attempt."""
    said = _parse(ending.output)
    status, reason = _status(attempt, ending, said, limits)
    sample = _sample(said.repeats) if status is Status.OK else None
    disturbed = load.disturbance(ending.load, ending.wall_s, said.repeats, attempt.cell.threads)
    return Row(
        cell=attempt.cell,
        round=attempt.round,
        status=status,
        reason=reason,
        sample_ns=sample,
        repeats=said.repeats,
        command=attempt.command,
        started_at=attempt.started_at,
        disturbed=disturbed if status in (Status.OK, Status.TIMEOUT) else "",
        facts={
            "exit_code": ending.exit_code,
            "signal": ending.signal,
            "wall_s": round(ending.wall_s, 6),
            "cpu_s": round(ending.cpu_s, 6),
            "max_rss_bytes": _peak(said.repeats, ending.max_rss_bytes),
            "others_s": round(ending.load.others_s, 3),
            "steal_s": round(ending.load.steal_s, 3),
            "cpus": list(attempt.cpus),
            "environment": attempt.environment,
            "repeats": attempt.repeats,
            "repeat_limit_s": round(attempt.repeat_limit_s, 3),
            "memory_limit_bytes": limits.memory_bytes,
            "thread_cap": limits.threads,
            "thread_cap_source": limits.thread_source,
            "threads_refused": ending.thread_events,
            "backend_version": str(said.start.get("backend_version", "")),
            "stderr": ending.errors[-500:] if status is not Status.OK else "",
        },
    )


def _status(attempt: Attempt, ending: Ending, said: _Said, limits: Limits) -> tuple[Status, str]:
    if ending.not_started:
        return Status.UNAVAILABLE, f"the program could not be started: {ending.not_started}"
    by_lab = _killed_by_lab(attempt, ending, said, limits)
    if by_lab:
        return by_lab
    code = ending.exit_code
    printed = ending.errors.splitlines()
    lacks = next((line for line in printed if any(words in line for words in _LOADER)), "")
    if lacks:  # the program may even have run, but with another allocator
        return Status.UNAVAILABLE, f"a library could not be loaded: {lacks.strip()[:300]}"
    if code == 2:
        told = _last_line(ending.errors) or "no reason given"
        return Status.UNAVAILABLE, f"the program does not accept this request: {told}"
    if said.end and code in _EXIT and not said.fault:
        return _as_told(attempt, said, _EXIT[code], limits)
    return _broken(ending, said, limits)


def _killed_by_lab(
    attempt: Attempt, ending: Ending, said: _Said, limits: Limits
) -> tuple[Status, str] | None:
    if ending.memory_events or ending.killed is Killed.MEMORY:
        size = limits.memory_bytes / 2**20
        return Status.OUT_OF_MEMORY, f"used more than the limit of {size:.0f} MiB of memory"
    if ending.killed is Killed.TIME:
        refused = f", {ending.thread_events} threads refused" if ending.thread_events else ""
        limit = f"the limit of {attempt.repeat_limit_s:.3g} s"
        return Status.TIMEOUT, f"{_awaited(attempt, said)} did not end within {limit}{refused}"
    if ending.killed is Killed.OUTPUT:
        return Status.CRASHED, f"printed more than {OUTPUT_BYTES >> 20} MiB"
    return None


def _awaited(attempt: Attempt, said: _Said) -> str:
    """The step of a program before its next line; each step has the same limit."""
    if not said.start:
        return "the start of the program"
    if sum(each.get("warmup") is False for each in said.repeats) == attempt.repeats:
        return "the end of the program"
    return "a repeat, with its input and its check,"


def _as_told(attempt: Attempt, said: _Said, status: Status, limits: Limits) -> tuple[Status, str]:
    """The status of a program that ended in an orderly way, if its output is consistent."""
    told = str(said.end.get("status"))
    reason = " ".join(str(said.end.get("reason", "")).split())[:400]
    if told != status:
        return Status.CRASHED, f"said '{told}' but its exit code means '{status}'"
    other = _other_request(attempt, said.start)
    if other:
        return Status.CRASHED, other
    wrong = next((each for each in said.repeats if each.get("ok") is not True), None)
    if wrong is not None and status is Status.OK:
        return Status.WRONG, f"repeat {wrong.get('repeat')} answered {wrong.get('answer')!s:.80}"
    if status is Status.OK:
        measured = sum(each.get("warmup") is False for each in said.repeats)
        if not measured or measured != (attempt.repeats or measured):
            wanted = attempt.repeats or "some"
            return Status.CRASHED, f"made {measured} repeats instead of {wanted}"
        timed = _sample(said.repeats) is not None
        fault = said.no_figure if timed else "gave a time that is no positive number"
        return Status.CRASHED if fault else Status.OK, fault
    if status is Status.REFUSED:
        return status, _refusal(limits, reason)
    return status, reason or f"ended as '{status}' without a reason"


def _broken(ending: Ending, said: _Said, limits: Limits) -> tuple[Status, str]:
    """The status of a program that ended without the required last line, from its traces."""
    if ending.signal is not None:
        how = f"ended by {_signal_name(ending.signal)}"
    else:
        how = f"ended with exit code {ending.exit_code} and without its last line"
    if ending.thread_events or _NO_THREAD in ending.errors:
        return Status.REFUSED, _refusal(limits, how)
    if any(each in ending.errors for each in _NO_MEMORY):
        return Status.OUT_OF_MEMORY, f"an allocation failed, {how}"
    told = _last_line(ending.errors)
    fault = f", {said.fault}" if said.fault and ending.signal is None else ""
    return Status.CRASHED, f"{how}{fault}{': ' + told if told else ''}"


def _refusal(limits: Limits, detail: str) -> str:
    cap = f"a thread was refused; the cap is {limits.threads} ({limits.thread_source})"
    return f"{cap}: {detail}" if detail else cap


def _other_request(attempt: Attempt, start: dict[str, Any]) -> str:
    """The difference between the run and the request, if any."""
    cell = attempt.cell
    asked = {
        "program": cell.program,
        "backend": cell.backend,
        "variant": cell.variant,
        "threads": cell.threads,
        "cpus": len(attempt.cpus),
    }
    for name, value in asked.items():
        if start.get(name) != value:
            return f"ran with {name} {start.get(name)!r:.40} instead of {value!r}"
    return ""


def _parse(output: str) -> _Said:
    start: dict[str, Any] = {}
    end: dict[str, Any] = {}
    repeats: list[dict[str, Any]] = []
    fault = no_figure = ""
    texts = output.split("\n", _LINES)
    if len(texts) > _LINES:
        fault = f"printed more than {_LINES} lines"
    for text in texts[:_LINES]:
        if not text.strip():
            continue
        line = _line(text)
        event = line.get("event")
        if end:
            fault = fault or "printed something after its last line"
        elif event == "start" and not start:
            start = line
        elif event == "repeat" and start:
            no_figure = no_figure or _no_figure(line)
            repeats.append({k: v for k, v in line.items() if k not in _FIGURES or _is_figure(v)})
        elif event == "end" and start:
            end = line
        else:
            fault = fault or f"printed something that is not agreed: {text!r:.60}"
    return _Said(start, tuple(repeats), end, fault, no_figure)


def _line(text: str) -> dict[str, Any]:
    """The plain values of one JSON object; empty for all else (NaN and Infinity are no JSON)."""
    try:  # msgspec would refuse a line with one 1e400 or half a surrogate pair
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(_plain(name)): _plain(value) for name, value in found.items()}


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _plain(value: object) -> str | int | float | None:
    r"""A value that JSON and UTF-8 can write again: a question mark for half a surrogate pair
    (JSON's \ud800), None for lists, objects and infinity (the value of 1e400)."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value if isinstance(value, int | float) and abs(value) != math.inf else None


def _no_figure(repeat: dict[str, Any]) -> str:
    wrong = next((k for k in _FIGURES if k in repeat and not _is_figure(repeat[k])), None)
    return f"gave a {wrong} that is no number from 0 to 10^18" if wrong else ""


def _is_figure(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= _MOST


def _sample(repeats: tuple[dict[str, Any], ...]) -> float | None:
    """Median of the measured repeats in nanoseconds; None if one of them is no time."""
    times = [each.get("wall_ns") for each in repeats if each.get("warmup") is False]
    if not times or not all(times):
        return None
    return float(statistics.median([float(each) for each in times if each is not None]))


def _peak(repeats: tuple[dict[str, Any], ...], from_system: int) -> int:
    """Largest resident set. The system's own figure for a process includes the lab's memory at the
    fork, so the program's figure comes first."""
    told = [each.get("max_rss_bytes") for each in repeats]
    return max((int(each) for each in told if each), default=from_system)


def _last_line(text: str) -> str:
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    return lines[-1][:300] if lines else ""


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({signal.strsignal(number)})"
    except ValueError:
        return f"signal {number}"

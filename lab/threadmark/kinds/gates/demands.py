"""The demands on a program, from the command line and a baseline."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadmark.judge.estimates import Interval
from threadmark.model.errors import LabError
from threadmark.present import plain
from threadmark.present.files import write_atomically

SCHEMA = "gate-baseline"
WRITE = "--write-baseline"  # the option that names a baseline to write
_MOST = 4096  # threads
_BIGGEST = 1 << 20  # bytes of a baseline


@dataclass(frozen=True)
class Demand:
    """A speed-up over one thread that a number of threads must reach, and its wording in the
    request."""

    threads: int
    speedup: float
    words: str

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> Demand:
        """The demand of a stored run."""
        return Demand(stored["threads"], stored["speedup"], stored["words"])


def efficiencies(text: str) -> list[Demand]:
    """'0.7@2,0.5@8': efficiencies, which are speed-ups per thread."""
    return [
        Demand(
            threads,
            value * threads,
            f"efficiency of {value:g} on {threads:,} threads, a speed-up of {value * threads:g}",
        )
        for value, threads in _parsed("--min-efficiency", text, 0.7)
    ]


def speedups(text: str) -> list[Demand]:
    """'1.5@2': speed-ups over one thread."""
    return [
        Demand(threads, value, f"speed-up of {value:g} on {threads:,} threads")
        for value, threads in _parsed("--min-speedup", text, 1.5)
    ]


def share(text: str) -> float:
    """'5%' or '0.05' as 0.05. LabError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    if not 0 <= value < 1:
        raise LabError(f"'{text}' is no share for --by; write for example 5%.")
    return value


def of_baseline(path: Path, allowed: float, words: Sequence[str]) -> list[Demand]:
    """The demands of a baseline, less the allowed loss. The baseline's own limits count, so that a
    lucky baseline fails no program. LabError for a file that is no baseline, or one of another
    program."""
    found = _read(path)
    if found["program"] != list(words):
        raise LabError(
            f"{path} is of another program ({' '.join(found['program'])[:80]}); write one of this "
            "program with --write-baseline."
        )
    return [
        Demand(
            int(threads),
            each["low"] * (1 - allowed),
            f"speed-up at most {100 * allowed:g} % below the {each['estimate']:.2f} of the "
            f"baseline on {int(threads):,} threads",
        )
        for threads, each in found["speedups"].items()
    ]


def write_baseline(path: Path, words: Sequence[str], found: Mapping[int, Interval]) -> None:
    """Keep the speed-ups of a run, for a commit beside the program."""
    fields = {
        "program": list(words),
        "speedups": {str(n): plain.interval_record(each) for n, each in found.items()},
    }
    write_atomically(path, plain.dumps(plain.document(SCHEMA, fields)) + "\n", WRITE)


def _read(path: Path) -> dict[str, Any]:
    remedy = "name a file that --write-baseline wrote."
    try:
        if path.stat().st_size > _BIGGEST:
            raise LabError(f"{path} is no baseline, it is too big; {remedy}")
        found = json.loads(path.read_text(encoding="utf-8"))
        good = found["schema"] == f"threadmark/{SCHEMA}/1" and bool(found["speedups"])
        good &= all(
            1 < int(threads) <= _MOST and 0 < each["low"] <= each["estimate"] < 1e6
            for threads, each in found["speedups"].items()
        )
        list(map(str, found["program"]))
    except OSError as error:
        raise LabError(f"{path} cannot be read ({error.strerror}); {remedy}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        good = False
    if not good:
        raise LabError(f"{path} is no baseline; {remedy}")
    return dict(found)


def _parsed(option: str, text: str, example: float) -> list[tuple[float, int]]:
    found = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)@(\d{1,4})", part)
        if not match or not 2 <= int(match[2]) <= _MOST or not 0 < float(match[1]) < 1e4:
            raise LabError(
                f"'{part}' is no value for {option}; write for example {option} {example:g}@2."
            )
        found.append((float(match[1]), int(match[2])))
    return found

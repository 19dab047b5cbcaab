"""Profiles: the amount and the precision of measuring, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass

from threadmark.model.errors import LabError

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Times in seconds.

    Each repeat, and the warm-up, may take max(`limit_floor_s`, `limit_factor` x the serial median),
    at most `limit_ceiling_s`. Sampling of a cell ends at `max_samples` or when the
    95 % interval of its median is within +-`target` of it.
    """

    name: str
    summary: str
    size: str
    min_samples: int
    max_samples: int
    target: float
    limit_floor_s: float
    limit_factor: float
    limit_ceiling_s: float
    budget_s: float | None = None
    max_block: int = 1  # most repeats per process for one sample
    max_threads: int | None = None
    min_threads: int = 1
    left_out: tuple[str, ...] = ()  # variants that are measured only on request


def thread_counts(profile: Profile, cores: int) -> tuple[int, ...]:
    """1, 2, 4, ... and the number of cores itself. A profile with little time begins with 2,
    because one thread decides no verdict. Two threads of one core share its units, so their
    speed-up shows more about the core than about the program."""
    most = min(cores, profile.max_threads or cores)
    powers = [1 << power for power in range(most.bit_length()) if 1 << power <= most]
    return tuple(each for each in sorted({*powers, most}) if each >= min(profile.min_threads, most))


def time_budget_s(profile: Profile, threads: tuple[int, ...]) -> float | None:
    """Seconds for a run with these thread counts; None without a bound.

    The profile's budget is for one count that decides verdicts. Each further count needs three
    fifths of it, because the serial cells are measured once. The budget is never more than twice
    the profile's.
    """
    counts = sum(each > 1 for each in threads)
    return profile.budget_s and profile.budget_s * min(2.0, 1 + 0.6 * max(0, counts - 1))


def parse_threads(text: str) -> tuple[int, ...]:
    """'1,2,8' or '1-4' as numbers. LabError for anything else, or for more than a program's
    limit."""
    result: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(part) > 9:
            raise LabError(
                f"'{text}' is no list of thread counts; write for example --threads 1,2,4."
            )
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= 4096:
            raise LabError(
                f"Thread counts go from 1 to 4096, not '{part.strip()}'; change --threads."
            )
        result.update(range(low, high + 1))
    return tuple(sorted(result))


def parse_seconds(text: str) -> float:
    """'90', '90s', '3m' or '1h' in seconds. LabError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip())
    if not match or match[2] not in _UNITS or not 0 < float(match[1]) < 1e9:
        raise LabError(f"'{text}' is no time for --budget; write for example 90s or 3m.")
    return float(match[1]) * _UNITS[match[2]]


IMPORTED = "imported"  # profile of a run that was not measured here

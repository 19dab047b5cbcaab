"""The load of the processors while a program ran: did others, or the hypervisor, take its time?

Figures of /proc/stat count in ticks of 10 ms, so a short program gives a coarse answer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_SHARE = 0.1  # of the processors' time: more marks the figures
_FEWEST_TICKS = 3  # whole ticks per processor are off by one or two


@dataclass(frozen=True)
class Counters:
    """Seconds since boot, summed over some processors."""

    busy_s: float
    steal_s: float
    processors: int


@dataclass(frozen=True)
class Load:
    """Seconds that were not the program's own, summed over its processors."""

    others_s: float
    steal_s: float
    processors: int


def read(cpus: Sequence[int]) -> Counters:
    """The counters of `cpus` now; zeros where /proc/stat is hidden."""
    wanted = {f"cpu{cpu}" for cpu in cpus}
    busy = steal = 0
    try:
        text = Path("/proc/stat").read_text(encoding="ascii")
    except OSError:
        return Counters(0, 0, len(cpus))
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name in wanted:
            # user nice system idle iowait irq softirq steal guest guest_nice; guest is in user
            ticks = [int(each) for each in rest.split()]
            busy += sum(ticks[0:3]) + sum(ticks[5:7])
            steal += ticks[7] if len(ticks) > 7 else 0
    return Counters(busy * _TICK_S, steal * _TICK_S, len(cpus))


def between(before: Counters, after: Counters, own_s: float) -> Load:
    """The load from `before` to `after`, less the program's own `own_s`."""
    return Load(
        others_s=max(0.0, after.busy_s - before.busy_s - own_s),
        steal_s=max(0.0, after.steal_s - before.steal_s),
        processors=before.processors,
    )


def disturbance(
    seen: Load, wall_s: float, repeats: Sequence[Mapping[str, Any]], threads: int
) -> str:
    """The reason for which the program's threads may not have run at the same time; empty if none
    is known.

    A wait for a processor (`run_delay_ns`) counts only beside some use by others: a program that
    makes more threads than there are processors makes its own threads wait.
    """
    capacity_s = wall_s * seen.processors
    if capacity_s <= 0:
        return ""
    least_s = _FEWEST_TICKS * _TICK_S
    steal, others = (min(100.0, 100 * s / capacity_s) for s in (seen.steal_s, seen.others_s))
    if seen.steal_s >= max(least_s, _SHARE * capacity_s):
        return f"the hypervisor took {steal:.0f} % of the processors' time"
    if seen.others_s >= max(least_s, _SHARE * capacity_s):
        return f"other processes took {others:.0f} % of the processors' time"
    wall_ns = sum(_number(each, "wall_ns") for each in repeats)
    delay_ns = sum(_number(each, "run_delay_ns") for each in repeats)
    waited = delay_ns / (wall_ns * threads) if wall_ns else 0.0
    if waited >= _SHARE and seen.others_s + seen.steal_s >= max(2 * _TICK_S, 0.03 * capacity_s):
        return f"threads waited {waited * 100:.0f} % of the time for a processor that others used"
    return ""


def _number(line: Mapping[str, Any], name: str) -> float:
    value = line.get(name, 0)
    return value if isinstance(value, int | float) else 0.0

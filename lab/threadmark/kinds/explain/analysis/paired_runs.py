"""The rounds of a comparison, and their part of a document."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadmark.judge.estimates import Interval, median_interval, paired_ratio
from threadmark.kinds.explain.analysis.growth import Grown, per_unit
from threadmark.kinds.explain.analysis.per_unit import Run

_LISTED = 20
_STACKS = 2000
_SLOWED = 1.1  # times as long: less is chance


@dataclass(frozen=True)
class Rounds:
    """The runs by number of threads; as many of each."""

    runs: Mapping[int, Sequence[Run]]

    @property
    def most(self) -> int:
        """Threads of the explained run."""
        return max(self.runs)

    @property
    def one(self) -> Sequence[Run]:
        """The runs with one thread."""
        return self.runs[min(self.runs)]

    @property
    def many(self) -> Sequence[Run]:
        """The runs with most threads."""
        return self.runs[self.most]

    def speedup(self, threads: int) -> Interval:
        """The speed-up against one thread."""
        return paired_ratio(
            [run.time_ns for run in self.one], [run.time_ns for run in self.runs[threads]]
        )

    @property
    def recorded_speedup(self) -> float:
        """The speed-up of the recorded runs with most threads."""
        one, many = ([run.recorded_ns for run in runs] for runs in (self.one, self.many))
        return paired_ratio(one, many).estimate

    @property
    def slowed(self) -> str:
        """A sentence if the program takes longer because it is recorded; else empty."""
        recorded = [run.recorded_ns for run in self.many]
        times = paired_ratio(recorded, [run.time_ns for run in self.many]).estimate
        if times < _SLOWED:
            return ""
        return (
            f"The program takes {times:.2g} times as long with {self.most:,} threads because it is "
            "recorded; shares, counts and times of causes are those of the recorded runs."
        )

    @property
    def words(self) -> str:
        """'1.04 times as fast with 2 threads as with 1 (95 %: 1.01 to 1.07, 3 rounds)'."""
        found, rounds = self.speedup(self.most), len(self.one)
        text = f"{found.estimate:.3g} times as fast with {self.most:,} threads as with 1"
        if math.isinf(found.high):
            return text + f" ({rounds} round{'s' * (rounds != 1)}, too few to know the error)"
        return text + f" (95 %: {found.low:.3g} to {found.high:.3g}, {rounds} rounds)"


def limits(interval: Interval, factor: float = 1.0) -> list[float | None]:
    """The limits for JSON; null if they are not known."""
    high = None if math.isinf(interval.high) else round(factor * interval.high, 9)
    return [round(factor * interval.low, 9), high]


def record(rounds: Rounds, growth: Sequence[Grown]) -> dict[str, Any]:
    """The field `differential` of the document."""
    times = {n: median_interval([r.time_ns for r in runs]) for n, runs in rounds.runs.items()}
    return {
        "threads": sorted(rounds.runs),
        "rounds": len(rounds.one),
        "time_per_unit": {
            str(n): {"s": t.estimate / 1e9, "interval": limits(t, 1e-9)} for n, t in times.items()
        },
        "speedups": {
            str(n): {"times": round(s.estimate, 4), "interval": limits(s)}
            for n in sorted(rounds.runs)[1:]
            if (s := rounds.speedup(n))
        },
        "words": rounds.words,
        "overlap": round(sum(rounds.many[-1].busy[2:]), 4),
        "grows": [_grows(each) for each in growth[:_LISTED]],
    }


def _grows(each: Grown) -> dict[str, Any]:
    place, text = each.code[0][:2] if each.code else ("", "")
    return {
        "frames": list(each.frames),
        "in": each.place.sort or "program",
        "instruction": f"{place} {text}".strip(),
        "share": round(each.share, 4),
        "cpu_ns_1": round(each.one_ns, 3),
        "cpu_ns_n": round(each.many_ns, 3),
        "ratio": round(each.ratio.estimate, 4),
        "interval": limits(each.ratio),
        "instructions": [[*at[:2], round(at[2], 3), round(at[3], 3)] for at in each.code],
    }


def stacks_of(rounds: Rounds) -> list[list[Any]]:
    """[frames, nanoseconds of processor time per unit with one thread, with most threads]."""
    found: dict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for side, runs in enumerate((rounds.one, rounds.many)):
        for (_, frames), ns in per_unit(runs).items():
            if frames:
                found[frames][side] += ns
    ordered = sorted(found.items(), key=lambda each: (-max(each[1]), each[0]))[:_STACKS]
    return [[list(frames), round(a, 3), round(b, 3)] for frames, (a, b) in ordered]

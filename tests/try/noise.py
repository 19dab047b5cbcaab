"""Made-up noise of runs, and a try on it by the lab's own judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from threadmark.judge.trials import Finding, Judgement, Trial, looks

AGAIN = -1  # the arm of the pairs without a fix, which each round of a try has

Series = Callable[[np.random.Generator, int], np.ndarray]


def _bursts(rng: np.random.Generator, count: int) -> np.ndarray:
    """A neighbour that comes and goes, for several runs at a time."""
    slow, found = False, np.zeros(count)
    for at in range(count):
        if rng.random() < (0.2 if slow else 0.05):
            slow = not slow
        found[at] = 0.5 * slow
    return found + rng.normal(0, 0.02, count)


# Logarithms of the times of equal runs.
SERIES: dict[str, Series] = {
    "normal": lambda rng, n: rng.normal(0, 0.03, n),
    "heavy": lambda rng, n: 0.03 * rng.standard_t(2, n),
    "very heavy": lambda rng, n: 0.02 * rng.standard_t(1, n),
    "two modes": lambda rng, n: rng.normal(0, 0.01, n) + 0.4 * (rng.random(n) < 0.3),
    "two equal modes": lambda rng, n: rng.normal(0, 0.005, n) + 0.4 * (rng.random(n) < 0.5),
    "slow runs": lambda rng, n: (
        rng.normal(0, 0.02, n) + np.where(rng.random(n) < 0.06, np.log(rng.uniform(1.5, 8, n)), 0)
    ),
    "bursts": _bursts,
    "drift": lambda rng, n: np.cumsum(rng.normal(0, 0.02, n)) + rng.normal(0, 0.02, n),
}


def tried(
    series: Series,
    rng: np.random.Generator,
    *,
    fixes: int = 8,
    rounds: int = 30,
    gains: Mapping[int, float] | None = None,
) -> dict[int, Judgement]:
    """The judgements of a try of `fixes` fixes at its end; `gains` are the planted ones. Like a try
    with one number of threads, this one has pairs without a fix and room for a combination."""
    logs: dict[int, list[float]] = {fix: [] for fix in (AGAIN, *range(fixes))}
    times = series(rng, 2 * len(logs) * rounds)
    still, at, family = list(logs), 0, fixes + 1
    for number in range(1, rounds + 1):
        for fix in rng.permutation(still):
            first, second = times[at], times[at + 1]
            at += 2
            with_, without = (first, second) if rng.random() < 0.5 else (second, first)
            logs[fix].append(without - with_ + np.log((gains or {}).get(fix, 1.0)))
        if number in looks(number):
            still = [AGAIN, *(fix for fix in Trial(logs, family).open() if fix != AGAIN)]
    return Trial(logs, family).judge()


def claims(found: Mapping[int, Judgement]) -> set[int]:
    """The fixes with a claimed gain."""
    return {fix for fix, each in found.items() if fix != AGAIN and each.finding is Finding.GAIN}

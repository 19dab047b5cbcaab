"""The profiles of `run`: how much is measured and how exactly, as data."""

from __future__ import annotations

from threadmark.model.effort import Profile

PROFILES = {
    each.name: each
    for each in (
        Profile(
            "smoke", "does everything run? one sample", "smoke", 1, 1, 1.0, 20, 1000, 20, None, 1, 2
        ),
        Profile(
            "quick",
            "a verdict in minutes",
            "quick",
            6,
            60,
            0.02,
            1.2,
            20,
            60,
            340,
            9,
            min_threads=2,
            left_out=("async", "deferred"),
        ),
        Profile("full", "the paper's sizes", "full", 6, 20, 0.01, 60, 20, 900, None, 9),
        Profile(
            "paper", "as the paper: 5 repeats, 900 s", "full", 5, 5, 0.01, 900, 1, 900, None, 1
        ),
    )
}

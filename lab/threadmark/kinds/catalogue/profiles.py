"""The amount of measuring of the catalogue, by size, and its calibration, as data."""

from __future__ import annotations

from threadmark.model.effort import Profile

CATALOGUE = "catalogue"  # the profile of its runs, whatever their size
NOT_VALID = 1  # exit status: measured and stored, but the calibration failed

# Numbers of undisturbed processes at which there is a look at a verdict. Each look spends an equal
# part of the error allowed at a limit, so that all looks together keep it (Bonferroni).
LOOKS = (5, 9, 15, 21)
ERROR = 0.05  # two-sided, at each limit
# No target: sampling goes on until a look is clear.
PROFILES = {
    each.size: each
    for each in (
        Profile(
            name=CATALOGUE,
            summary="does everything run?",
            size="smoke",
            min_samples=1,
            max_samples=1,
            target=0.0,
            limit_floor_s=20,
            limit_factor=1,
            limit_ceiling_s=20,
            max_threads=2,
        ),
        Profile(
            name=CATALOGUE,
            summary="verdicts in minutes",
            size="quick",
            min_samples=LOOKS[0],
            max_samples=LOOKS[-1],
            target=0.0,
            limit_floor_s=10,
            limit_factor=1,
            limit_ceiling_s=30,
            budget_s=340,
        ),
        Profile(
            name=CATALOGUE,
            summary="longer windows",
            size="full",
            min_samples=LOOKS[0],
            max_samples=LOOKS[-1],
            target=0.0,
            limit_floor_s=120,
            limit_factor=1,
            limit_ceiling_s=120,
        ),
    )
}
FEWEST_PROCESSES = 3  # whose threads ran side by side; fewer give no verdict
CALIBRATION = "calibration"  # the program that validates all others
FREE, BOUND = "arithmetic", "shared_atomic"  # its ways: one that cannot contend, and one that must

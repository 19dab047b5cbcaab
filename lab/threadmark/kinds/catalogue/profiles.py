"""How much the catalogue measures, by size, and what it is held against. All of it data."""

from __future__ import annotations

from threadmark.model.effort import Profile

CATALOGUE = "catalogue"  # the profile of its runs, whatever their size
NOT_VALID = 1  # exit status: measured and stored, but the calibration failed

# Undisturbed processes at which a verdict is looked at. Each look spends an equal part of the error
# that the verdict may make at a limit, so that all looks together keep it (Bonferroni).
LOOKS = (5, 9, 15, 21)
ERROR = 0.05  # two-sided, at each limit
# No target: sampling goes on until a look is clear.
PROFILES = {
    each.size: each
    for each in (
        Profile(CATALOGUE, "does everything run?", "smoke", 1, 1, 0.0, 20, 1, 20, None, 1, 2),
        Profile(
            CATALOGUE, "verdicts in minutes", "quick", LOOKS[0], LOOKS[-1], 0.0, 10, 1, 30, 340, 1
        ),
        Profile(
            CATALOGUE, "longer windows", "full", LOOKS[0], LOOKS[-1], 0.0, 120, 1, 120, None, 1
        ),
    )
}
FEWEST_PROCESSES = 3  # whose threads ran side by side; with fewer nothing is said
CALIBRATION = "calibration"  # the program that all others are held against
FREE, BOUND = "arithmetic", "shared_atomic"  # its ways: what cannot contend and what must

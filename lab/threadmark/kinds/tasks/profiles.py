"""The profiles of `run`: the amount and the precision of measuring, as data."""

from __future__ import annotations

from threadmark.model.effort import Profile

PROFILES = {
    each.name: each
    for each in (
        Profile(
            name="smoke",
            summary="does everything run? one sample",
            size="smoke",
            min_samples=1,
            max_samples=1,
            target=1.0,
            limit_floor_s=20,
            limit_factor=1000,
            limit_ceiling_s=20,
            max_threads=2,
        ),
        Profile(
            name="quick",
            summary="a verdict in minutes",
            size="quick",
            min_samples=6,
            max_samples=60,
            target=0.02,
            limit_floor_s=1.2,
            limit_factor=20,
            limit_ceiling_s=60,
            budget_s=340,
            max_block=9,
            min_threads=2,
            left_out=("async", "deferred"),
        ),
        Profile(
            name="full",
            summary="the paper's sizes",
            size="full",
            min_samples=6,
            max_samples=20,
            target=0.01,
            limit_floor_s=60,
            limit_factor=20,
            limit_ceiling_s=900,
            max_block=9,
        ),
        Profile(
            name="paper",
            summary="as the paper: 5 repeats, 900 s",
            size="full",
            min_samples=5,
            max_samples=5,
            target=0.01,
            limit_floor_s=900,
            limit_factor=1,
            limit_ceiling_s=900,
        ),
    )
}

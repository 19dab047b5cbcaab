"""Lines as a contention program prints them, for the Python tests."""

from __future__ import annotations


def window(repeat: int, threads: int, per_second: float, **changes: object) -> dict[str, object]:
    """One window in which each of `threads` threads did `per_second` operations."""
    return {
        "event": "repeat",
        "repeat": repeat,
        "warmup": repeat == 0,
        "threads": threads,
        "wall_ns": 4e6,
        "operations": 1000,
        "per_second": per_second,
        "slowest_per_second": per_second,
        "fastest_per_second": per_second,
        "overlap": 1.0,
        "yardstick_ns": 20_000,
        "run_delay_ns": 0,
        "ok": True,
    } | changes

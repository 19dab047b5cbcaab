"""Stacks in other people's formats: collapsed lines and speedscope's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from threadmark.model.cell import Stored

RUNNING = "running"  # stacks of a run, as details.py has them
WAITING = "waiting"


def collapsed(details: Mapping[str, Any]) -> str:
    """One line for each stack, outermost first: 'main;work;[mutex] 120', waits in microseconds.
    Samples of running code have no mark."""
    lines = [f"{_joined(frames)} {count}" for frames, count in details.get(RUNNING, [])]
    lines += [
        f"{_joined(frames)};[{activity}] {us}"
        for frames, us, activity in details.get(WAITING, [])
        if us
    ]
    return "".join(f"{line}\n" for line in lines)


def _joined(frames: list[str]) -> str:
    return ";".join(each.replace(";", ":").replace("\n", " ") for each in reversed(frames))


def speedscope(stored: Stored, details: Mapping[str, Any]) -> dict[str, Any]:
    """Two profiles: samples of running code, and waits in microseconds."""
    numbers: dict[str, int] = {}

    def path(frames: list[str], *more: str) -> list[int]:
        return [numbers.setdefault(each, len(numbers)) for each in (*reversed(frames), *more)]

    running = [(path(frames), count) for frames, count in details.get(RUNNING, [])]
    waiting = [
        (path(frames, f"[{activity}]"), us)
        for frames, us, activity in details.get(WAITING, [])
        if us
    ]
    profiles = [
        _sampled(name, unit, samples)
        for name, unit, samples in (
            (WAITING, "microseconds", waiting),
            (RUNNING, "none", running),
        )
        if samples
    ]
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": f"explain run {stored.run.id}",
        "exporter": "threadmark",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": each} for each in numbers]},
        "profiles": profiles,
    }


def _sampled(name: str, unit: str, samples: list[tuple[list[int], int]]) -> dict[str, Any]:
    return {
        "type": "sampled",
        "name": name,
        "unit": unit,
        "startValue": 0,
        "endValue": sum(weight for _, weight in samples),
        "samples": [stack for stack, _ in samples],
        "weights": [weight for _, weight in samples],
    }

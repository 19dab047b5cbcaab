"""Stacks in formats of other tools: collapsed lines and speedscope's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from threadmark.model.cell import Stored

RUNNING = "running"  # the key of stacks in details.py
WAITING = "waiting"
Weighed = tuple[Sequence[str], int]  # functions, innermost first, and microseconds


def on_processor(details: Mapping[str, Any]) -> list[Weighed]:
    """Stacks of running code."""
    each_us = details["sample_ns"] / 1000
    return [(frames, round(count * each_us)) for frames, count in details[RUNNING]]


def off_processor(details: Mapping[str, Any]) -> list[Weighed]:
    """Stacks of waits; the awaited thing stands as the innermost function."""
    return [
        ([f"[{activity.replace('_', ' ')}]", *frames], us)
        for frames, us, activity, _ in details[WAITING]
        if us
    ]


def collapsed(details: Mapping[str, Any]) -> str:
    """One line for each stack with its microseconds, outermost first: 'main;work;[mutex] 120'.
    Running code has no mark."""
    stacks = [*on_processor(details), *off_processor(details)]
    return "".join(f"{_joined(frames)} {us}\n" for frames, us in stacks)


def _joined(frames: Sequence[str]) -> str:
    return ";".join(each.replace(";", ":").replace("\n", " ") for each in reversed(frames))


def speedscope(stored: Stored, details: Mapping[str, Any]) -> dict[str, Any]:
    """Two profiles in microseconds: waits, and running code."""
    numbers: dict[str, int] = {}
    profiles = []
    for name, stacks in (
        ("off the processor", off_processor(details)),
        ("on the processor", on_processor(details)),
    ):
        if stacks:
            profiles.append({
                "type": "sampled",
                "name": name,
                "unit": "microseconds",
                "startValue": 0,
                "endValue": sum(us for _, us in stacks),
                "samples": [
                    [numbers.setdefault(each, len(numbers)) for each in reversed(frames)]
                    for frames, _ in stacks
                ],
                "weights": [us for _, us in stacks],
            })  # fmt: skip
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": f"explain run {stored.run.id}",
        "exporter": "threadmark",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": each} for each in numbers]},
        "profiles": profiles,
    }

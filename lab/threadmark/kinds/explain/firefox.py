"""A run as a processed profile of the Firefox Profiler, version 54 of its format.

Samples of running code and waits are both samples, with the milliseconds that they stand for as
weights. A wait is also a marker. Each thread has its own tables, as that version requires.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import Any

from threadmark.kinds.explain.analysis.accounting import STATES
from threadmark.model.cell import Stored

VERSION = 54
_COLOURS = {
    "useful": "blue", "spinning": "orange", "atomic": "orange", "waiting": "red",
    "condition": "purple", "barrier": "purple", "join": "purple", "semaphore": "purple",
    "once": "red", "sleep": "transparent", "io": "lightblue", "kernel_memory": "brown",
    "runnable": "yellow", "starting": "darkgrey", "runtime": "magenta",
    "runtime_idle": "transparent",
}  # fmt: skip
_OTHER = 0  # the category that every profile has
_INTERVAL = 1  # the phase of a marker that has a start and an end


class _Table(dict[Any, int]):
    """Rows, each once, numbered in the order in which they come."""

    def __missing__(self, row: Any) -> int:
        return self.setdefault(row, len(self))


class _Thread:
    """The tables of one thread."""

    def __init__(self, timeline: Mapping[str, Any]) -> None:
        self._timeline = timeline
        self.strings = _Table()
        self._functions = _Table()  # strings
        self._frames = _Table()  # function, category
        self._stacks = _Table()  # prefix, frame

    def stack(self, number: int, state: str, innermost: str = "") -> int | None:
        """The stack of that number, with one more function."""
        category = STATES.index(state) + 1
        names = [self._timeline["frames"][each] for each in self._timeline["stacks"][number]]
        found = None
        for name in [*reversed(names), *([innermost] if innermost else [])]:
            function = self._functions[self.strings[name]]
            found = self._stacks[found, self._frames[function, category]]
        return found

    def record(self) -> dict[str, Any]:
        """The tables as columns."""
        functions, frames, stacks = list(self._functions), list(self._frames), list(self._stacks)
        return {
            "stackTable": {
                "prefix": [prefix for prefix, _ in stacks],
                "frame": [frame for _, frame in stacks],
                "length": len(stacks),
            },
            "frameTable": {
                "func": [function for function, _ in frames],
                "category": [category for _, category in frames],
                "subcategory": [0] * len(frames),
                "address": [-1] * len(frames),
                "inlineDepth": [0] * len(frames),
                **{
                    name: [None] * len(frames)
                    for name in ("nativeSymbol", "innerWindowID", "line", "column")
                },
                "length": len(frames),
            },
            "funcTable": {
                "name": functions,
                "isJS": [False] * len(functions),
                "relevantForJS": [False] * len(functions),
                "resource": [-1] * len(functions),
                **{
                    name: [None] * len(functions)
                    for name in ("fileName", "lineNumber", "columnNumber")
                },
                "length": len(functions),
            },
            "resourceTable": {"lib": [], "name": [], "host": [], "type": [], "length": 0},
            "nativeSymbols": {
                "libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0,
            },
            "stringArray": list(self.strings),
        }  # fmt: skip


def profile(stored: Stored, found: Mapping[str, Any], details: Mapping[str, Any]) -> dict[str, Any]:
    """The whole file as plain values."""
    timeline = details["timeline"]
    threads = sorted(timeline["threads"], key=lambda t: (t["process"], t["tid"] != t["process"]))
    began = datetime.fromisoformat(stored.run.started_at)
    command = found["command"] or ["program"]
    return {
        "meta": {
            "categories": [
                {"name": name.replace("_", " "), "color": colour, "subcategories": ["Other"]}
                for name, colour in (
                    ("Other", "grey"), *((s, _COLOURS.get(s, "grey")) for s in STATES)
                )
            ],
            "debug": False,
            "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
            "interval": (timeline["sample_us"] or timeline["tick_us"]) / 1000,
            "preprocessedProfileVersion": VERSION,
            "processType": 0,
            "product": PurePath(command[0]).name,
            "stackwalk": 1,
            "startTime": began.timestamp() * 1000,
            "symbolicated": True,
            "pausedRanges": [],
            "version": 24,
            "usesOnlyOneStackType": True,
            "sourceCodeIsNotOnSearchfox": True,
            "markerSchema": [_SCHEMA],
            "importedFrom": "threadmark",
            "arguments": " ".join(command),
        },
        "libs": [],
        "pages": [],
        "counters": [],
        "profilerOverhead": [],
        "threads": [_thread(timeline, each) for each in threads],
    }  # fmt: skip


_SCHEMA = {
    "name": "wait",
    "display": ["marker-chart", "marker-table", "timeline-overview"],
    "tooltipLabel": "{marker.data.state}: {marker.data.object}",
    "tableLabel": "{marker.data.object}",
    "chartLabel": "{marker.data.object}",
    "data": [
        {"key": "state", "label": "State", "format": "string", "searchable": True},
        {"key": "object", "label": "Waits for", "format": "string", "searchable": True},
        {"key": "awaited", "label": "Awaited thread", "format": "integer"},
    ],
}


def _thread(timeline: Mapping[str, Any], thread: Mapping[str, Any]) -> dict[str, Any]:
    tables = _Thread(timeline)
    samples = _samples(tables, timeline, thread)
    markers = _markers(tables, timeline, thread)
    first = thread["tid"] == thread["process"]
    return {
        "processType": "default",
        "processStartupTime": thread["from"] / 1000 if first else 0,
        "processShutdownTime": None,
        "registerTime": thread["from"] / 1000,
        "unregisterTime": thread["until"] / 1000,
        "pausedRanges": [],
        "name": thread["name"] or f"thread {thread['tid']}",
        "isMainThread": first,
        "showMarkersInTimeline": True,
        "pid": str(thread["process"]),
        "tid": thread["tid"],
        "samples": samples,
        "markers": markers,
        **tables.record(),
    }


def _samples(
    tables: _Thread, timeline: Mapping[str, Any], thread: Mapping[str, Any]
) -> dict[str, Any]:
    flat = thread["samples"]
    each_ms = timeline["sample_us"] / 1000
    rows: list[tuple[float, int | None, float]] = [
        (at / 1000, tables.stack(number, "useful"), each_ms)
        for at, number in zip(flat[::2], flat[1::2], strict=True)
    ]
    for begin, end, state, name, number, _ in thread["waits"]:
        what = timeline["objects"][name]
        stack = tables.stack(number, state, f"[{' '.join(filter(None, (_shown(state), what)))}]")
        # The graph divides the time between two samples, so a wait needs a sample at each end.
        half = (end - begin) / 2000
        rows += [(begin / 1000, stack, half), (max(begin, end - 1) / 1000, stack, half)]
    rows.sort(key=lambda row: row[0])
    return {
        "time": [at for at, _, _ in rows],
        "stack": [stack for _, stack, _ in rows],
        "weight": [ms for _, _, ms in rows],
        "weightType": "tracing-ms",
        "length": len(rows),
    }


def _markers(
    tables: _Thread, timeline: Mapping[str, Any], thread: Mapping[str, Any]
) -> dict[str, Any]:
    waits: Sequence[Any] = thread["waits"]
    data = []
    for _, _, state, name, number, awaited in waits:
        fields = {"type": "wait", "state": _shown(state), "object": timeline["objects"][name]}
        stack = tables.stack(number, state)
        more: dict[str, Any] = {"awaited": awaited} if awaited else {}
        if stack is not None:
            more["cause"] = {"stack": stack}
        data.append({**fields, **more})
    return {
        "data": data,
        "name": [tables.strings[_shown(state)] for _, _, state, *_ in waits],
        "startTime": [begin / 1000 for begin, *_ in waits],
        "endTime": [end / 1000 for _, end, *_ in waits],
        "phase": [_INTERVAL] * len(waits),
        "category": [STATES.index(state) + 1 for _, _, state, *_ in waits],
        "length": len(waits),
    }


def _shown(state: str) -> str:
    return state.replace("_", " ")

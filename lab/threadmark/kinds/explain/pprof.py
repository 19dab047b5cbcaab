"""Waits and samples as profiles of pprof, the gzipped message of its profile.proto.

The message has few fields, so they are encoded here: numbers and bytes with the tags of that file.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from threadmark.kinds.explain.flames import RUNNING, WAITING
from threadmark.model.cell import Stored

_Sample = tuple[Sequence[str], tuple[int, ...], str]  # innermost first; values; the awaited thing
# Fields of profile.proto, by message.
_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING = 1, 2, 3, 4, 5, 6
_TIME_NANOS, _DURATION_NANOS, _PERIOD_TYPE, _PERIOD, _COMMENT, _DEFAULT_TYPE = 9, 10, 11, 12, 13, 14


def waits(stored: Stored, command: Sequence[str], details: Mapping[str, Any]) -> bytes:
    """Waits in the form of Go's profiles of mutexes: contentions, and the delay."""
    samples = [
        (frames, (count, us * 1000), activity.replace("_", " "))
        for frames, us, activity, count in details[WAITING]
    ]
    types = (("contentions", "count"), ("delay", "nanoseconds"))
    return _profile(stored, command, details, types, samples, period=(types[0], 1))


def processor(stored: Stored, command: Sequence[str], details: Mapping[str, Any]) -> bytes:
    """Running code in the form of a CPU profile: samples, and their time."""
    each_ns = details["sample_ns"]
    samples = [(frames, (count, count * each_ns), "") for frames, count in details[RUNNING]]
    types = (("samples", "count"), ("cpu", "nanoseconds"))
    return _profile(stored, command, details, types, samples, period=(types[1], each_ns))


class _Strings(dict[str, int]):
    """The table of strings; the first is empty."""

    def __init__(self) -> None:
        super().__init__({"": 0})

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, len(self))


def _profile(
    stored: Stored,
    command: Sequence[str],
    details: Mapping[str, Any],
    types: Sequence[tuple[str, str]],
    samples: Iterable[_Sample],
    *,
    period: tuple[tuple[str, str], int],
) -> bytes:
    strings = _Strings()
    places: dict[str, int] = {}  # functions; each is at one location with the same number
    parts = [_bytes(_SAMPLE_TYPE, _value_type(strings, each)) for each in types]
    for frames, values, wait in samples:
        path = [places.setdefault(name, len(places) + 1) for name in frames]
        body = _bytes(1, b"".join(map(_varint, path))) + _bytes(2, b"".join(map(_varint, values)))
        if wait:
            body += _bytes(3, _number(1, strings["wait"]) + _number(2, strings[wait]))
        parts.append(_bytes(_SAMPLE, body))
    for name, number in places.items():
        line = _bytes(4, _number(1, number))
        parts.append(_bytes(_LOCATION, _number(1, number) + _number(2, 1) + line))
        # There is no linker's name, because pprof would demangle an equal name once more.
        parts.append(_bytes(_FUNCTION, _number(1, number) + _number(2, strings[name])))
    file = strings[command[0] if command else ""]
    parts.append(_bytes(_MAPPING, _number(1, 1) + _number(5, file) + _number(7, 1)))  # has names
    began = datetime.fromisoformat(stored.run.started_at)
    parts += [
        _number(_TIME_NANOS, int(began.timestamp() * 1e9)),
        _number(_DURATION_NANOS, round(details["wall_s"] * 1e9)),
        _bytes(_PERIOD_TYPE, _value_type(strings, period[0])),
        _number(_PERIOD, period[1]),
        _number(_COMMENT, strings[f"threadmark explain, run {stored.run.id}"]),
        _number(_DEFAULT_TYPE, strings[types[-1][0]]),
    ]
    parts += [_bytes(_STRING, text.encode("utf-8", "replace")) for text in strings]
    return gzip.compress(b"".join(parts), mtime=0)


def _value_type(strings: _Strings, each: tuple[str, str]) -> bytes:
    return _number(1, strings[each[0]]) + _number(2, strings[each[1]])


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content

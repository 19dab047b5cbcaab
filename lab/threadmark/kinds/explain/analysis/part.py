"""A part of a record: some of its threads, some of its time, as a record of its own.

The other threads stay in it as context, so that the holders of locks and the signallers of
conditions are known. Only the time of the chosen threads counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Protocol

from threadmark.kinds.explain.analysis.estimating import Estimates
from threadmark.kinds.explain.analysis.recording import (
    Glance,
    Part,
    Recording,
    Sample,
    Thread,
    Tick,
    short_threads,
)
from threadmark.model.errors import LabError

_LISTED = 12  # names in a message
_LONGEST_NAME = 15  # of a thread, in the kernel
_AGAIN = 1 << 32  # between the keys of threads with the same number


class PartError(LabError):
    """A record has nothing of the requested part."""


def cut(whole: Recording, part: Part) -> Recording:
    """The part of a record. PartError if the record has none of these threads or nothing of this
    time."""
    if part.is_whole:
        return whole
    span = _span(whole, part)
    chosen = _chosen(whole, part.threads)
    alive = {key: each for key, each in whole.threads.items() if span.overlap(each) > 0}
    if not chosen & set(alive):
        raise PartError(f"The record has nothing of {part.words}; ask for another range.")
    numbers = {whole.threads[key].tid for key in chosen & set(alive)}
    # An ended thread may have had the number of a chosen thread. Only the time of the chosen thread
    # counts.
    alive = {key: t for key, t in alive.items() if key in chosen or t.tid not in numbers}
    lives = _Lives(alive.values(), whole.threads.values())
    ticks = [lives.known(tick) for tick in whole.ticks]
    estimates = Estimates(ticks, span.has, numbers.__contains__)
    lives_in = times(alive, ticks, span) if span.is_cut else alive
    threads: dict[int, Thread] = {}
    for key, thread in lives_in.items():
        number = thread.tid
        while number in threads:
            number += _AGAIN
        totals = estimates.totals(alive[key], thread) if span.is_cut else thread.totals
        threads[number] = replace(thread, totals=totals)
    own = [each for each in threads.values() if each.tid in numbers]
    pairs = estimates.pairs(whole, own)
    life_ns = sum(each.life_ns for each in whole.threads.values())
    return replace(
        whole,
        began_ns=span.began_ns,
        ended_ns=span.ended_ns,
        agent_ns=whole.agent_ns * sum(each.life_ns for each in own) // max(1, life_ns),
        threads=threads,
        things=estimates.things(whole, pairs, span.ended_ns - span.began_ns),
        pairs=tuple(each for _, each in pairs if each.waits or each.wait_ns),
        holds=estimates.holds(whole, pairs),
        samples=tuple(each for each in whole.samples if span.has(each.at_ns) and lives.had(each)),
        switches=tuple(each for each in whole.switches if span.has(each.at_ns) and lives.had(each)),
        ticks=tuple(_ticks(ticks, span)),
        files=estimates.files(whole),
        part=part if part.to_s is None else replace(part, to_s=span.to_s),
        in_storm=bool(short_threads(whole)),
        context=_others(whole, numbers) if part.threads else frozenset(),
    )


@dataclass(frozen=True)
class _Span:
    """A range of time of a record."""

    origin_ns: int
    began_ns: int
    ended_ns: int
    is_cut: bool

    def has(self, at_ns: int) -> bool:
        return not self.is_cut or self.began_ns < at_ns <= self.ended_ns

    def overlap(self, thread: Thread) -> int:
        """The time for which a thread lived in the span."""
        if not self.is_cut:
            return max(1, thread.life_ns)
        return min(thread.ended_ns, self.ended_ns) - max(thread.began_ns, self.began_ns)

    def share(self, began_ns: int, ended_ns: int) -> float:
        """Of a stretch of time, how much of it lies in the range."""
        inside = min(ended_ns, self.ended_ns) - max(began_ns, self.began_ns)
        return max(0, inside) / max(1, ended_ns - began_ns)

    @property
    def to_s(self) -> float:
        return (self.ended_ns - self.origin_ns) / 1e9


def _span(whole: Recording, part: Part) -> _Span:
    began, ended = whole.began_ns, whole.ended_ns
    if part.from_s is not None:
        began += round(part.from_s * 1e9)
    if part.to_s is not None:
        ended = min(ended, whole.began_ns + round(part.to_s * 1e9))
    if began >= whole.ended_ns:
        raise PartError(
            f"The recording lasts {whole.wall_ns / 1e9:.4g} s, so nothing of it comes after "
            f"{part.from_s:.4g} s; give --from less."
        )
    is_cut = (began, ended) != (whole.began_ns, whole.ended_ns)
    return _Span(whole.began_ns, began, ended, is_cut)


def _chosen(whole: Recording, patterns: Iterable[str]) -> set[int]:
    """Keys of the threads that a pattern matches. PartError for a pattern that matches none."""
    found = set()
    for pattern in patterns:
        meant = {
            key
            for key, each in whole.threads.items()
            if pattern == str(each.tid) or fnmatchcase(each.name, pattern)
        }
        if not meant:
            number = pattern.replace(",", "").isdigit()
            hint = "; --threads takes numbers of threads" if number else ""
            raise PartError(f"No thread is named {pattern}; {_names(whole, pattern)}{hint}.")
        found |= meant
    return found or set(whole.threads)


def _names(whole: Recording, pattern: str) -> str:
    counts = Counter(each.name or str(each.tid) for each in whole.threads.values())
    listed = sorted(counts, key=lambda name: (-counts[name], name))
    text = ", ".join(f"{n} ({counts[n]})" if counts[n] > 1 else n for n in listed[:_LISTED])
    if len(listed) > _LISTED:
        text += f" and {len(listed) - _LISTED:,} other names"
    if len(pattern) > _LONGEST_NAME:
        text += f"; the kernel keeps {_LONGEST_NAME} bytes of a name"
    return f"the names are {text}"


def _others(whole: Recording, numbers: set[int]) -> frozenset[int]:
    """All numbers except these, including those of threads that only ticks and samples know."""
    found = {each.tid for each in whole.threads.values()}
    found |= {each.tid for each in whole.samples}
    found |= {glance.tid for tick in whole.ticks for glance in tick.glances}
    return frozenset(found - numbers)


class _Lives:
    """The lives of threads whose numbers other threads, now left out, also had."""

    def __init__(self, kept: Iterable[Thread], every: Iterable[Thread]) -> None:
        number = Counter(each.tid for each in every)
        self._lives: dict[int, list[Thread]] = defaultdict(list)
        for thread in kept:
            if number[thread.tid] > 1:
                self._lives[thread.tid].append(thread)

    def had(self, sample: Sample) -> bool:
        """Whether the sample is of a thread that was kept."""
        return self._has(sample.tid, sample.at_ns)

    def known(self, tick: Tick) -> Tick:
        """The tick with the threads that were kept."""
        if not self._lives:
            return tick
        return replace(tick, glances=tuple(g for g in tick.glances if self._has(g.tid, tick.at_ns)))

    def _has(self, tid: int, at_ns: int) -> bool:
        lives = self._lives.get(tid)
        return lives is None or any(t.began_ns <= at_ns <= t.ended_ns for t in lives)


class Range(Protocol):
    """Some of the time of a record."""

    @property
    def began_ns(self) -> int:
        """Its beginning."""

    @property
    def ended_ns(self) -> int:
        """Its end."""

    def share(self, began_ns: int, ended_ns: int) -> float:
        """Of a stretch of time, how much of it lies in the range."""


def times(alive: Mapping[int, Thread], ticks: Iterable[Tick], span: Range) -> dict[int, Thread]:
    """Each thread with its life, run and ready time in the range. The run time of a thread between
    two ticks is spread evenly."""
    keys: dict[int, list[int]] = {}
    for key, thread in alive.items():
        keys.setdefault(thread.tid, []).append(key)
    last = {key: thread.began_ns for key, thread in alive.items()}
    left = {key: [thread.run_ns, thread.ready_ns] for key, thread in alive.items()}
    inside = {key: [0.0, 0.0] for key in alive}

    def add(key: int, until_ns: int, run_ns: int, ready_ns: int) -> None:
        share = span.share(last[key], until_ns)
        for number, ns in enumerate((run_ns, ready_ns)):
            inside[key][number] += ns * share
            left[key][number] -= ns
        last[key] = max(last[key], until_ns)

    for tick in ticks:
        for glance in tick.glances:
            met = _alive_at(keys.get(glance.tid, ()), alive, tick.at_ns)
            if met is not None:
                add(met, tick.at_ns, glance.run_ns, glance.ready_ns)
    found = {}
    for key, thread in alive.items():
        add(key, thread.ended_ns, max(0, left[key][0]), max(0, left[key][1]))
        found[key] = replace(
            thread,
            began_ns=max(thread.began_ns, span.began_ns),
            ended_ns=min(thread.ended_ns, span.ended_ns),
            run_ns=round(inside[key][0]),
            ready_ns=round(inside[key][1]),
            whole_ns=thread.life_ns,
        )
    return found


def _alive_at(keys: Iterable[int], alive: Mapping[int, Thread], at_ns: int) -> int | None:
    """The last thread with a number that was born before a moment."""
    born = [(alive[key].began_ns, key) for key in keys if alive[key].began_ns <= at_ns]
    return max(born)[1] if born else None


def _ticks(ticks: Iterable[Tick], span: _Span) -> Iterable[Tick]:
    """The ticks in the range. The first one also covers time before the range."""
    before = span.origin_ns
    for tick in ticks:
        if span.has(tick.at_ns):
            share = span.share(before, tick.at_ns) if before < span.began_ns else 1.0
            yield tick if share == 1.0 else _shortened(tick, share)
        before = tick.at_ns


def _shortened(tick: Tick, share: float) -> Tick:
    def part(glance: Glance) -> Glance:
        run, ready = round(glance.run_ns * share), round(glance.ready_ns * share)
        return replace(glance, run_ns=run, ready_ns=ready)

    return replace(tick, glances=tuple(part(each) for each in tick.glances))

"""Reads a record: JSON lines, with unknown keys ignored and types strict."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from threadmark.kinds.explain.analysis.lines import Line
from threadmark.kinds.explain.analysis.recording import (
    Code,
    Glance,
    Hold,
    Module,
    Pair,
    Recording,
    Sample,
    Symbol,
    Thing,
    Thread,
    Tick,
    Total,
    Wake,
    Written,
)
from threadmark.model.errors import LabError

VERSION = 1


def read(lines: Iterable[str | bytes]) -> Recording:
    """A record from its JSON lines. LabError with one sentence for other text. A missing end, or
    parts that do not fit together, become sentences in `limits`."""
    head: Line | None = None
    found: dict[str, list[Line]] = {}
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or not isinstance(fields.get("kind"), str):
            if head is None:
                raise LabError(
                    "This is not a record of explain: its first line is no JSON object with a kind."
                )
            found.setdefault("damaged", []).append(Line(number, {}))
            continue
        line = Line(number, fields)
        if head is None:
            head = _head(line)
        else:
            found.setdefault(fields["kind"], []).append(line)
    if head is None:
        raise LabError("This is not a record of explain: it is empty.")
    return _whole(head, found)


def _head(line: Line) -> Line:
    if line.fields["kind"] != "record":
        raise LabError("This is not a record of explain: its first line is not of kind 'record'.")
    if line.whole("version") != VERSION:
        raise LabError(
            f"This record has version {line.whole('version')}, and this Threadmark reads version "
            f"{VERSION}; update this checkout (git pull) or record the program again."
        )
    return line


def _whole(head: Line, found: Mapping[str, list[Line]]) -> Recording:
    def all_of(kind: str) -> list[Line]:
        return found.get(kind, [])

    limits = list(head.texts("limits"))
    damaged = len(all_of("damaged"))
    if damaged:
        limits.append(f"{damaged} lines of the record are damaged and were left out.")
    whole = bool(all_of("end")) and head.fields.get("complete") is not False
    if not whole:
        limits.append("The record ends before the program did; what came later is not known.")
    for table, count in head.table("lost").items():
        if isinstance(count, int) and count > 0:
            limits.append(f"{count} {table} did not fit into the agent's table and are missing.")
    ticks = tuple(sorted((_tick(each) for each in all_of("tick")), key=lambda tick: tick.at_ns))
    began, ended = head.when("began_ns"), head.when("ended_ns")
    if not whole:  # head, tables and ticks are of different moments
        lives = (each.when("ended_ns") for each in all_of("thread"))
        ended = max(ended, began, *(tick.at_ns for tick in ticks), *lives)
    threads = _by_key([_thread(each, began, ended) for each in all_of("thread")])
    samples = all_of("sample")
    return Recording(
        command=head.texts("command"),
        pid=head.whole("pid", 0),
        began_ns=began,
        ended_ns=ended,
        exit_status=head.whole("exit_status", 0),
        signal=head.whole("signal", 0),
        tier=head.table("tier"),
        processors=max(1, head.whole("processors", 1)),
        cpus=head.wholes("cpus"),
        tick_ns=max(1, head.whole("tick_ns", 4_000_000)),
        limits=tuple(dict.fromkeys(limits)),
        agent_ns=head.when("agent_ns"),
        steal_ns=head.when("steal_ns"),
        machine=head.table("machine"),
        alone=_alone(head.table("machine").get("contention")),
        modules={each.whole("id"): _module(each) for each in all_of("module")},
        stacks={each.whole("id"): _frames(each) for each in all_of("stack")},
        exact=frozenset(e.whole("id") for e in all_of("stack") if e.fields.get("exact") is True),
        threads=threads,
        things={each.whole("id"): _thing(each) for each in all_of("object")},
        pairs=tuple(_pair(each) for each in all_of("pair")),
        holds=tuple(_hold(each) for each in all_of("hold")),
        samples=tuple(_sample(e) for e in samples if e.fields.get("switch") is not True),
        switches=tuple(_sample(e) for e in samples if e.fields.get("switch") is True),
        ticks=ticks,
        wakes=tuple(_wake(each) for each in all_of("wake")),
        files=tuple(_file(each) for each in all_of("file")),
        symbols=tuple(_symbol(each) for each in all_of("symbol")),
        code=tuple(_code(each) for each in all_of("code")),
    )


def _alone(costs: object) -> dict[str, float]:
    """By operation, its cost alone as a part of its cost when all threads use one cache line."""
    found = {}
    for name, pair in costs.items() if isinstance(costs, dict) else ():
        whole = isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, int) for n in pair)
        if whole and pair[0] > 0 and pair[1] > 0:
            found[str(name)] = min(1.0, pair[0] / pair[1])
    return found


def _by_key(found: Sequence[Thread]) -> dict[int, Thread]:
    """Threads by number. A number that the kernel reused, or that a program kept when it executed
    another program, is several threads: the longest gets the number, to which ticks and samples
    belong. The other threads get made-up keys."""
    longest: dict[int, Thread] = {}
    for each in found:
        if each.tid not in longest or each.life_ns > longest[each.tid].life_ns:
            longest[each.tid] = each
    threads: dict[int, Thread] = {}
    for each in found:
        key = each.tid
        while key in threads or (key == each.tid and longest[key] is not each):
            key += 1 << 32
        threads[key] = each
    return threads


def _module(line: Line) -> Module:
    bias = line.fields.get("bias")
    return Module(
        line.text("path", ""),
        line.text("build_id", ""),
        line.when("low"),
        line.when("high"),
        line.when("offset"),
        None if bias is None else line.whole("bias"),
    )


def _symbol(line: Line) -> Symbol:
    data = line.fields.get("data") is True
    address, size = line.when("address"), line.when("size")
    return Symbol(line.whole("module"), address, size, data, line.text("name"))


def _code(line: Line) -> Code:
    try:
        content = bytes.fromhex(line.text("bytes"))
    except ValueError:
        line.wrong("bytes", "hexadecimal digits")
    return Code(line.whole("module"), line.when("address"), content)


def _frames(line: Line) -> tuple[tuple[int, int], ...]:
    found = []
    for each in line.items("frames"):
        if not isinstance(each, list) or len(each) != 2:
            line.wrong("frames", "a list of pairs")
        found.append((line.as_whole("frames", each[0]), line.as_whole("frames", each[1])))
    return tuple(found)


def _thread(line: Line, began: int, ended: int) -> Thread:
    totals = {}
    for activity, total in line.table("totals").items():
        if not isinstance(total, dict):
            line.wrong("totals", "an object of objects")
        ns = line.as_whole("totals", total.get("ns", 0))
        totals[activity] = Total(max(0, ns), max(0, line.as_whole("totals", total.get("times", 0))))
    birth = line.when("began_ns") or began
    return Thread(
        tid=line.whole("tid"),
        name=line.text("name", ""),
        maker=line.whole("maker", 0),
        made_at=line.when("made_at"),
        began_ns=birth,
        ended_ns=max(birth, line.when("ended_ns") or ended),
        run_ns=line.when("run_ns"),
        ready_ns=line.when("ready_ns"),
        totals=totals,
        allowed=line.wholes("allowed"),
        process=line.when("process"),
    )


def _thing(line: Line) -> Thing:
    return Thing(
        id=line.whole("id"),
        what=line.text("what"),
        kind=line.text("type", ""),
        region=line.text("region", ""),
        sampled=line.fields.get("sampled") is True, shared=line.fields.get("shared") is True,
        **{name: line.when(name) for name in _COUNTS_OF_THINGS},
    )  # fmt: skip


_COUNTS_OF_THINGS = (
    "address", "module", "offset", "made_at", "waits", "wait_ns", "longest_ns", "holds", "hold_ns",
    "signals", "broadcasts", "signal_stack", "mutex", "futile",
)  # fmt: skip


def _pair(line: Line) -> Pair:
    waiter, holder, *counts = map(line.when, ("waiter", "holder", "waits", "wait_ns"))
    activity = line.text("activity")
    parties = (waiter, 0, *counts, holder) if activity == "io" else (waiter, holder, *counts)
    return Pair(line.whole("object"), activity, *parties)


def _hold(line: Line) -> Hold:
    return Hold(*[line.when(name) for name in ("object", "stack", "holds", "hold_ns", "blamed_ns")])


def _sample(line: Line) -> Sample:
    registers = line.table("registers")
    values = {name: line.as_whole("registers", value) for name, value in registers.items()}
    return Sample(
        line.whole("tid"),
        line.when("at_ns"),
        line.when("stack"),
        values,
        kernel=line.fields.get("kernel") is True,
        weight=max(1, line.whole("weight", 1)),
        entry=line.text("entry", ""),
        preempted=line.fields.get("preempted") is True,
        sleeps_in=line.text("sleeps_in", ""),
    )


def _tick(line: Line) -> Tick:
    glances = []
    for each in line.items("threads"):
        if not isinstance(each, list) or len(each) < 9:
            line.wrong("threads", "a list of nine")
        tid, activity, thing, stack, awaited, state, call, run, ready = each[:9]
        if not isinstance(activity, str) or not isinstance(state, str):
            line.wrong("threads", "a list with texts for activity and state")

        def whole(value: object) -> int:
            return line.as_whole("threads", value)

        glances.append(
            Glance(
                tid=whole(tid),
                activity=activity,
                thing=whole(thing),
                stack=whole(stack),
                awaited=whole(awaited),
                state=state[:1],
                call=whole(call),
                run_ns=max(0, whole(run)),
                ready_ns=max(0, whole(ready)),
            )
        )
    return Tick(line.when("at_ns"), tuple(glances))


def _wake(line: Line) -> Wake:
    return Wake(
        line.whole("tid"),
        line.when("at_ns"),
        line.when("stack"),
        line.whole("woken"),
        max(1, line.whole("weight", 1)),
        line.when("object"),
    )


def _file(line: Line) -> Written:
    return Written(
        line.whole("tid", 0),
        line.text("path"),
        line.when("writes"),
        line.when("bytes"),
        line.when("ns"),
        line.when("object"),
    )

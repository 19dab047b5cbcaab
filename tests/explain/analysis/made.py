"""Made-up records: threads with activities over time, written as functions and numbers.

A stack is a text, innermost function first: 'malloc@libc grow worker'. A name with '@' is a
function of that library; all others are functions of the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from threadmark.fixes import choosing
from threadmark.kinds.explain.analysis import reading
from threadmark.kinds.explain.analysis.answer import analyse
from threadmark.kinds.explain.analysis.frames import Frame
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.analysis.part import cut
from threadmark.kinds.explain.analysis.recording import WHOLE, Part, Recording
from threadmark.kinds.explain.knowledge import knowledge

MS = 1_000_000
TICK = 4 * MS
MAIN = 100
Doing = tuple[str, int, str, int, str, int]  # activity, object, stack, awaited, state, system call


def works() -> Doing:
    """The thread runs."""
    return "running", 0, "", 0, "R", -1


def ready() -> Doing:
    """The thread is ready, without a processor."""
    return "running", 0, "", 0, "r", -1


def queued() -> Doing:
    """The thread is ready, and the kernel counts that time when the thread next works."""
    return "running", 0, "", 0, "q", -1


def waits(activity: str, thing: int = 0, stack: str = "", awaited: int = 0) -> Doing:
    """The thread waits in a way that the agent sees."""
    return activity, thing, stack, awaited, "S", 202


def sleeps(call: int, stack: str = "", state: str = "S") -> Doing:
    """The thread is blocked, and the agent does not know."""
    return "running", 0, stack, 0, state, call


def estimate(cause: Mapping[str, Any]) -> float:
    """A cause's bound without the allowance for errors of samples and ticks."""
    return 1 / (1 / cause["bound"] + 0.02)


def _booked(plan: Sequence[Doing | None], at: int) -> int:
    """The number of ticks before this one for which the thread was queued."""
    before = at
    while before and (plan[before - 1] or works())[4] == "q":
        before -= 1
    return at - before


class Names:
    """The symbols of the made-up stacks."""

    def __init__(self, stacks: Mapping[str, int], data: Mapping[tuple[int, int], Any]) -> None:
        self._stacks = {number: text for text, number in stacks.items()}
        self._data = data
        self.operands: dict[int, Operand] = {}
        self.writes: dict[int, tuple[Operand, ...]] = {}
        self.members: dict[tuple[int, str], tuple[str, str]] = {}
        self.texts: dict[int, str] = {}
        self.retries: set[int] = set()
        self.lineless: set[str] = set()
        self.beside: dict[int, frozenset[str]] = {}
        self.code: dict[int, tuple[str, ...]] = {}

    def frames(self, stack: int, exact: bool = False) -> tuple[Frame, ...]:
        found = []
        for word in self._stacks.get(stack, "").split():
            name, at, library = re.sub("(?<!::)~", " ", word).partition("@")
            module = f"{library}.so" if at else "prog"
            where = f"{module}+0x1" if at or name in self.lineless else f"{name}.cpp:1"
            found.append(Frame(name, where, module, own=not at))
        return tuple(found)

    def datum(self, module: int, address: int) -> tuple[str, str] | None:
        return self._data.get((module, address))

    def member_at_call(self, stack: int, kind: str, region: str = "") -> tuple[str, str] | None:
        return self.members.get((stack, kind))

    def retried(self, module: int, address: int) -> bool:
        return address in self.retries

    def instruction(self, module: int, address: int) -> tuple[str, str]:
        return f"{module}+{address:#x}", "nop"

    def before(self, module: int, address: int) -> str:
        return self.texts.get(address, "")

    def awaited(self, stack: int) -> tuple[str, str] | None:
        return self.members.get((stack, "awaited"))

    def near(self, stack: int, reach: int = 0) -> frozenset[str]:
        return self.beside.get(stack, frozenset())

    def doing(self, stack: int) -> tuple[str, ...]:
        return self.code.get(stack, ())

    def operand(self, module: int, address: int) -> Operand | None:
        return self.operands.get(address)

    def written_next(self, module: int, address: int) -> tuple[Operand, ...]:
        return self.writes.get(address, ())


@dataclass
class Made:
    """A record under construction. In each tick a thread does its entry of `plan`."""

    processors: int = 2
    ticks: int = 100
    head: dict[str, Any] = field(default_factory=dict)
    lines: list[dict[str, Any]] = field(default_factory=list)
    stacks: dict[str, int] = field(default_factory=dict)
    data: dict[tuple[int, int], Any] = field(default_factory=dict)
    plans: dict[int, Sequence[Doing | None]] = field(default_factory=dict)
    threads: dict[int, dict[str, Any]] = field(default_factory=dict)
    operands: dict[int, Operand] = field(default_factory=dict)
    writes: dict[int, tuple[Operand, ...]] = field(default_factory=dict)  # soon after an address
    retries: set[int] = field(default_factory=set)  # stacks of an exchange that retries
    lineless: set[str] = field(default_factory=set)  # functions without debug information
    members: dict[tuple[int, str], tuple[str, str]] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)  # of instructions before addresses
    beside: dict[int, frozenset[str]] = field(default_factory=dict)
    code: dict[int, tuple[str, ...]] = field(default_factory=dict)  # of stacks

    def stack(self, text: str) -> int:
        return self.stacks.setdefault(text, len(self.stacks) + 1) if text else 0

    def thread(
        self, tid: int, plan: Sequence[Doing | None] | Doing, made: str = "", **more: Any
    ) -> Made:
        """Add a thread. None in its plan: the thread does not exist in that tick."""
        whole = [plan] * self.ticks if isinstance(plan, tuple) else list(plan)
        self.plans[tid] = (whole * (1 + self.ticks // len(whole)))[: self.ticks]
        self.threads[tid] = {"maker": MAIN if tid != MAIN else 1, "made": made, **more}
        return self

    def thing(self, number: int, what: str, **fields: Any) -> Made:
        for key in ("made_at", "signal_stack"):
            if key in fields:
                fields[key] = self.stack(fields[key])
        self.lines.append({"kind": "object", "id": number, "what": what, **fields})
        return self

    def hold(self, thing: int, stack: str, holds: int, ns: int) -> Made:
        fields = {"object": thing, "stack": self.stack(stack), "holds": holds, "hold_ns": ns}
        self.lines.append({"kind": "hold", **fields, "blamed_ns": ns})
        return self

    def pair(self, thing: int, activity: str, waiter: str, holder: str, ns: int) -> Made:
        stacks = {"waiter": self.stack(waiter), "holder": self.stack(holder)}
        fields = {"object": thing, "activity": activity, **stacks, "waits": 10, "wait_ns": ns}
        self.lines.append({"kind": "pair", **fields})
        return self

    def sample(self, tid: int, stack: str, times: int = 1, **registers: int) -> Made:
        return self.look(tid, stack, times, registers=registers)

    def look(self, tid: int, stack: str, times: int = 1, **more: Any) -> Made:
        """Add samples with other keys than registers, such as `switch`, a millisecond apart."""
        for number in range(times):
            fields = {"tid": tid, "at_ns": number * MS, "stack": self.stack(stack)}
            self.lines.append({"kind": "sample", **fields, "registers": {}, **more})
        return self

    def line(self, **fields: Any) -> Made:
        self.lines.append(fields)
        return self

    def records(self) -> list[dict[str, Any]]:
        """The lines of the record, as values."""
        end = self.ticks * TICK
        head = {
            "kind": "record", "version": 1, "command": ["./prog"], "pid": MAIN, "began_ns": 0,
            "ended_ns": end, "exit_status": 0, "signal": 0, "complete": True,
            "tier": {"agent": True, "perf": True, "perf_kernel": True, "sample_ns": 2 * MS},
            "processors": self.processors, "cpus": list(range(self.processors)),
            "tick_ns": TICK, "limits": [], **self.head,
        }  # fmt: skip
        ticks = [self._tick(at) for at in range(self.ticks)]
        threads = [self._thread(tid) for tid in self.plans]
        stacks = [
            {"kind": "stack", "id": number, "frames": [[1, number]]}
            for number in self.stacks.values()
        ]
        pairs = [each for each in self.lines if each["kind"] == "pair"]
        if not pairs:
            pairs = self._pairs()
        others = [each for each in self.lines if each["kind"] != "pair"]
        return [head, *stacks, *threads, *others, *pairs, *ticks, {"kind": "end"}]

    def _tick(self, at: int) -> dict[str, Any]:
        threads = []
        for tid, plan in self.plans.items():
            doing = plan[at]
            if doing is None:
                continue
            activity, thing, stack, awaited, state, call = doing
            run = TICK if state == "R" else 0
            delay = TICK * (_booked(plan, at) if state == "R" else state == "r")
            kernel = "R" if state in "rq" else state
            threads.append(
                [tid, activity, thing, self.stack(stack), awaited, kernel, call, run, delay]
            )
        return {"kind": "tick", "at_ns": (at + 1) * TICK, "threads": threads}

    def _thread(self, tid: int) -> dict[str, Any]:
        plan = self.plans[tid]
        alive = [at for at, doing in enumerate(plan) if doing is not None]
        totals: dict[str, dict[str, int]] = {}
        for doing in filter(None, plan):
            if doing[0] != "running":
                total = totals.setdefault(doing[0], {"ns": 0, "times": 0})
                total["ns"] += TICK
                total["times"] += 1
        states = [doing[4] for doing in plan if doing is not None]
        late = sum(_booked(plan, at) for at in alive if (plan[at] or works())[4] == "R")
        more = dict(self.threads[tid])
        return {
            "kind": "thread", "tid": tid, "name": "", "maker": more.pop("maker"),
            "made_at": self.stack(more.pop("made")), "began_ns": min(alive, default=0) * TICK,
            "ended_ns": (max(alive, default=0) + 1) * TICK, "run_ns": states.count("R") * TICK,
            "ready_ns": (states.count("r") + late) * TICK, "totals": totals, **more,
        }  # fmt: skip

    def _pairs(self) -> list[dict[str, Any]]:
        """One line for each object, activity and stack of a wait."""
        found: dict[tuple[int, str, int], int] = {}
        for plan in self.plans.values():
            for doing in filter(None, plan):
                if doing[0] != "running" and (doing[1] or doing[2]):
                    key = (doing[1], doing[0], self.stack(doing[2]))
                    found[key] = found.get(key, 0) + 1
        return [
            {"kind": "pair", "object": thing, "activity": activity, "waiter": stack, "holder": 0,
             "waits": count, "wait_ns": count * TICK}
            for (thing, activity, stack), count in found.items()
        ]  # fmt: skip

    def text(self) -> list[str]:
        """The lines of the record, as JSON."""
        return [json.dumps(each) for each in self.records()]

    def read(self, part: Part = WHOLE) -> tuple[Recording, Names]:
        """The record, as the analysis takes it, and its symbols."""
        recording = cut(reading.read(self.text()), part)
        names = Names(self.stacks, self.data)
        names.operands, names.writes = self.operands, self.writes
        names.retries = self.retries
        names.lineless = self.lineless
        names.members = self.members
        names.texts, names.beside, names.code = self.texts, self.beside, self.code
        return recording, names

    def analysed(self, part: Part = WHOLE) -> tuple[dict[str, Any], dict[str, Any]]:
        """The document and its details."""
        return analyse(*self.read(part), knowledge(), choosing.helping)

    def answer(self, part: Part = WHOLE) -> dict[str, Any]:
        """The document of the contract."""
        return self.analysed(part)[0]

    def first(self, part: Part = WHOLE) -> dict[str, Any]:
        """The first cause of the document."""
        cause: dict[str, Any] = self.answer(part)["causes"][0]
        return cause

"""The answer of a comparison: the document of the run with most threads, judged by the cost of the
same work with one thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from threadmark.kinds.explain.analysis.alone import LEAST_ALONE
from threadmark.kinds.explain.analysis.bounds import at_most
from threadmark.kinds.explain.analysis.cause import LEAST
from threadmark.kinds.explain.analysis.growth import Grown, grown
from threadmark.kinds.explain.analysis.overlap import kept_apart, same_threads
from threadmark.kinds.explain.analysis.paired_runs import Rounds, limits, record, stacks_of
from threadmark.kinds.explain.analysis.per_unit import Run
from threadmark.kinds.explain.analysis.queues import in_order
from threadmark.kinds.explain.analysis.sharing import Sharing, Use
from threadmark.kinds.explain.analysis.spots import COMPARE

EFFICIENT = 0.9  # speed-up by threads: nothing is lost
_SURELY = 0.8  # in each round
_APART = 2.0  # times a known cause of the category: it is another one
_FLAT = 1.1  # times the cost with one thread
_EXPLAINS = 0.5  # of the loss
_NOT_MUCH = 0.25  # of the speed-up
_SAME_CODE = 0.5  # of the time with many threads
_WHOLE = 0.9  # times as many threads, times as much time: no thread takes work off another
_IDLE = 0.5  # of the idle part of the last run
_FULL = 0.75  # of the processors available to the threads
_LOCAL = (  # their cost does not depend on the division of the work
    "mutex", "rwlock", "spin", "atomic", "false_sharing", "allocator", "stdio", "loader", "io",
    "sleep", "kernel_memory", "once",
)  # fmt: skip


def contrast(
    document: dict[str, Any],
    details: dict[str, Any],
    *,
    alone: Mapping[str, Any],
    sharing: Sharing,
    rounds: Rounds,
) -> None:
    """Judge `document` and its details. `alone`: the document of a run with one thread."""
    growth = grown(rounds.one, rounds.many)
    speedup = rounds.speedup(rounds.most)
    document["speedup"] = round(speedup.estimate, 4)
    document["speedup_interval"] = limits(speedup)
    document["limits"] += filter(None, [rounds.slowed])
    details["differential"] = {"stacks": stacks_of(rounds)}
    causes: list[dict[str, Any]] = document["causes"]
    apart = kept_apart(rounds.one, rounds.many, causes)
    unjudged = apart or same_threads(rounds.one, rounds.many)
    document["differential"] = {**record(rounds, growth), "unjudged": unjudged}
    if unjudged:
        document["limits"].insert(0, unjudged)
        for cause in causes:
            cause["certain"] &= not apart or cause["category"] in ("affinity", "run_queue")
        return
    if speedup.estimate >= EFFICIENT * rounds.most:
        document["causes"] = [_none(rounds)]
        return
    _Judge(document, alone, sharing, rounds, growth).judge()


def _none(rounds: Rounds, *, certain: bool | None = None) -> dict[str, Any]:
    ratios = [a.time_ns / b.time_ns for a, b in zip(rounds.one, rounds.many, strict=True)]
    if certain is None:
        certain = len(ratios) > 1 and min(ratios) >= _SURELY * rounds.most
    words = f"The program scales on this machine: it is {rounds.words}."
    return _cause("none", words=words, certain=certain)


def _cause(category: str, **fields: Any) -> dict[str, Any]:
    return {
        "category": category, "share": 0.0, "certain": False, "name": "", "where": "", "words": "",
        "waits": 0, "wait_us": None, "bound": None, "knowledge": None, "holders": [],
        "waiters": [], **fields,
    }  # fmt: skip


def _is_suspected(cause: Mapping[str, Any]) -> bool:
    """Whether only the comparison tells how much the cause costs."""
    of_many = cause["category"] == "atomic" and COMPARE in cause["words"]
    return not cause["certain"] and (cause["category"] == "false_sharing" or of_many)


class _Judge:
    """Judges the causes of a run whose threads lose time."""

    def __init__(
        self,
        document: dict[str, Any],
        alone: Mapping[str, Any],
        sharing: Sharing,
        rounds: Rounds,
        growth: Sequence[Grown],
    ) -> None:
        self._document = document
        self._alone = alone
        self._sharing = sharing
        self._rounds = rounds
        self._run = rounds.many[-1]
        self._lost = 1 - rounds.recorded_speedup / rounds.most
        self._growth = growth
        self._uses: dict[tuple[str, str], list[tuple[Grown, Use]]] = defaultdict(list)
        for each in growth:
            use = sharing.use(each.place)
            if use.category or not each.place.sort:
                shared = use.name if use.category == "false_sharing" else ""
                self._uses[use.category, shared].append((each, use))

    def judge(self) -> None:
        """Confirm, refute, add and order."""
        single: list[dict[str, Any]] = self._document["causes"]
        causes = [c for c in single if c["category"] not in ("none", "unknown")]
        # The single run only suspects some of them; the growth proves these.
        causes = [c for c in causes if not _is_suspected(c) or self._is_proven(c)]
        live = [cause for cause in causes if not self._is_flat(cause)]
        flat = [cause for cause in causes if cause not in live]
        for cause in live:
            self._confirm(cause)
            if cause["category"] == "imbalance" and self._is_of_one_round():
                cause["certain"] = False
                cause["words"] += "; in other rounds the threads ended nearly together"
        known: dict[str, float] = defaultdict(float)
        for cause in causes:
            known[cause["category"]] += cause["share"]
        for (category, _), found in self._uses.items():
            grown = self._of_growth(category, found)
            live += [each for each in grown if each["share"] > _APART * known[category]]
        # Shares are of the time of all threads, including a thread that only awaits the others.
        times = self._document["thread_s"] / (self._rounds.most * self._document["wall_s"])
        if times * sum(cause["share"] for cause in live) < _EXPLAINS * self._lost:
            for cause in live:
                cause["certain"] = False
                cause["words"] += "; it explains only a part of what the threads lose"
            unknown = [cause for cause in single if cause["category"] == "unknown"]
            live += self._serial() or unknown
        live.sort(key=lambda cause: -cause["share"])
        order = in_order([(each["category"], each["share"], each["bound"]) for each in live])
        live = [live[place] for place in order]
        causes = [*live, *flat]
        if not live or live[0]["share"] < LEAST:
            causes = [*self._nothing(flat), *flat, *live]
        # A program that scales has no other cause.
        none = [cause for cause in causes if cause["category"] == "none"]
        self._document["causes"] = none or causes

    def _is_proven(self, cause: dict[str, Any]) -> bool:
        """Whether the atomics of many objects take more time with more threads."""
        grown_ns = sum(
            each.excess_ns
            for (category, _), found in self._uses.items()
            if category == "atomic"
            for each, _ in found
        )
        cause["certain"] = cause["category"] == "atomic" and self._share(grown_ns) >= LEAST
        return bool(cause["certain"])

    def _share(self, excess_ns: float) -> float:
        """Nanoseconds per unit of work as a share of thread time."""
        whole: float = self._document["thread_s"] * 1e9 / self._run.units
        return round(min(1.0, excess_ns / whole), 4) if whole else 0.0

    def _bound(self, excess_ns: float) -> float:
        """The bound of the gain: the threads share the excess."""
        time: float = self._run.recorded_ns
        return round(at_most(time, time - excess_ns / self._rounds.most), 2)

    def _of_growth(self, category: str, found: list[tuple[Grown, Use]]) -> list[dict[str, Any]]:
        excess = sum(each.excess_ns for each, _ in found)
        if self._share(excess) < LEAST:
            return []
        first, use = found[0]
        functions = sorted({each.place.function for each, _ in found[:3]})
        grows = f"{', '.join(functions)} take{'s' * (len(functions) == 1)} "
        grows += _times(first, self._rounds.most)
        certain = all(use.certain for _, use in found)
        words = {
            "false_sharing": f"threads use different words of one cache line; {grows}",
            "memory_bandwidth": f"threads wait for the bandwidth of memory; {grows}",
            "": f"{grows}, and neither a shared line nor much memory was seen there",
        }.get(category, f"growth with threads; {grows}")
        if category == "memory_bandwidth" and not self._is_full():
            category, certain = "", False
            words += ", but the processors were not in full use"
        elif category == "memory_bandwidth" and not certain:
            words += "; or threads write different words of the same lines (false sharing)"
        if category == "memory_bandwidth" and first.ratio.estimate >= _WHOLE * self._rounds.most:
            certain = False
            words += "; or each thread does the work of all"
        if first.same_code < _SAME_CODE:
            certain = False
            words += (
                "; or the instructions that do this work with one thread are others, and faster"
            )
        waiters = [
            {"share": round(each.excess_ns / excess, 4), "frames": list(each.frames)}
            for each, _ in found[:8]
        ]
        return [_cause(
            category or "unknown", share=self._share(excess), certain=certain,
            name=use.name or first.place.function, where=use.where, words=words,
            bound=self._bound(excess), waiters=waiters,
        )]  # fmt: skip

    def _is_full(self) -> bool:
        """Whether the threads had work for all processors that they could use."""
        return 1 - self._idle(self._run) >= _FULL

    def _idle(self, run: Run) -> float:
        """The part of the processors available to its threads that a run left without work."""
        running = sum(number * share for number, share in enumerate(run.busy))
        return 1 - running / min(self._rounds.most, run.processors)

    def _is_of_one_round(self) -> bool:
        """Whether the threads had work for more processors in most of the other rounds."""
        return median(map(self._idle, self._rounds.many)) < _IDLE * self._idle(self._run)

    def _confirm(self, cause: dict[str, Any]) -> None:
        for (category, name), found in self._uses.items():
            if category == cause["category"] and name in ("", cause["name"]):
                cause["words"] += f"; it takes {_times(found[0][0], self._rounds.most)}"

    def _is_flat(self, cause: dict[str, Any]) -> bool:
        """Whether a cause costs as much with one thread as with many; if so, notes it in the
        cause."""
        if cause["category"] not in _LOCAL:
            return False
        same = [c for c in self._alone["causes"] if c["category"] == cause["category"]]
        named = [c for c in same if c["name"] == cause["name"]] or same
        before = sum(c["share"] for c in named) * self._alone["thread_s"]
        before /= self._rounds.one[-1].units
        after = cause["share"] * self._document["thread_s"] / self._run.units
        if not before or after > _FLAT * before or self._grows(cause):
            return False
        cause["certain"] = False
        cause["words"] += "; it costs as much per unit of work with one thread, so it is not what "
        cause["words"] += "keeps more threads from being faster"
        return True

    def _grows(self, cause: dict[str, Any]) -> bool:
        """Whether a place where threads wait for it took more time in all rounds, whatever two of
        the runs show."""
        waits = {frame for party in cause["waiters"] for frame in party["frames"]}
        return any(
            each.place.sort in ("lock", "kernel")
            and each.frames[:1]
            and each.frames[0] in waits
            and self._share(each.excess_ns) >= LEAST
            for each in self._growth
        )

    def _serial(self) -> list[dict[str, Any]]:
        """The time in which the program has one thread only, if that explains the loss."""
        ns, stacks = self._sharing.alone_ns()
        most = self._rounds.most
        share = ns / max(1, self._run.wall_ns) * (most - 1) / most
        if share < max(LEAST, _EXPLAINS * self._lost):
            return []
        parties = self._sharing.places.stacks.parties(dict(stacks), exact=True)
        holders = [{"share": round(p.share, 4), "frames": list(p.frames)} for p in parties]
        frame = (
            self._sharing.places.stacks.first(
                max(stacks, key=lambda s: (stacks[s], -s)), exact=True
            )
            if stacks
            else None
        )
        part = ns / self._run.wall_ns
        words = f"for {100 * part:.0f} % of the time the program has one thread"
        if part < LEAST_ALONE:
            words += "; or it is the beginning and the end that any program has"
        shortest = self._run.wall_ns - ns * (most - 1) / most
        return [_cause(
            "serial_dependency", share=round(share, 4), certain=part >= LEAST_ALONE, words=words,
            holders=holders, name=frame.name if frame else "", where=frame.where if frame else "",
            bound=round(at_most(self._run.wall_ns, shortest), 2),
        )]  # fmt: skip

    def _nothing(self, flat: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The remaining cause if nothing explains the loss."""
        if flat and flat[0]["share"] >= LEAST:
            return []
        noisy = self._rounds.speedup(self._rounds.most).high >= EFFICIENT * self._rounds.most
        words = f"The program is {self._rounds.words}, and nothing in it costs more with threads."
        if noisy or self._lost < _NOT_MUCH:
            return [_cause("none", words=words)]
        return [_cause("unknown", share=round(self._lost, 4), words=words)]


def _times(found: Grown, threads: int) -> str:
    ratio = found.ratio
    return (
        f"{ratio.estimate:.3g} times as much processor time per unit of work with {threads:,} "
        f"threads as with 1 (95 %: {ratio.low:.3g} to {ratio.high:.3g})"
    )

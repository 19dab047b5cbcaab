"""A comparison: the same program with each number of threads, in turns, each run recorded."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from threadmark.fixes import choosing
from threadmark.kinds.explain import invocation, probe
from threadmark.kinds.explain.analysis.answer import analyse
from threadmark.kinds.explain.analysis.contrast import contrast
from threadmark.kinds.explain.analysis.limit import Limit
from threadmark.kinds.explain.analysis.paired_runs import Rounds
from threadmark.kinds.explain.analysis.per_unit import Run, run_of
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.analysis.sharing import Sharing
from threadmark.kinds.explain.knowledge import knowledge
from threadmark.kinds.explain.output import Output
from threadmark.kinds.explain.repeated_input import RepeatedInput
from threadmark.kinds.explain.symbols import Symbols
from threadmark.kinds.explain.turns import Turns
from threadmark.kinds.explain.worth_trying import worth_trying
from threadmark.machine import host
from threadmark.measure.printed import number
from threadmark.model.errors import LabError
from threadmark.model.workload import PLACE

_ROUNDS = 3
_FEWEST = 2  # that show the difference of like runs
_BUDGET_S = 60.0


def perform(wanted: invocation.Wanted, turns: Turns, store: Path, *, as_json: bool) -> int:
    """Run the comparison and print its answer; returns the exit status."""
    turns.check(wanted)
    for count in turns.counts:
        _with(wanted, count).check()
    given = RepeatedInput()
    with ExitStack() as stack:
        invocation.make_folder(store)
        folder = Path(stack.enter_context(TemporaryDirectory(".tmr", ".explain-", store.parent)))
        session = _Session(wanted, turns, folder, given, apart=as_json)
        session.run()
        recording, found, details = session.answer()
        asked = {"command": list(wanted.words), "threads": list(turns.counts)}
        found["try"] = worth_trying(found, wanted.words, store, turns.options())
        run = invocation.keep(recording, found, details, store, asked)
        kept = invocation.record_path(store, run)
        for count, path in session.paths.items():
            last = count == max(session.paths)
            other = kept.with_name(f"{kept.stem}-threads-{count}{kept.suffix}")
            path.replace(kept if last else other)
    invocation.say(run, found, store, as_json=as_json, record=kept)
    return 0


def _with(wanted: invocation.Wanted, threads: int) -> invocation.Wanted:
    return replace(wanted, words=tuple(word.replace(PLACE, str(threads)) for word in wanted.words))


@dataclass
class _Session:
    """The runs of the comparison."""

    wanted: invocation.Wanted
    turns: Turns
    folder: Path
    given: RepeatedInput
    apart: bool
    paths: dict[int, Path] = field(default_factory=dict)
    recordings: dict[int, Recording] = field(default_factory=dict)
    rounds: list[dict[int, Run]] = field(default_factory=list)
    interrupted: bool = False
    _shown: bool = False

    def run(self) -> None:
        """Make all rounds, or those before an interrupt."""
        began = time.monotonic()
        most = self.turns.rounds or _ROUNDS
        while len(self.rounds) < most and not self.interrupted:
            spent = time.monotonic() - began
            done = len(self.rounds)
            enough = self.turns.rounds is None and done >= _FEWEST
            if enough and spent * (done + 1) / done > _BUDGET_S:
                break
            try:
                found = self._round()
            except KeyboardInterrupt:
                self.interrupted = True
                break
            if len(found) == len(self.turns.counts):
                self.rounds.append(found)

    def answer(self) -> tuple[Recording, dict[str, Any], dict[str, Any]]:
        """The document and details of the run with most threads."""
        if not self.recordings:
            raise LabError("The comparison was interrupted before a run had ended.")
        most = max(self.recordings)
        recording = self.recordings[most]
        symbols = Symbols(recording)
        found, details = analyse(recording, symbols, knowledge(), choosing.helping)
        found["limits"] += [each for each in symbols.limits() if each not in found["limits"]]
        if not self.rounds:
            found["limits"].insert(
                0,
                "The comparison was interrupted before the program had run with each number of "
                f"threads; this answer is of the run with {most:,}.",
            )
            return recording, found, details
        least = self.recordings[min(self.recordings)]
        alone = analyse(least, Symbols(least), knowledge())[0]
        rounds = Rounds({n: [each[n] for each in self.rounds] for n in self.turns.counts})
        sharing = Sharing(recording, symbols, knowledge())
        contrast(found, details, alone=alone, sharing=sharing, rounds=rounds)
        _limit(found, Limit(rounds, alone))
        _doubt_of_cores(found, most, host.processors())
        if self.interrupted:
            found["limits"].insert(0, "The comparison was interrupted; its whole rounds count.")
        return recording, found, details

    def _round(self) -> dict[int, Run]:
        found: dict[int, Run] = {}
        for count in self.turns.counts:
            run = self._one(count)
            if run is None or self.interrupted:
                break
            found[count] = run
        return found

    def _one(self, threads: int) -> Run | None:
        """One run; None if it was interrupted."""
        path = self.folder / "last.tmr"
        echo = not self._shown
        self._shown = True
        since = time.time_ns()
        with Output(echo=echo, apart=self.apart) as output:
            status = probe.record(
                _with(self.wanted, threads).options(),
                path,
                apart=self.apart,
                environment=self._environment(threads),
                output=output,
                stdin=self.given.for_run(),
            )
            self.interrupted |= output.interrupted
            if not path.exists() or path.stat().st_size == 0:
                raise LabError(
                    f"Nothing was recorded with {_threads(threads)} (the recorder's status is "
                    f"{status})."
                )
            recording = probe.load(path)
            if self.interrupted and self.rounds:
                return None
            self.recordings[threads] = recording
            self.paths[threads] = path.replace(self.folder / f"{threads}.tmr")
            if self.interrupted:
                return None
            if not (self.wanted.load or self.wanted.duration):  # a signal ends a server
                self._check(recording.exit_status, recording.signal, threads, output)
            units = self._units(threads, output, since)
        bare_ns = None if self._serves else self._without(threads)
        if self.interrupted:
            return None
        symbols = Symbols(recording)
        return run_of(
            recording, symbols, knowledge(), threads=threads, units=units, bare_ns=bare_ns
        )

    @property
    def _serves(self) -> bool:
        """Whether the recorder ends the program, or ends before it."""
        wanted = self.wanted
        return any((wanted.delay, wanted.duration, wanted.ready, wanted.load, wanted.stop))

    def _without(self, threads: int) -> float:
        """The time per unit of work of a run without the recorder."""
        since = time.time_ns()
        with Output(echo=False, apart=self.apart) as output:
            began = time.perf_counter_ns()
            status = probe.without(
                _with(self.wanted, threads).words,
                environment={**self._environment(threads), **self.wanted.variables},
                output=output,
                stdin=self.given.for_run(),
            )
            took = time.perf_counter_ns() - began
            self.interrupted |= output.interrupted
            if self.interrupted:
                return float(took)
            self._check(max(0, status), max(0, -status), threads, output)
            return took / self._units(threads, output, since)

    def _environment(self, threads: int) -> Mapping[str, str]:
        variable = self.turns.variable
        return os.environ | ({variable: str(threads)} if variable else {})

    def _check(self, status: int, signal: int, threads: int, output: Output) -> None:
        """LabError for a run that failed."""
        if not (status or signal):
            return
        how = f"signal {signal}" if signal else f"exit status {status}"
        said = output.last_words()
        raise LabError(
            f"The program failed with {_threads(threads)} ({how}"
            + (f"; it said: {said}" if said else "")
            + "); a comparison needs runs that succeed."
        )

    def _units(self, threads: int, output: Output, since_ns: int) -> float:
        if self.turns.progress is not None:
            found = output.last_number(re.compile(self.turns.progress))
            if found is None:
                raise LabError(
                    f"--progress '{self.turns.progress}' finds no number above 0 in the output of "
                    f"the program with {_threads(threads)}; try the expression on that output."
                )
            return found
        if self.turns.counter is not None:
            return _counted(self.turns.counter, threads, since_ns)
        return 1.0


def _doubt_of_cores(found: dict[str, Any], threads: int, order: Sequence[host.Processor]) -> None:
    """Say if the threads shared cores: they are slower then, like threads that share memory."""
    cores = host.cores(order)
    if not cores < min(threads, len(order)):
        return
    found["limits"].insert(
        0,
        f"{threads:,} threads had {cores:,} core{'s' * (cores != 1)}. Two threads of one core "
        "share its units, so each is slower than alone; compare fewer threads as well.",
    )
    for cause in found["causes"]:
        if cause["category"] == "memory_bandwidth":
            cause["certain"] = False
            cause["words"] += "; or two threads of one core share its units"


def _limit(found: dict[str, Any], limit: Limit) -> None:
    """Lower the bounds of an answer to what the rounds allow."""
    causes = found["causes"]
    judged = not found["differential"]["unjudged"]
    for cause in causes if judged else []:
        cause["bound"] = limit.lower(cause["bound"], [cause])
    found["fixes"] = choosing.at_least(found["fixes"], causes)
    helped = choosing.helping(causes)
    for fix in found["fixes"] if judged else []:
        helps = [causes[place] for place in helped[fix["name"]]]
        fix["bound"] = limit.lower(fix["bound"], helps)


def _counted(path: Path, threads: int, since_ns: int) -> float:
    """The last number in a file that the run has written."""
    try:
        written = path.stat().st_mtime_ns
        words = path.read_text(encoding="utf-8", errors="replace").split()
    except OSError as error:
        raise LabError(f"{path} of --counter cannot be read ({error.strerror}).") from error
    # The clock of a file system is coarser than that of the lab.
    found = number(words[-1]) if words and written >= since_ns - 20_000_000 else None
    if found is None:
        raise LabError(
            f"The program wrote no number above 0 to {path} with {_threads(threads)}; --counter "
            "names the file in which it leaves the units of work that are done."
        )
    return found


def _threads(count: int) -> str:
    return f"{count:,} thread{'s' * (count != 1)}"

"""One invocation of `explain`: record or take a record, analyse it, keep it, print the answer."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from threadmark.fixes import choosing
from threadmark.kinds.explain import probe
from threadmark.kinds.explain.analysis.answer import analyse
from threadmark.kinds.explain.analysis.part import PartError, cut
from threadmark.kinds.explain.analysis.recording import WHOLE, Part, Recording
from threadmark.kinds.explain.analysis.task_costs import tell
from threadmark.kinds.explain.kind import ANSWER, DETAILS, KIND
from threadmark.kinds.explain.knowledge import knowledge
from threadmark.kinds.explain.output import Output
from threadmark.kinds.explain.symbols import Symbols
from threadmark.kinds.explain.worth_trying import worth_trying
from threadmark.machine import host
from threadmark.model.errors import LabError
from threadmark.model.places import DEFAULT_STORE, hint
from threadmark.model.workload import is_signal
from threadmark.present.terminal import print_table
from threadmark.store.store import Store


@dataclass(frozen=True)
class Wanted:
    """The options of the command line."""

    words: tuple[str, ...]
    pid: int | None = None
    follow: bool = True
    delay: float | None = None
    duration: float | None = None
    ready: str | None = None  # commands of the shell
    load: str | None = None
    stop: str | None = None  # name or number of a signal
    part: Part = WHOLE
    variables: Mapping[str, str] = field(default_factory=dict)  # for the program alone

    @property
    def record(self) -> Path | None:
        """The record to analyse; None if the command makes one."""
        if self.pid is None and len(self.words) == 1 and probe.is_record(Path(self.words[0])):
            return Path(self.words[0])
        return None

    def check(self) -> None:
        """LabError for options that contradict each other."""
        if self.pid is None and not self.words:
            raise LabError("Name a program (./threadmark explain -- ./prog), a record or --pid.")
        if self.words and self.words[0].startswith("-"):
            raise LabError(
                f"explain has no option {self.words[0]}; see ./threadmark explain --help, and "
                "write the program after --."
            )
        if self.words and not self.record:
            self._check_program(self.words[0])
        if self.pid is not None and self.words:
            raise LabError("--pid records a process that runs; give no program.")
        if self.record and (not self.follow or self.delay or self.duration or self._texts):
            raise LabError(
                "--no-follow, --delay, --duration, --ready, --load and --stop are for recording; "
                "leave them out."
            )
        for name, text in self._texts.items():
            if not text.strip() or "\0" in text:
                raise LabError(f"{name} needs a value.")
        if self.stop and self.pid is not None:
            raise LabError("--stop is for a program that explain starts; leave it or --pid out.")
        if self.stop and not self.load and not self.duration:
            raise LabError("--stop needs --load or --duration, after which the signal is sent.")
        if self.stop and not is_signal(self.stop):
            raise LabError(f"There is no signal {self.stop} for --stop; INT is one.")
        for name, value in (("--delay", self.delay), ("--duration", self.duration)):
            if value is not None and not 0 < value < 1e6:
                raise LabError(f"{name} takes a number of seconds above 0.")
        self._check_part()

    def _check_program(self, first: str) -> None:
        if probe.is_record(Path(first)):
            raise LabError(
                f"{first} cannot be executed, so that it can only be a record; give a record alone."
            )
        if shutil.which(first) is None:
            is_record = first.endswith(".tmr")
            what = f"record {first}" if is_record else f"program {first} that can be started"
            raise LabError(f"There is no {what}; check its path.")

    def _check_part(self) -> None:
        begin, end = self.part.from_s, self.part.to_s
        for name, value in (("--from", begin), ("--to", end)):
            if value is not None and not 0 <= value < 1e6:
                raise LabError(f"{name} takes seconds since the recording began, 0 or more.")
        if end is not None and end <= (begin or 0):
            raise LabError(
                f"--to {end:g} is not after --from {begin or 0:g}; give a range that has some time."
            )

    @property
    def _texts(self) -> dict[str, str]:
        given = {"--ready": self.ready, "--load": self.load, "--stop": self.stop}
        return {name: text for name, text in given.items() if text is not None}

    def options(self) -> list[str]:
        """The options for the recorder."""
        found = ["--follow"] if self.follow else []
        for name, value in (("--delay", self.delay), ("--duration", self.duration)):
            found += [name, f"{value:f}"] if value is not None else []
        found += [word for pair in self._texts.items() for word in pair]
        for name, text in self.variables.items():
            found += ["--set", f"{name}={text}"]
        return [*found, "--pid", str(self.pid)] if self.pid is not None else [
            *found, "--", *self.words
        ]  # fmt: skip


def perform(wanted: Wanted, store: Path, *, as_json: bool) -> int:
    """Run the invocation; returns the exit status."""
    wanted.check()
    path = wanted.record
    if path is None:
        with temporary(store) as made:
            status = probe.record(wanted.options(), made, apart=as_json)
            if not made.exists() or made.stat().st_size == 0:
                raise LabError(f"Nothing was recorded (the recorder's status is {status}).")
            number, found, path = _analysed_once(made, store, wanted.part)
    else:
        number, found = analysed(path, store, wanted.part)
    say(number, found, store, as_json=as_json, record=path)
    return 0


def record_path(store: Path, number: int) -> Path:
    """The path of the record of a run: beside its store."""
    name = "" if store.name == DEFAULT_STORE.name else f"{store.name.removesuffix('.db')}-"
    return store.with_name(f"explain-{name}{number}.tmr")


def make_folder(store: Path) -> None:
    """Make the folder of a store and of its records. LabError, before anything runs, if the folder
    or an existing store cannot be used."""
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(
            f"{store.parent} cannot be made ({error.strerror}); name another file with --store."
        ) from error
    if store.exists():
        with Store.open(store, create=False):
            pass


@contextmanager
def temporary(store: Path) -> Iterator[Path]:
    """The path of a record without a number; the file is removed at the end."""
    make_folder(store)
    path = store.with_name(f".explain-{os.getpid()}.tmr")
    try:
        yield path
    finally:
        with suppress(OSError):  # errors of the folder were reported, or do not matter
            path.unlink(missing_ok=True)


@contextmanager
def unseen() -> Iterator[Output]:
    """The output of a program that no user wants to see."""
    with Output(echo=False, apart=True) as output:
        yield output


def _analysed_once(path: Path, store: Path, part: Part) -> tuple[int, dict[str, Any], Path]:
    """Analyse a new record and keep the whole record under the run's number."""
    failed: PartError | None = None
    try:
        number, found = analysed(path, store, part)
    except PartError as error:
        failed = error
        number, found = analysed(path, store, WHOLE)
    record = kept(path, store, number)
    if failed is not None:
        why = str(failed).removesuffix(".")
        raise LabError(f"{why}; run {number} is of the whole record, {record}.")
    return number, found, record


def kept(path: Path, store: Path, number: int) -> Path:
    """Give a record the name of its run."""
    return path.replace(record_path(store, number))


def analysed(
    path: Path,
    store: Path,
    part: Part = WHOLE,
) -> tuple[int, dict[str, Any]]:
    """Analyse a part of a record and keep that as a run; returns its number and its document."""
    return answered(cut(probe.load(path), part), path, store, {}, {})


def answered(
    recording: Recording,
    path: Path,
    store: Path,
    about: Mapping[str, Any],
    asked: Mapping[str, Any],
) -> tuple[int, dict[str, Any]]:
    """The same for a record that was read from `path`. `about` goes into the document, `asked` into
    the request of the run."""
    symbols = Symbols(recording)
    found, details = analyse(recording, symbols, knowledge(), choosing.helping)
    found["limits"] += [each for each in symbols.limits() if each not in found["limits"]]
    tell(found, float(about.get("cell", {}).get("tasks_recorded", 0)))
    found |= about
    if "cell" not in found:
        found["try"] = worth_trying(found, recording.command, store)
    request = {
        "command": list(recording.command),
        "record": path.name,
        "part": found["part"],
        **asked,
    }
    return keep(recording, found, details, store, request), found


def keep(
    recording: Recording,
    found: dict[str, Any],
    details: dict[str, Any],
    store: Path,
    request: Mapping[str, Any],
) -> int:
    """Store a run; returns its number."""
    machine = {
        **recording.machine,
        "processors": recording.processors,
        "tier": dict(recording.tier),
        "commit": host.commit(),
    }
    with Store.open(store, create=True) as opened, opened.at_once():
        number = opened.start_run(KIND.profiles[0], 0, dict(request), machine)
        opened.add_document(number, ANSWER, found)
        opened.add_document(number, DETAILS, details)
        opened.finish(number)
    return number


def say(
    number: int, found: dict[str, Any], store: Path, *, as_json: bool, record: Path | None = None
) -> None:
    """Print a run and the path of its record."""
    with Store.open(store, create=False) as opened:
        stored = opened.load(number)
    if as_json:
        sys.stdout.write(KIND.json(stored, found))
        return
    print_table(Console(), partial(KIND.table, stored, found))
    if found["exit_status"]:
        sys.stdout.write(f"The program's own exit status was {found['exit_status']}.\n")
    where = record or record_path(store, number)
    page = hint(store, "report", number)
    sys.stdout.write(f"Run {number}; record: {where}; page: {page}\n")

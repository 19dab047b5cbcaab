"""Runs a program of the user's own once, as it is or under a setting, and returns its costs.

Its output goes to files, so that only the program works meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Any

from threadmark.machine import load, processes
from threadmark.measure import printed
from threadmark.measure.cage import Cage
from threadmark.measure.process import (
    NotStartedError,
    has_ended,
    how_ended,
    kill_group,
    reap,
    spawned,
)
from threadmark.model.cell import Status
from threadmark.model.errors import LabError

READY_S = 60.0  # longest wait for a server
_ASIDE_S = 120.0  # longest time of a command beside the program
_ENDS_S = 10.0  # longest time of a program to end after its signal
_OUTPUT_BYTES = 1 << 30  # more on stdout or stderr is a fault of the program
_PRINTED = 4096  # bytes to read of a command beside the program
_FIRST_LOOK_S, _LAST_LOOK_S = 0.005, 0.1  # between two looks at a program's memory
_TRIES_S = 0.05  # between two tries of --ready


@dataclass(frozen=True)
class Job:
    """One run. `variables` are for the program alone, beside the environment that the shell
    commands also get. All but the program's own words are shell commands."""

    words: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    prepare: str = ""
    ready: str = ""
    load: str = ""
    stop: int = signal.SIGTERM  # after the load
    check: str = ""
    metric: str = ""
    progress: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Result:
    """The end of a run. `seconds` are for a unit of work, or 1 / the metric."""

    status: Status
    reason: str = ""
    seconds: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)


class _FailedError(Exception):
    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def run(job: Job, environment: Mapping[str, str], cage: Cage, limit_s: float) -> Result:
    """One run; when this returns or raises, no child is left. LabError if --prepare is at fault, or
    if there is nothing to start."""
    with _Files() as files:
        runner = _Run(job, environment, cage, limit_s, files)
        try:
            if job.prepare:
                runner.aside("--prepare", job.prepare)
            seconds = runner.served() if job.load else runner.alone()
            return Result(Status.OK, "", seconds, runner.facts)
        except _FailedError as failed:
            return Result(failed.status, str(failed), None, runner.facts)
        except NotStartedError as error:
            name = job.words[0]
            raise LabError(f"{name} cannot be started ({error}); check its path.") from None
        finally:
            cage.empty()


class _Files:
    """The files of one run: the output of the program and of the load."""

    def __enter__(self) -> _Files:
        # The program and the lab share the position in a file, so all writes append.
        self.out: IO[bytes] = TemporaryFile("a+b")
        self.err: IO[bytes] = TemporaryFile("a+b")
        self.load: IO[bytes] = TemporaryFile("a+b")
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self.out, self.err, self.load):
            each.close()


_Started = AbstractContextManager[tuple[subprocess.Popen[bytes], float]]


@dataclass
class _Run:
    job: Job
    environment: Mapping[str, str]
    cage: Cage
    limit_s: float
    files: _Files
    facts: dict[str, Any] = field(default_factory=dict)
    _peak: int = 0

    def __post_init__(self) -> None:
        self._killed_before = self.cage.memory.events() if self.cage.memory else 0

    def alone(self) -> float:
        """A program that ends by itself."""
        cpus = sorted(os.sched_getaffinity(0))
        before, at, lab_s = load.read(cpus), time.monotonic(), time.process_time()
        with self._program() as (child, began):
            ended = self._wait(child, began + self.limit_s, watched=True)
            wall_s = time.monotonic() - began
            self._ended(child, wall_s)
            own_s = self.facts["cpu_s"] + time.process_time() - lab_s
            seen = load.between(before, load.read(cpus), own_s)
            self.facts |= {
                "others_s": seen.others_s,
                "steal_s": seen.steal_s,
                "watched_s": time.monotonic() - at,
            }
            if not ended:
                raise _FailedError(Status.TIMEOUT, f"it did not end within {self.limit_s:.3g} s")
        self._check_status(child.returncode, self.files.err)
        self.facts["output"] = printed.digest(self.files.out)
        return self._value(wall_s, self.files.out)

    def served(self) -> float:
        """A server under a load."""
        job = self.job
        with self._program() as (child, _):
            self._ready(child)
            with self._shell(job.load, self.files.load) as (asker, began):
                ended = self._wait(asker, began + self.limit_s, watched=False)
                wall_s = time.monotonic() - began
                kill_group(asker.pid)
                reap(asker)
            self._look(child.pid)
            alive = not has_ended(child)
            if alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, job.stop)
                alive = not self._wait(child, time.monotonic() + _ENDS_S, watched=True)
                died = ""
            else:
                died = "it ended before its load had"
            self._ended(child, wall_s)
            if died:
                raise _FailedError(Status.CRASHED, died)
            if not ended:
                why = f"its load did not end within {self.limit_s:.3g} s"
                raise _FailedError(Status.TIMEOUT, why)
            if alive:
                why = f"it did not end within {_ENDS_S:.0f} s of {signal.Signals(job.stop).name}"
                raise _FailedError(Status.TIMEOUT, why)
        if asker.returncode != 0:
            said = printed.said(self.files.load)
            raise _FailedError(Status.CRASHED, f"its load {how_ended(asker.returncode)}{said}")
        if child.returncode < 0 and -child.returncode != job.stop:
            raise _FailedError(Status.CRASHED, f"it {how_ended(child.returncode)}")
        return self._value(wall_s, self.files.load)

    def aside(self, option: str, command: str, stdin: int = subprocess.DEVNULL) -> tuple[int, str]:
        """Run a command beside the program; returns its status and output (for --check its last
        words). LabError if --prepare fails or does not end."""
        with TemporaryFile("a+b") as out:
            with self._shell(command, out, stdin) as (child, _):
                ended = self._wait(child, time.monotonic() + _ASIDE_S, watched=False)
                kill_group(child.pid)
                reap(child)
            if not ended and option == "--prepare":
                raise LabError(f"--prepare did not end within {_ASIDE_S:.0f} s; shorten it.")
            if not ended:  # the program under a setting may be at fault
                raise _FailedError(Status.TIMEOUT, f"{option} did not end within {_ASIDE_S:.0f} s")
            if option == "--prepare" and child.returncode != 0:
                raise LabError(
                    f"--prepare {how_ended(child.returncode)}{printed.said(out)}; correct it."
                )
            if option == "--check":
                return child.returncode, printed.said(out)
            out.seek(0)
            return child.returncode, out.read(_PRINTED).decode("utf-8", "replace")

    def _program(self) -> _Started:
        environment = {**self.environment, **self.job.variables}
        files = (subprocess.DEVNULL, self.files.out.fileno(), self.files.err.fileno())
        return self._started(self.job.words, environment, files)

    def _shell(self, command: str, out: IO[bytes], stdin: int = subprocess.DEVNULL) -> _Started:
        words = ("/bin/sh", "-c", command)
        return self._started(words, self.environment, (stdin, out.fileno(), out.fileno()))

    def _started(
        self, words: Sequence[str], environment: Mapping[str, str], files: tuple[int, int, int]
    ) -> _Started:
        cpus = tuple(sorted(os.sched_getaffinity(0)))
        return spawned(words, self.cage, cpus, self.cage.environment(environment), files)

    def _wait(self, child: subprocess.Popen[bytes], until: float, *, watched: bool) -> bool:
        """Whether the child ended in time. The lab looks at a `watched` child meanwhile."""
        pidfd = os.pidfd_open(child.pid)
        try:
            pause = _FIRST_LOOK_S
            while True:
                left = max(0.0, until - time.monotonic())
                if select.select([pidfd], [], [], min(left, pause) if watched else left)[0]:
                    return True
                if left == 0:
                    return False
                if watched:
                    self._look(child.pid)
                pause = min(_LAST_LOOK_S, pause * 1.5)
        finally:
            os.close(pidfd)

    def _look(self, pid: int) -> None:
        self._peak = max(self._peak, processes.peak_bytes(pid))
        most = self.cage.limits.memory_bytes
        if not self.cage.memory and processes.resident_bytes(pid) > most:
            raise _FailedError(Status.OUT_OF_MEMORY, f"it took more than {most >> 20:,} MiB")
        if max(os.fstat(each.fileno()).st_size for each in (self.files.out, self.files.err)) > (
            _OUTPUT_BYTES
        ):
            raise _FailedError(Status.CRASHED, f"it printed more than {_OUTPUT_BYTES >> 20:,} MiB")

    def _ended(self, child: subprocess.Popen[bytes], wall_s: float) -> None:
        """End the child if it still runs, and keep its use of resources."""
        kill_group(child.pid)
        usage, _ = reap(child)
        self.facts |= {
            "wall_s": wall_s,
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "peak_bytes": self._peak,
        }

    def _ready(self, child: subprocess.Popen[bytes]) -> None:
        if not self.job.ready:
            return
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            if has_ended(child):
                said = printed.said(self.files.err)
                raise _FailedError(Status.CRASHED, f"it ended before it was ready{said}")
            if self.aside("--ready", self.job.ready)[0] == 0:
                return
            time.sleep(_TRIES_S)
        raise _FailedError(Status.TIMEOUT, f"it was not ready within {READY_S:.0f} s")

    def _check_status(self, code: int, errors: IO[bytes]) -> None:
        if code == 0:
            return
        memory = self.cage.memory
        if code == -signal.SIGKILL and memory and memory.events() > self._killed_before:
            raise _FailedError(Status.OUT_OF_MEMORY, "the kernel ended it at its limit of memory")
        raise _FailedError(Status.CRASHED, f"it {how_ended(code)}{printed.said(errors)}")

    def _value(self, wall_s: float, output: IO[bytes]) -> float:
        """Seconds for a unit of work in a run that ended well."""
        job = self.job
        if job.check:
            output.seek(0)
            status, said = self.aside("--check", job.check, output.fileno())
            if status != 0:
                raise _FailedError(Status.WRONG, f"--check refused its output{said}")
        if job.metric:
            output.seek(0)
            status, said = self.aside("--metric", job.metric, output.fileno())
            found = printed.number(said.split()[-1]) if status == 0 and said.split() else None
            if found is None:
                why = "--metric printed no number above 0 for the output of the program or the load"
                raise _FailedError(Status.WRONG, why)
            return 1 / found
        if job.progress is None:
            return wall_s
        units = printed.last_number(output, job.progress)
        if units is None:
            why = f"--progress '{job.progress.pattern}' finds no number above 0 in the output"
            raise _FailedError(Status.WRONG, why)
        self.facts["units"] = units
        return wall_s / units

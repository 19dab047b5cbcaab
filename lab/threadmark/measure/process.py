"""Runs one process in the cage, ends it at its limits, and reports its end. The judgement is in
outcome.py.

Everything happens in the lab's only thread: the kernel reports output and the end through file
descriptors, so nothing runs beside the measured program but a wake-up now and then.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
import selectors
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from threadmark.machine import load, processes
from threadmark.measure.cage import Cage

OUTPUT_BYTES = 8 << 20  # more than this on stdout or stderr is a fault of the program
_ERRORS_KEPT = 4096
_POLL_S = 0.02  # at 4 GB/s a program takes 80 MB between two looks; the limit has room for that
_MOMENT = struct.Struct("d")


@dataclass(frozen=True)
class TimeLimits:
    """Seconds that a process may take as a whole, and until its next output."""

    whole_s: float
    silent_s: float


class Killed(StrEnum):
    """The reason for which the lab ended a program."""

    NO = ""
    TIME = "time"
    MEMORY = "memory"
    OUTPUT = "output"


@dataclass(frozen=True)
class Ending:
    """The end of a process and its use of resources."""

    output: str
    errors: str  # the end of stderr
    exit_code: int | None  # None when a signal ended it
    signal: int | None
    killed: Killed
    wall_s: float
    cpu_s: float
    max_rss_bytes: int
    memory_events: int  # processes that the kernel killed at the memory limit
    thread_events: int  # threads refused by the control group
    load: load.Load  # other load of the processors meanwhile
    not_started: str = ""  # the reason for having no process at all


@dataclass
class _Streams:
    """The output of a running program so far; `heard` gets all of it when it grows."""

    heard: Callable[[bytes], None] | None = None
    output: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)
    error_bytes: int = 0

    def too_much(self) -> bool:
        return len(self.output) > OUTPUT_BYTES or self.error_bytes > OUTPUT_BYTES


def execute(
    command: Sequence[str],
    *,
    cage: Cage,
    cpus: tuple[int, ...],
    limits: TimeLimits,
    environment: Mapping[str, str],
    heard: Callable[[bytes], None] | None = None,
) -> Ending:
    """Run `command` to its end or to a limit. When this returns or raises, no child is left.
    `heard` gets the output so far, each time that the program prints."""
    before = load.read(cpus)
    memory_events = cage.memory.events() if cage.memory else 0
    thread_events = cage.pids.events() if cage.pids else 0
    start = time.monotonic()
    streams = _Streams(heard)
    pipe = subprocess.PIPE
    try:
        with (
            spawned(command, cage, cpus, environment, (subprocess.DEVNULL, pipe, pipe)) as (
                child,
                _,
            ),
            _open_files(child) as (pidfd, pipes),
        ):
            killed = _watch(child.pid, pidfd, pipes, streams, cage, limits)
            wall_s = time.monotonic() - start
            # The leader is not yet reaped, so its number still names this group and no other.
            kill_group(child.pid)
            usage, status = reap(child)
            cage.empty()
            for each in pipes:
                _drain(each, streams, each is child.stdout)
    except NotStartedError as error:
        nothing = load.Load(0, 0, 0)
        return Ending("", "", 127, None, Killed.NO, 0, 0, 0, 0, 0, nothing, not_started=str(error))
    code = os.waitstatus_to_exitcode(status)
    cpu_s = usage.ru_utime + usage.ru_stime
    return Ending(
        output=streams.output.decode("utf-8", "replace"),
        errors=streams.errors.decode("utf-8", "replace"),
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        killed=killed,
        wall_s=wall_s,
        cpu_s=cpu_s,
        max_rss_bytes=usage.ru_maxrss * 1024,
        memory_events=(cage.memory.events() if cage.memory else 0) - memory_events,
        thread_events=(cage.pids.events() if cage.pids else 0) - thread_events,
        load=load.between(before, load.read(cpus), cpu_s),
    )


class NotStartedError(Exception):
    """The reason for having no process."""


@contextlib.contextmanager
def spawned(
    command: Sequence[str],
    cage: Cage,
    cpus: tuple[int, ...],
    environment: Mapping[str, str],
    files: tuple[int, int, int],
) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """A process in the cage, which leads its own session, and the start of its program by
    time.monotonic(). `files` are its standard input, output and error, as descriptors or
    subprocess's constants. The process and others in the cage die with the block, unless they were
    reaped. NotStartedError if there is none."""
    # Python ignores the exceptions of signal handlers in its hooks around a fork, so Ctrl-C would
    # be lost there.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    entrance = cage.entrance(cpus, mask)
    moment = mmap.mmap(-1, _MOMENT.size)  # shared with the child

    def enter() -> None:
        entrance()
        _MOMENT.pack_into(moment, 0, time.monotonic())

    try:
        _MOMENT.pack_into(moment, 0, time.monotonic())  # in case a signal ends the child earlier
        child = subprocess.Popen(
            command,
            stdin=files[0],
            stdout=files[1],
            stderr=files[2],
            start_new_session=True,
            preexec_fn=enter,  # noqa: PLW1509 (the lab has one thread)
            env=dict(environment),
        )
    except (OSError, subprocess.SubprocessError) as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise NotStartedError(getattr(error, "strerror", None) or str(error)) from error
    # The program begins after the child has given up the memory of the lab, which takes some
    # milliseconds, and before Popen returns, which may take long on a busy machine.
    left = _MOMENT.unpack_from(moment)[0]
    cage.leaving_s = min(cage.leaving_s, time.monotonic() - left)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        yield child, left + cage.leaving_s
    finally:
        if child.returncode is None:  # interrupted
            kill_group(child.pid)
            reap(child)
            cage.empty()


def _watch(
    pid: int,
    pidfd: int,
    pipes: Sequence[object],
    streams: _Streams,
    cage: Cage,
    limits: TimeLimits,
) -> Killed:
    """Read the program's output until it ends or must be ended; returns the reason."""
    with selectors.DefaultSelector() as selector:
        selector.register(pidfd, selectors.EVENT_READ)
        for index, pipe in enumerate(pipes):
            selector.register(pipe, selectors.EVENT_READ, index)  # type: ignore[arg-type]
        heard = time.monotonic()
        end = heard + limits.whole_s
        while True:
            # One look is due beyond the deadline, because the lab itself may have stood still
            # meanwhile.
            left = max(0.0, min(end, heard + limits.silent_s) - time.monotonic())
            events = selector.select(left if cage.memory else min(left, _POLL_S))
            printed = len(streams.output)
            for key, _ in events:
                if key.fd != pidfd and not _drain(key.fileobj, streams, key.data == 0):
                    selector.unregister(key.fileobj)
            if len(streams.output) > printed:
                heard = time.monotonic()
                if streams.heard:
                    streams.heard(bytes(streams.output))
            if streams.too_much():
                return Killed.OUTPUT
            if any(key.fd == pidfd for key, _ in events):
                return Killed.NO
            if left == 0 and min(end, heard + limits.silent_s) <= time.monotonic():
                return Killed.TIME
            over = not cage.memory and processes.resident_bytes(pid) > cage.limits.memory_bytes
            if over:
                return Killed.MEMORY


def _drain(pipe: object, streams: _Streams, is_output: bool) -> bool:
    """Read the pipe without waiting; returns whether it is still open."""
    descriptor = pipe if isinstance(pipe, int) else pipe.fileno()  # type: ignore[attr-defined]
    while not streams.too_much():
        try:
            data = os.read(descriptor, 65536)
        except BlockingIOError:
            return True
        if not data:
            return False
        if is_output:
            streams.output += data
        else:
            streams.error_bytes += len(data)
            streams.errors = (streams.errors + data)[-_ERRORS_KEPT:]
    return True


@contextlib.contextmanager
def _open_files(child: subprocess.Popen[bytes]) -> Iterator[tuple[int, list[object]]]:
    pipes = [child.stdout, child.stderr]
    pidfd = os.pidfd_open(child.pid)
    try:
        for pipe in pipes:
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        yield pidfd, list(pipes)
    finally:
        os.close(pidfd)
        for pipe in pipes:
            if pipe is not None:
                pipe.close()


def kill_group(leader: int) -> None:
    """Kill a spawned process that is not yet reaped, and its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def reap(child: subprocess.Popen[bytes]) -> tuple[resource.struct_rusage, int]:
    """Wait for the end; returns the used resources and the status."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage, status


def has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether a process that is not yet reaped has ended."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def how_ended(code: int) -> str:
    """The status of a process (subprocess's returncode) in words."""
    if code >= 0:
        return f"ended with exit status {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"

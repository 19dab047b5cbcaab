"""The cage a program runs in: memory by resident set, number of threads, and nothing outlives it.

Memory is never limited by address space: threads reserve much of it, so that would refuse threads.
Control groups hold the limits if they can be written; else the lab polls the resident set and an
interposed pthread_create counts threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from types import TracebackType
from typing import Self

from threadmark.machine import cgroups, owner, processes
from threadmark.machine.limits import Limits
from threadmark.machine.preload import preloadable
from threadmark.setup.preload_library import preload_library

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


class Cage:
    """Holds one program at a time. Use as a context manager; `with` ends when no child is left.
    Without `cap_threads` nothing is preloaded into a program to count its threads."""

    def __init__(
        self, limits: Limits, *, use_groups: bool = True, cap_threads: bool = True
    ) -> None:
        self.limits = limits
        self.lab = owner.this().label()
        self.preload: Path | None = None
        # The least time of a child from the lab to its program. On a busy machine all children may
        # take longer; the excess is no part of that time.
        self.leaving_s = 0.01
        make = cgroups.make if use_groups else _no_group
        self.memory = make("memory", self.lab, limits.memory_bytes)
        self.pids = make("pids", self.lab, limits.threads)
        if not self.pids and cap_threads:
            self.preload = preload_library("thread_cap")
        self._groups = [group for group in (self.memory, self.pids) if group]
        # Orphaned grandchildren become ours, so they are found and killed like children.
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._watchdog = subprocess.Popen(
            [
                sys.executable,
                "-IS",
                str(Path(__file__).with_name("orphans.py")),
                self.lab,
                *(str(group.folder) for group in self._groups),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the lab alone
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.empty()
        for group in self._groups:
            group.remove()
        self._watchdog.communicate()
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    def environment(self, chosen: Mapping[str, str]) -> dict[str, str]:
        """The environment of a program: the `chosen` variables and those of the cage. It has none
        of the user's variables, which would change figures."""
        result = {processes.MARK: self.lab, **chosen}
        own = [preloadable(self.preload)] if self.preload else []
        libraries = own + [each for each in (chosen.get("LD_PRELOAD", ""),) if each]
        if libraries:
            result["LD_PRELOAD"] = " ".join(libraries)
        if self.preload:
            result["THREADMARK_THREAD_CAP"] = str(self.limits.threads)
        return result

    def entrance(self, cpus: tuple[int, ...], mask: Set[int]) -> Callable[[], None]:
        """The actions of the child between fork and exec; `mask` has the signals that it must
        block. This is safe because the lab has one thread."""
        parent = os.getpid()

        def enter() -> None:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:  # the lab died before the line above took effect
                os._exit(127)
            for group in self._groups:
                group.join()
            os.sched_setaffinity(0, cpus)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

        return enter

    def empty(self) -> None:
        """Kill and reap all processes that the last program left behind."""
        for group in self._groups:
            group.kill()
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            left = [pid for pid in processes.children(os.getpid()) if pid != self._watchdog.pid]
            if not left:
                return
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)


def _no_group(controller: str, lab: str, limit: int) -> cgroups.Group | None:
    """For tests: acts as a machine whose control groups cannot be written."""
    return None

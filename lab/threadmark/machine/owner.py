"""The identity of a measuring lab: its host, boot, pid namespace, process and that process's start.

Labs of several containers may see the same control groups, and labs of several hosts the same
store. A process number alone has no meaning in another namespace, boot or host.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from threadmark.machine.processes import start_time


@dataclass(frozen=True)
class Owner:
    """One lab. `started` is empty for a lab that ended in an orderly way."""

    host: str
    boot: str
    namespace: str
    pid: int
    started: str

    def label(self) -> str:
        """A name that no other lab has; is_left_over() reads it."""
        return f"{_place(self)}-{self.pid}-{self.started}"


class Fate(Enum):
    """The knowledge of this process about another lab: whether its run can be taken over, in
    words."""

    ENDED = ""
    LIVES = "is being measured by process {pid} on {host}; wait for it"
    HIDDEN = (
        "belongs to process {pid} in another container of this machine ({host}), and a lab "
        "measures into this store; wait for it or resume it there"
    )
    ELSEWHERE = "was measured on another host ({host}); resume it there"


def this() -> Owner:
    """The lab that this process is."""
    return Owner(socket.gethostname(), _boot(), _namespace(), os.getpid(), start_time(os.getpid()))


def fate(owner: Owner, alone: Callable[[], bool]) -> Fate:
    """Whether a lab other than this one still runs, as far as this process can know.

    `alone` tells whether no other lab of this kernel measures into the store of the run.
    """
    here = this()
    if owner.boot != here.boot or (not here.boot and owner.host != here.host):
        return Fate.ENDED if owner.host == here.host else Fate.ELSEWHERE
    if not owner.started:
        return Fate.ENDED
    if owner.namespace not in (here.namespace, ""):  # empty: of a lab that knew no namespaces
        return Fate.ENDED if alone() else Fate.HIDDEN
    lives = owner.pid != here.pid and start_time(owner.pid) == owner.started
    return Fate.LIVES if lives else Fate.ENDED


def claim(owner: Owner, alone: Callable[[], bool]) -> str:
    """The reason that keeps this process from going on with the run of `owner`, with a remedy; or
    empty."""
    return fate(owner, alone).value.format(pid=owner.pid, host=owner.host)


def is_left_over(label: str) -> bool:
    """Whether `label` names a lab of this boot and pid namespace that has ended."""
    place, _, process = label.partition("-")
    pid, _, started = process.partition("-")
    return place == _place(this()) and pid.isdecimal() and start_time(int(pid)) != started


def _place(owner: Owner) -> str:
    """A short name of the place that a process number belongs to."""
    text = f"{owner.boot or owner.host} {owner.namespace}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""

"""Facts on processes from /proc: their start, their memory, and the processes with a mark."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MARK = "THREADMARK_LAB"  # environment variable that every measured program carries


def start_time(pid: int) -> str:
    """The start of a process, in clock ticks since boot. Together with the pid it names a process
    for good.

    Empty for a process that has ended, also if its parent has not waited for it yet.
    """
    fields = _stat(pid)
    return "" if not fields or fields[0] in "ZX" else fields[19]


def resident_bytes(pid: int) -> int:
    """Resident set of a process and its descendants; 0 when it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * _PAGE_BYTES + sum(resident_bytes(child) for child in children(pid))


def peak_bytes(pid: int) -> int:
    """The largest resident sets so far of a process and its living descendants, added up; 0 when it
    has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    _, found, rest = text.partition("VmHWM:")
    own = int(rest.split(maxsplit=1)[0]) * 1024 if found else 0
    return own + sum(peak_bytes(child) for child in children(pid))


def children(pid: int) -> list[int]:
    """The children of the first thread of a process."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(each) for each in text.split()]


def restore_locale() -> None:
    """Give LC_CTYPE its value from the start of this process. Python sets it if the locale is C,
    and the programs that the lab starts would take that for the user's choice."""
    given = _environment(os.getpid())
    found = next((each for each in given if each.startswith(b"LC_CTYPE=")), None)
    if found is not None:
        os.environb[b"LC_CTYPE"] = found.partition(b"=")[2]
    elif given:
        os.environb.pop(b"LC_CTYPE", None)


def kill_marked(lab: str) -> None:
    """Kill every process that carries the mark of `lab`, until none is left."""
    wanted = f"{MARK}={lab}".encode()
    while True:
        found = [pid for pid in _all() if wanted in _environment(pid)]
        if not found:
            return
        for pid in found:
            kill_if(pid, lambda pid: wanted in _environment(pid))


def kill_if(pid: int, wanted: Callable[[int], bool]) -> None:
    """Kill `pid` if it is still the wanted process, because another may have its number by now. A
    process that has ended or is not ours is left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        descriptor = os.pidfd_open(pid)
        try:
            if wanted(pid):  # so the descriptor is of such a process, or of an ended one
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)


def _all() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()]


def _environment(pid: int) -> list[bytes]:
    if not start_time(pid):  # a zombie keeps nothing and cannot be killed again
        return []
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _stat(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()

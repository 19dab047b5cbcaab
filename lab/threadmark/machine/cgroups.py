"""Control groups, version 1 and 2: limits that hold for all threads and children of a program.

One group per controller and lab, used for one program after the other and removed at the end. A
group that a killed lab left behind carries the label of that lab in its name (owner.py), and the
next lab of the same boot and pid namespace removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from threadmark.machine.owner import is_left_over
from threadmark.machine.processes import kill_if

_PREFIX = "threadmark-"
_PROC = Path("/proc/self")


@dataclass(frozen=True)
class Group:
    """A folder below /sys/fs/cgroup that this lab made for one controller (`memory` or `pids`)."""

    folder: Path
    controller: str
    version: int

    def limit(self, value: int) -> None:
        """Set the limit: bytes of memory (with swap if the system counts it) or number of
        threads."""
        if self.controller == "pids":
            _write(self.folder / "pids.max", value)
        elif self.version == 2:
            _write(self.folder / "memory.max", value)
            with contextlib.suppress(OSError):
                _write(self.folder / "memory.swap.max", 0)
        else:
            # The second limit may never be below the first, so their order depends on the old
            # values. The second is absent if the system does not count swap.
            swap_too = self.folder / "memory.memsw.limit_in_bytes"
            with contextlib.suppress(OSError):
                _write(swap_too, value)
            _write(self.folder / "memory.limit_in_bytes", value)
            with contextlib.suppress(OSError):
                _write(swap_too, value)

    def events(self) -> int:
        """The number of times that the limit struck so far: processes killed or threads refused."""
        names = {
            ("memory", 2): ("memory.events", "oom_kill"),
            ("memory", 1): ("memory.oom_control", "oom_kill"),
        }
        file, key = names.get((self.controller, self.version), ("pids.events", "max"))
        for line in _read(self.folder / file).splitlines():
            name, _, value = line.partition(" ")
            if name == key:
                return int(value)
        return 0

    def join(self) -> None:
        """Move the calling process in; for the child between fork and exec, with its one thread.

        Version 1 moves a thread that names itself 0 without the kernel's lock on all thread groups,
        which takes tens of milliseconds (an RCU grace period); version 2 moves whole processes.
        """
        _write(self.folder / ("tasks" if self.version == 1 else "cgroup.procs"), 0)

    def kill(self) -> None:
        """Kill the members of the group until it is empty."""
        kill_members(self.folder)

    def remove(self) -> None:
        """Empty the group and delete it."""
        remove(self.folder)


def make(controller: str, lab: str, limit: int) -> Group | None:
    """A new group for `controller` with its limit, or None if the system allows none."""
    for parent, version in _parents(controller):
        sweep(parent)
        folder = parent / f"{_PREFIX}{lab}"
        try:
            folder.mkdir(exist_ok=True)
        except OSError:
            continue
        group = Group(folder, controller, version)
        if _usable(group, limit):
            return group
        group.remove()
    return None


def sweep(parent: Path) -> None:
    """Remove the groups of labs that have ended, with everything that still runs in them.

    Only of labs whose end is visible, because those of another container may still measure.
    """
    for folder in parent.glob(f"{_PREFIX}*"):
        if is_left_over(folder.name.removeprefix(_PREFIX)):
            remove(folder)


def kill_members(folder: Path) -> None:
    """Kill every process in the group; returns when none is visible in it or after 5 s."""
    with contextlib.suppress(OSError):
        _write(folder / "cgroup.kill", 1)
    deadline = time.monotonic() + 5
    while (pids := members(folder)) and time.monotonic() < deadline:
        for pid in pids:
            kill_if(pid, lambda pid: pid in members(folder))
        time.sleep(0.001)


def members(folder: Path) -> list[int]:
    """The processes in the group that this process can name.

    Version 2 writes 0 for a process of another pid namespace, and signals to 0 go to the own group.
    """
    return [pid for pid in map(int, _read(folder / "cgroup.procs").split()) if pid > 0]


def remove(folder: Path) -> None:
    """Empty and delete a group; a process that has just died may keep it busy for a moment."""
    deadline = time.monotonic() + 2
    while folder.exists():
        kill_members(folder)
        try:
            folder.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                return
            time.sleep(0.005)


def enclosing_limit(file_v1: str, file_v2: str, controller: str) -> int | None:
    """The smallest limit of the groups around this process, from its own up to the root."""
    found = []
    for mount, own, version in _hierarchies(controller):
        folder = mount / own
        while True:
            text = _read(folder / (file_v2 if version == 2 else file_v1)).strip()
            if text.isdecimal():
                found.append(int(text))
            if folder == mount:
                break
            folder = folder.parent
    return min(found, default=None)


def _parents(controller: str) -> Iterator[tuple[Path, int]]:
    """The possible parents of a group: our own group, then (for root on version 2) the top."""
    for mount, own, version in _hierarchies(controller):
        places = [mount / own] if version == 1 else [mount / own, (mount / own).parent, mount]
        for place in dict.fromkeys(places):
            if not place.is_relative_to(mount) or not os.access(place, os.W_OK):
                continue
            if version == 2:
                with contextlib.suppress(OSError):
                    _write(place / "cgroup.subtree_control", f"+{controller}")
                if controller not in _read(place / "cgroup.subtree_control").split():
                    continue
            yield place, version


def _hierarchies(controller: str) -> Iterator[tuple[Path, Path, int]]:
    """(mount point, our own group below it, version) of each hierarchy that has `controller`."""
    own: dict[str, str] = {}
    for line in _read(_PROC / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for each in controllers.split(","):
            own[each] = path.lstrip("/")
    for line in _read(_PROC / "mounts").splitlines():
        fields = [_unescaped(each) for each in line.split(" ")]
        mount = Path(fields[1])
        if fields[2] == "cgroup" and controller in fields[3].split(","):
            path, version = own.get(controller, ""), 1
        elif fields[2] == "cgroup2" and controller in _read(mount / "cgroup.controllers").split():
            path, version = own.get("", ""), 2
        else:
            continue
        # In a container the path may be the host's, which is not below this mount.
        yield mount, Path(path if (mount / path).is_dir() else ""), version


def _unescaped(field: str) -> str:
    """A field of /proc/self/mounts, where the kernel writes a space in a path as \\040."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def _usable(group: Group, limit: int) -> bool:
    """Set the limit and let a child join; returns whether both worked, because each may be
    forbidden."""
    try:
        group.limit(limit)
    except OSError:
        return False
    child = os.fork()
    if child == 0:
        try:
            group.join()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _write(path: Path, value: int | str) -> None:
    # One write() call: the kernel takes or refuses the value as a whole.
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)

"""The machine: processors in the order of use, and the facts that a run keeps."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadmark.model.places import ROOT

_CPU = Path("/sys/devices/system/cpu")
_MEMORY_SHARE = 0.01  # allowed difference of a virtual machine's memory between two boots
_OF_FIGURES = {  # facts that must stay the same while a run is measured
    "processor": "the processor",
    "order": "the processors in the order of use",
    "cores": "the number of cores",
    "sockets": "the number of sockets",
    "caches": "the caches",
    "memory_bytes": "the memory in bytes",
    "virtual": "whether the machine is virtual",
    "governor": "the frequency governor",
    "kernel": "the kernel",
    "system": "the system",
}


@dataclass(frozen=True)
class Processor:
    """One hardware thread. `sibling` is its rank within its core: 0 for the first thread of it.

    `core` is the number of that first thread: the kernel's core_id may repeat in another die.
    """

    sibling: int
    package: int
    core: int
    number: int


def processors() -> list[Processor]:
    """The processors that this process may use, in the order in which threads get them.

    Sockets are filled one after the other; second hardware threads of a core come after all cores.
    """
    found = []
    for number in os.sched_getaffinity(0):
        topology = _CPU / f"cpu{number}/topology"
        siblings = expand(read(topology / "thread_siblings_list")) or [number]
        found.append(
            Processor(
                sibling=siblings.index(number) if number in siblings else 0,
                package=int(read(topology / "physical_package_id") or 0),
                core=siblings[0],
                number=number,
            )
        )
    return sorted(found, key=lambda each: (each.sibling, each.package, each.core, each.number))


def cores(order: Sequence[Processor]) -> int:
    """The number of physical cores of these processors."""
    return len({each.core for each in order})


def turned(threads: int, order: Sequence[Processor], turn: int) -> Sequence[Processor]:
    """`order` with other processors for these threads in each turn, if there are others: of the
    first socket if one socket holds all threads, else of all cores.

    A disturbance that slows one core all the time hits now the one thread of the serial program and
    now another thread. So it shows in the spread and not in the speed-up.
    """
    first = [each for each in order if each.sibling == order[0].sibling]
    near = [each for each in first if each.package == first[0].package]
    group = near if threads <= len(near) else first
    if threads > len(group):
        return order
    at = turn % len(group)
    return [*group[at:], *group[:at], *(each for each in order if each not in group)]


def cpus_for(threads: int, order: Sequence[Processor]) -> tuple[int, ...]:
    """The processors for `threads` bound threads; all of them if there are fewer."""
    return tuple(sorted(each.number for each in order[:threads]))


def expand(text: str) -> list[int]:
    """The numbers in a list in the kernel's form: '0-2,8' is 0, 1, 2, 8."""
    result: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.strip().isdecimal():
            result.extend(range(int(first), int(last or first) + 1))
    return result


def facts() -> dict[str, Any]:
    """The facts that a reader needs to judge the figures; all are quick to find."""
    order = processors()
    return {
        "processor": _processor_name(),
        "processors": len(order),
        "cores": cores(order),
        "sockets": len({each.package for each in order}),
        "order": [each.number for each in order],
        "caches": _caches(order[0].number),
        "memory_bytes": _memory_bytes(),
        "virtual": "hypervisor" in read(Path("/proc/cpuinfo")).split(),
        "governor": read(_CPU / "cpu0/cpufreq/scaling_governor"),
        "kernel": f"{platform.system()} {platform.release()}",
        "system": _system_name(),
        "python": sys.version.split()[0],
        "commit": commit(),
        "load": round(os.getloadavg()[0], 2),
        "pid_max": read(Path("/proc/sys/kernel/pid_max")),
    }


def changes(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The differing facts on which figures depend; one phrase for each.

    The name of the host, a boot, the load and the lab's own version change no figure.
    """
    return [
        f"{words} was {before.get(name)}, is {now[name]}"
        for name, words in _OF_FIGURES.items()
        if before.get(name) != now[name] and not _about_equal(name, before.get(name), now[name])
    ]


def _about_equal(name: str, before: Any, now: Any) -> bool:
    """Whether this is memory whose difference balloons and boots explain."""
    return name == "memory_bytes" and bool(before) and abs(now / before - 1) <= _MEMORY_SHARE


def commit() -> str:
    """The commit of this checkout, with '+' when tracked files differ; empty without git."""
    git = ["git", "-C", str(ROOT)]
    with contextlib.suppress(OSError):
        found = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"], check=False, capture_output=True, text=True
        )
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            check=False,
            capture_output=True,
            text=True,
        )
        return found.stdout.strip() + ("+" if changed.stdout.strip() else "")
    return ""


def read(path: Path) -> str:
    """The text of a file of /proc or /sys; empty if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _processor_name() -> str:
    for line in read(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return platform.machine()


def _system_name() -> str:
    for line in read(Path("/etc/os-release")).splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip('"')
    return ""


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _caches(number: int) -> dict[str, str]:
    """Size of each level of cache in the kernel's form: {'L1d': '48K', 'L2': '2048K'}."""
    result = {}
    for index in sorted((_CPU / f"cpu{number}/cache").glob("index*")):
        kind = {"Data": "d", "Instruction": "i"}.get(read(index / "type"), "")
        result[f"L{read(index / 'level')}{kind}"] = read(index / "size")
    return result

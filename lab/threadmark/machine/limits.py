"""The memory and the number of threads that a program can have on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from threadmark.machine import cgroups

_SHARE_OF_MEMORY = 0.8  # the rest is for the system and the lab


@dataclass(frozen=True)
class Limits:
    """The limits of a program. `thread_source` names the origin of the cap for the reader."""

    memory_bytes: int
    threads: int
    thread_source: str


def default_limits() -> Limits:
    """Four fifths of the free memory; half of the threads that the system can have."""
    sources = {
        "pid_max": _number(Path("/proc/sys/kernel/pid_max")),
        "threads-max": _number(Path("/proc/sys/kernel/threads-max")),
        "pids.max": cgroups.enclosing_limit("pids.max", "pids.max", "pids"),
    }
    known = {name: value for name, value in sources.items() if value}
    name = min(known, key=lambda each: known[each], default="")
    threads = known[name] // 2 if name else 16384
    memory = available_memory()
    return Limits(int(memory * _SHARE_OF_MEMORY), threads, f"half of {name} {known.get(name, 0)}")


def available_memory() -> int:
    """Bytes that are usable without swapping, by the machine and by our groups."""
    available = 0
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) * 1024
    around = cgroups.enclosing_limit("memory.limit_in_bytes", "memory.max", "memory")
    return min(available, around) if around else available


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None

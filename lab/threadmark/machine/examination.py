"""Judges the machine before a measurement: each complaint comes with its remedy.

`instant` takes a tenth of a second and belongs to every run; `thorough` looks longer.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from threadmark.machine import cgroups, host, limits, load, owner

_CPU = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Complaint:
    """A disturbance of figures on this machine, and its remedy. Neither ends with a full stop."""

    what: str
    remedy: str


def instant() -> list[Complaint]:
    """The complaints that take a tenth of a second to find."""
    remedy = "end them or measure later (./threadmark doctor looks for them)"
    return [*_busy(0.1, remedy), *_frequency(), *_room(), *_quota()]


def thorough() -> list[Complaint]:
    """The complaints that take two seconds to find."""
    users = _users()
    unseen = "they are short, or not visible from here, so measure later or on an idle machine"
    busy = _busy(1.0, "end them or measure later" if users else unseen)
    return [*busy, *users, *_frequency(), *_room(), *_quota(), *_limits(), *_clock()]


def facts() -> dict[str, str]:
    """The findings, complaint or not, in words."""
    order = host.processors()
    found = limits.default_limits()
    groups = {name: _group(name) for name in ("memory", "pids")}
    return {
        "processors": f"{len(order)}, filled in the order {[each.number for each in order]}",
        "governor": host.read(_CPU / "cpu0/cpufreq/scaling_governor") or "not told",
        "clock": f"{_resolution_ns()} ns",
        "memory limit": f"{found.memory_bytes >> 20} MiB of resident memory, by "
        + ("control group" if groups["memory"] else "polling"),
        "thread cap": f"{found.threads} ({found.thread_source}), by "
        + ("control group" if groups["pids"] else "preloading"),
    }


def _busy(seconds: float, remedy: str) -> list[Complaint]:
    cpus = sorted(os.sched_getaffinity(0))
    before, own = load.read(cpus), sum(os.times()[:4])
    time.sleep(seconds)
    seen = load.between(before, load.read(cpus), sum(os.times()[:4]) - own)
    capacity_s = seconds * len(cpus)
    result = []
    others, steal = (min(1.0, each / capacity_s) for each in (seen.others_s, seen.steal_s))
    if seen.others_s > max(0.05, 0.1 * capacity_s):
        result.append(
            Complaint(
                f"Other processes use {others:.0%} of the processors' time",
                remedy,
            )
        )
    if seen.steal_s > max(0.03, 0.05 * capacity_s):
        result.append(
            Complaint(
                f"The hypervisor takes {steal:.0%} of the processors' time",
                "measure on a machine of its own or at another hour",
            )
        )
    return result


def _users() -> list[Complaint]:
    """The processes that use a processor now."""
    import psutil

    found = list(psutil.process_iter(["name"]))
    for each in found:
        _percent(each)
    time.sleep(0.5)
    shares = sorted(((_percent(each), each) for each in found), key=lambda each: -each[0])
    busy = [(share, each) for share, each in shares if share > 10 and each.pid != os.getpid()]
    return [
        Complaint(
            f"Process {each.pid} ({each.info['name']}) uses {share:.0f} % of a processor",
            "end it or measure later",
        )
        for share, each in busy[:5]
    ]


def _percent(process: object) -> float:
    import psutil

    try:
        return float(process.cpu_percent())  # type: ignore[attr-defined]
    except psutil.Error:
        return 0.0


def _frequency() -> list[Complaint]:
    governor = host.read(_CPU / "cpu0/cpufreq/scaling_governor")
    if governor in ("powersave", "ondemand", "conservative", "schedutil"):
        command = "cpupower frequency-set -g performance"
        return [Complaint(f"The frequency governor is '{governor}'", f"as root run: {command}")]
    return []


def _room() -> list[Complaint]:
    available = limits.available_memory()
    if available < 2 << 30:
        return [Complaint(f"Only {available >> 20} MiB of memory are free", "end other programs")]
    return []


def _quota() -> list[Complaint]:
    """The complaint that a control group gives less time than the visible processors."""
    texts = [
        host.read(Path("/sys/fs/cgroup/cpu.max")).split()[:1],
        host.read(Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")).split()[:1],
    ]
    if any(text and text[0].isdecimal() for text in texts):
        remedy = "start the container without a limit of processor time"
        return [Complaint("A control group limits the processor time", remedy)]
    return []


def _limits() -> list[Complaint]:
    result = []
    if not _group("memory"):
        result.append(
            Complaint(
                "The memory control group cannot be written, so memory is limited by polling",
                "run as root or delegate a control group (systemd-run --user -p Delegate=yes)",
            )
        )
    if not _group("pids"):
        result.append(
            Complaint(
                "The pids control group cannot be written, so threads are counted by preloading",
                "run as root or delegate a control group (systemd-run --user -p Delegate=yes)",
            )
        )
    if limits.default_limits().threads < 4096:
        found = limits.default_limits()
        result.append(
            Complaint(
                f"Programs get at most {found.threads} threads ({found.thread_source})",
                "raise kernel.pid_max, kernel.threads-max or the container's pids limit",
            )
        )
    return result


def _group(controller: str) -> bool:
    limit = 1 << 30 if controller == "memory" else 1000
    group = cgroups.make(controller, owner.this().label(), limit)
    if group:
        group.remove()
    return group is not None


def _clock() -> list[Complaint]:
    resolution = _resolution_ns()
    source = host.read(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
    if resolution > 1000 or source in ("acpi_pm", "jiffies"):
        return [
            Complaint(
                f"The clock ({source or 'unknown source'}) advances in steps of {resolution} ns",
                "boot with clocksource=tsc",
            )
        ]
    return []


def _resolution_ns() -> int:
    """The smallest observed step of the steady clock."""
    steps = []
    for _ in range(200):
        first = time.monotonic_ns()
        while (second := time.monotonic_ns()) == first:
            pass
        steps.append(second - first)
    return min(steps)

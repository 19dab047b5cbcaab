"""One run of a command: its behaviour as seen from outside, and its remains."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_S = 1.0  # for background processes that end by themselves
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Outcome:
    """The facts that must not depend on a recording."""

    status: int  # below 0: the signal that ended the process
    output: bytes
    errors: bytes
    left: tuple[str, ...] = ()  # processes that did not end
    files: tuple[str, ...] = ()  # files in the folder of the run
    hung: str = ""  # the places of its threads if it did not end in time
    wall_s: float = field(default=0.0, compare=False)


def adopt_orphans() -> None:
    """Make this process the parent of all orphans below it, so that none escapes."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, limit_s: float
) -> Outcome:
    """Run a command in a session of its own and in `folder`. The function makes and removes the
    folder. Programs print the folder's name, so all compared runs have the same one."""
    folder.mkdir()
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**environment, "HOME": str(folder), "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    hung = ""
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        hung = stacks(_session(process.pid)) or "no stacks"
        _kill(_session(process.pid))
        output, errors = process.communicate()
    finally:
        if process.poll() is None:  # after an interrupt
            _kill(_session(process.pid))
            process.wait()
    wall_s = time.monotonic() - began
    left = _orphans()
    files = tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*")))
    shutil.rmtree(folder, ignore_errors=True)
    return Outcome(process.returncode, output, errors, left, files, hung, wall_s)


def stacks(processes: Sequence[int]) -> str:
    """The places of the threads of processes: by gdb, or else by the kernel's words."""
    said = []
    gdb = shutil.which("gdb")
    for pid in processes:
        said.append(f"process {pid} ({_read(Path(f'/proc/{pid}/comm')).strip()})")
        if gdb:
            line = [gdb, "-nx", "-batch", "-p", str(pid), "-ex", "thread apply all bt 16"]
            with contextlib.suppress(subprocess.TimeoutExpired):
                done = subprocess.run(
                    line, check=False, capture_output=True, text=True, errors="replace", timeout=60
                )
                said += [each for each in done.stdout.splitlines() if each[:1] in ("#", "T")]
        else:
            for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
                said.append(f"{task.name}: {_read(task / 'syscall').strip()}")
    return "\n".join(said)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _session(leader: int) -> list[int]:
    """The processes of the session of `leader`, and all its descendants."""
    found = {leader}
    parents: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        words = _read(path / "stat").rpartition(")")[2].split()
        if len(words) > 3:
            parents[int(path.name)] = (int(words[1]), int(words[3]))
    for _ in parents:
        more = {pid for pid, (parent, of) in parents.items() if parent in found or of == leader}
        if more <= found:
            break
        found |= more
    return sorted(pid for pid in found if pid in parents)


def _kill(processes: Sequence[int]) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _orphans() -> tuple[str, ...]:
    """End the adopted processes that still run; returns their names."""
    until = time.monotonic() + PATIENCE_S
    while children := _children():
        for pid in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if not _children():
            break
        if time.monotonic() > until:
            rest = _children()
            names = tuple(_read(Path(f"/proc/{pid}/comm")).strip() for pid in rest)
            _kill(rest)
            for pid in rest:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
            return names
        time.sleep(0.005)
    return ()


def _children() -> list[int]:
    listed = [_read(path) for path in Path("/proc/self/task").glob("*/children")]
    return [int(word) for text in listed for word in text.split()]

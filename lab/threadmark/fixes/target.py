"""What is known of a program before it runs: read from its file and from what the loader says."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from threadmark.fixes.fix import Target
from threadmark.machine import host

_LISTED = re.compile(r"^\s*(\S+) => (/\S+)", re.MULTILINE)
_LIST_S = 10
_ONLINE = Path("/sys/devices/system/cpu/online")


def target_of(program: str, environment: Mapping[str, str], threads: int | None) -> Target:
    """Of a program that can be started."""
    path = shutil.which(program) or program
    loader = _loader(path)
    listed = _libraries(loader, path, environment) if loader else {}
    processors = tuple(sorted(os.sched_getaffinity(0)))
    libraries = None if loader is None else frozenset(listed)
    return Target(
        path,
        dynamic=loader != "" and not _is_set_uid(path),
        libraries=libraries,
        glibc=_glibc(),
        processors=processors,
        all_processors=tuple(host.expand(host.read(_ONLINE))) or processors,
        threads=threads,
        environment=environment,
        libraries_at=listed,
    )


def _loader(path: str) -> str | None:
    """The loader that a program names; empty for a static one, None for a script."""
    try:
        with Path(path).open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return None
            file.seek(0)
            for segment in ELFFile(file).iter_segments("PT_INTERP"):
                return segment.data().rstrip(b"\0").decode("utf-8", "replace")
    except (OSError, ELFError):
        return None
    return ""


def _libraries(loader: str, path: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Name -> path of what the loader would load; nothing where it does not say."""
    try:
        done = subprocess.run(
            [loader, "--list", path],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIST_S,
            env=dict(environment),
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(_LISTED.findall(done.stdout))


def _is_set_uid(path: str) -> bool:
    try:
        return bool(Path(path).stat().st_mode & (stat.S_ISUID | stat.S_ISGID))
    except OSError:
        return False


def _glibc() -> tuple[int, ...]:
    try:
        said = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except ValueError:
        return ()
    return tuple(map(int, re.findall(r"\d+", said))) if said.startswith("glibc") else ()

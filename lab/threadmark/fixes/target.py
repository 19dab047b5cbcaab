"""The properties of a program before its run, from its file and from the loader."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from threadmark.fixes.fix import Target
from threadmark.fixes.telling_calls import LOADS_LIBRARIES
from threadmark.machine import host

_LISTED = re.compile(r"^\s*(\S+) => (/\S+)", re.MULTILINE)
_LIST_S = 10
# Libraries that come with the compiler and the system. Their own calls are not the program's.
_OF_SYSTEM = re.compile(
    r"ld-|lib(c|m|dl|rt|pthread|stdc\+\+|c\+\+|c\+\+abi|gcc_s|atomic|gomp|omp|iomp5|tbb\w*)\.so"
)
_ONLINE = Path("/sys/devices/system/cpu/online")


def target_of(program: str, environment: Mapping[str, str], threads: int | None) -> Target:
    """The target of a program that can be started."""
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
        symbols=_symbols([path, *_own(listed)]) if loader else None,
    )


def _own(listed: Mapping[str, str]) -> list[str]:
    """Paths of the libraries that do not come with the compiler or the system."""
    return [path for name, path in listed.items() if not _OF_SYSTEM.match(name)]


def _symbols(paths: Iterable[str]) -> frozenset[str] | None:
    """The names in the dynamic tables of files; None if a file cannot be read, or if more files may
    be loaded while the program runs."""
    names: set[str] = set()
    for path in paths:
        try:
            names |= _dynamic_names(path)
        except (OSError, ELFError, KeyError, StopIteration):
            return None
    return None if any(each.endswith(LOADS_LIBRARIES) for each in names) else frozenset(names)


def _dynamic_names(path: str) -> set[str]:
    with Path(path).open("rb") as file:
        elf = ELFFile(file)
        segment = next(each for each in elf.iter_segments() if isinstance(each, DynamicSegment))
        tags = {each.entry.d_tag: each.entry.d_val for each in segment.iter_tags()}
        file.seek(next(elf.address_offsets(tags["DT_STRTAB"])))
        return set(file.read(tags["DT_STRSZ"]).decode("utf-8", "replace").split("\0"))


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
    """Name -> path of the libraries that the loader would load; empty if the loader does not list
    them."""
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

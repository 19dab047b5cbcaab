"""Set-up and build before measuring: what is there afterwards, and why the rest is not."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from threadmark import build, executable, own, packages, platforms
from threadmark.errors import LabError
from threadmark.executable import Absence, Executable
from threadmark.selection import check_name


@dataclass(frozen=True)
class Prepared:
    """What can be measured, what cannot, and sentences for the person."""

    executables: list[Executable]
    absent: list[Absence]
    failed_platforms: dict[str, str]


def prepare(names: tuple[str, ...], console: Console) -> Prepared:
    """Install what may be installed, build the platforms `names`, look at them.

    None means all that are not optional.
    """
    wanted = chosen(names)
    for need in bring(console, tests=False, again=False):
        console.print(absence(need), highlight=False, soft_wrap=not console.is_terminal)
    refused = unpack(console, wanted)
    failed = with_status(console, wanted, tests=False) | refused
    for name, reason in failed.items():
        console.print(
            f"Platform {name} is left out: {reason}",
            highlight=False,
            soft_wrap=not console.is_terminal,
        )
    return look([each.name for each in wanted], failed)


def chosen(names: tuple[str, ...]) -> list[platforms.Platform]:
    """The platforms of that name; for none all but the optional. LabError for an unknown one."""
    known = {each.name: each for each in platforms.platforms()}
    for name in names:
        check_name("platform", name, known)
    return [known[name] for name in names] or [p for p in known.values() if not p.optional]


def look_at(folder: Path, names: tuple[str, ...]) -> Prepared:
    """The executables in `folder`/PLATFORM/bin, made by anyone. LabError when there are none."""
    there = sorted(each.parent.name for each in folder.glob("*/bin"))
    for name in names:
        check_name("platform", name, there)
    found = executable.find(names or there, folder)
    if not found:
        raise LabError(f"{folder} holds no PLATFORM/bin/PROGRAM.BACKEND; name another folder.")
    absent = [absence for name in names or there for absence in executable.absences(name, folder)]
    return Prepared(found, absent, {})


def look(names: list[str], failed: dict[str, str]) -> Prepared:
    """What is built now, without building anything."""
    executables = executable.find([each for each in names if each not in failed])
    absent = [absence for name in names for absence in executable.absences(name)]
    backends = sorted({each.backend for each in executables})
    absent += [Absence(name, each, why) for name, why in failed.items() for each in backends]
    return Prepared(executables, absent, failed)


def bring(console: Console, *, tests: bool, again: bool) -> list[packages.Need]:
    """packages.bring with a word to the person when it takes time."""
    if again or packages.missing(tests=tests):
        with console.status("Installing packages") if console.is_terminal else console.capture():
            return packages.bring(tests=tests, again=again)
    return []


def unpack(console: Console, wanted: list[platforms.Platform]) -> dict[str, str]:
    """own.bring with a word to the person when it takes time."""
    if all(each.private is None or each.private.present() for each in wanted):
        return {}
    with console.status("Unpacking") if console.is_terminal else contextlib.nullcontext():
        return own.bring(wanted)


def absence(need: packages.Need) -> str:
    """One line on what is missing, what that costs, why it was not installed and what brings it."""
    why = packages.refusals().get(need.name)
    because = f" and was not installed, because {why}" if why else ""
    brings = f"it comes with: {packages.remedy(need)}"
    return f"{need.name} is missing, which costs {need.cost}{because}; {brings}"


def with_status(
    console: Console, wanted: list[platforms.Platform], *, tests: bool
) -> dict[str, str]:
    """build_platforms with its progress on the terminal."""
    if not console.is_terminal:
        return build.build_platforms(wanted, tests=tests, report=lambda _: None)
    with console.status("Building") as status:
        return build.build_platforms(wanted, tests=tests, report=status.update)

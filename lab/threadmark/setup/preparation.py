"""Set-up and build before measuring: the present programs, and the reasons for missing ones."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from threadmark.model.errors import LabError
from threadmark.model.executable import Absence, Executable
from threadmark.model.names import check_name
from threadmark.present.wording import say
from threadmark.setup import build, discovery, packages, platforms, private

_LOG_S = 15.0  # between two lines of a log


@dataclass(frozen=True)
class Prepared:
    """The executables, the absent ones, and sentences for the user."""

    executables: list[Executable]
    absent: list[Absence]
    failed_platforms: dict[str, str]


def prepare(
    names: tuple[str, ...], console: Console, *, install: bool, targets: Sequence[str] = ()
) -> Prepared:
    """Install missing packages if `install` allows it, build the platforms `names`, look at them.

    No name means all that are not optional. With `targets` nothing else is built.
    """
    wanted = chosen(names)
    absent = bring(console, tests=False) if install else packages.missing(tests=False)
    for need in absent:
        say(console, absence(need))
    refused = unpack(console, wanted) if install else {}
    failed = with_status(console, wanted, tests=False, targets=targets) | refused
    for name, reason in failed.items():
        say(console, f"Platform {name} is left out: {reason}")
    return look([each.name for each in wanted], failed)


def chosen(names: tuple[str, ...]) -> list[platforms.Platform]:
    """The platforms of these names; all but the optional ones for no name. LabError for an unknown
    name."""
    known = {each.name: each for each in platforms.platforms()}
    for name in names:
        check_name("platform", name, known)
    return [known[name] for name in names] or [p for p in known.values() if not p.optional]


def look_at(folder: Path, names: tuple[str, ...]) -> Prepared:
    """The executables in `folder`/PLATFORM/bin, from any source. LabError if there are none."""
    there = sorted(each.parent.name for each in folder.glob("*/bin"))
    for name in names:
        check_name("platform", name, there)
    found = discovery.find(names or there, folder)
    if not found:
        raise LabError(f"{folder} holds no PLATFORM/bin/PROGRAM.BACKEND; name another folder.")
    absent = [absence for name in names or there for absence in discovery.absences(name, folder)]
    return Prepared(found, absent, {})


def look(names: list[str], failed: dict[str, str]) -> Prepared:
    """The present executables, without a build."""
    executables = discovery.find([each for each in names if each not in failed])
    absent = [absence for name in names for absence in discovery.absences(name)]
    backends = sorted({each.backend for each in executables})
    absent += [Absence(name, each, why) for name, why in failed.items() for each in backends]
    return Prepared(executables, absent, failed)


def bring(console: Console, *, tests: bool, again: bool = False) -> list[packages.Need]:
    """packages.bring, which announces each installation on `console`."""
    if not again and not packages.missing(tests=tests):
        return []
    with _status(console, "Installing packages"):
        return packages.bring(tests=tests, again=again, report=lambda text: say(console, text))


def unpack(console: Console, wanted: list[platforms.Platform]) -> dict[str, str]:
    """private.bring, which announces each installation on `console`."""
    if all(each.private is None or each.private.present() for each in wanted):
        return {}
    with _status(console, "Unpacking"):
        return private.bring(wanted, lambda text: say(console, text))


def absence(need: packages.Need) -> str:
    """One line on a missing need: the reason, its users, and the command that installs it."""
    why = packages.refusals().get(need.name)
    because = f" and was not installed, because {why}" if why else ""
    needed = f"it is needed for {need.cost} and comes with: {packages.remedy(need)}"
    return f"{need.name} is missing{because}; {needed}"


def with_status(
    console: Console,
    wanted: list[platforms.Platform],
    *,
    tests: bool,
    targets: Sequence[str] = (),
) -> dict[str, str]:
    """build_platforms with its progress on the terminal, or in a log."""
    made = partial(build.build_platforms, wanted, tests=tests, targets=targets)
    if not console.is_terminal:
        return made(report=_Log(console))
    with console.status("Building") as status:
        return made(report=status.update)


class _Log:
    """Writes a line now and then, but none while everything is quick."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._written = clock()

    def __call__(self, text: str) -> None:
        now = self._clock()
        if now - self._written >= _LOG_S:
            self._written = now
            say(self._console, f"Building {text}")


def _status(console: Console, text: str) -> contextlib.AbstractContextManager[object]:
    return console.status(text) if console.is_terminal else contextlib.nullcontext()

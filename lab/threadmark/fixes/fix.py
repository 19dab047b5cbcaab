"""The interface of a fix: a setting under which a program can run without a new build."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

TUNABLES = "GLIBC_TUNABLES"
PRELOAD = "LD_PRELOAD"


class NotApplicableError(Exception):
    """The reason for which a program cannot have a fix, or need not: one clause without a full
    stop."""


@dataclass(frozen=True)
class Target:
    """A program before its run. `libraries` are the names of the shared libraries that it is linked
    with; None for a script, because its programs are not known."""

    path: str
    dynamic: bool  # the loader looks at LD_PRELOAD for it
    libraries: frozenset[str] | None
    glibc: tuple[int, ...]  # version; () for another C library
    processors: tuple[int, ...]  # available to it
    all_processors: tuple[int, ...]  # of the machine
    threads: int | None  # the most of its runs, if an argument sets them
    environment: Mapping[str, str]
    libraries_at: Mapping[str, str] = field(default_factory=dict)  # name -> path
    builds: bool = False  # it can be built with other flags
    symbols: frozenset[str] | None = None  # dynamic, of it and of its own libraries, if known

    def needs_build(self) -> None:
        """NotApplicableError if the user gave no command that builds the program."""
        if not self.builds:
            raise NotApplicableError("it needs --build CMD")

    def needs_loader(self) -> None:
        """NotApplicableError for a program without a loader that preloads libraries."""
        if not self.dynamic:
            raise NotApplicableError("the program is static or set-uid, so it takes no preload")

    def needs_glibc(self, *version: int) -> None:
        """NotApplicableError if the C library is no glibc, or an older one."""
        if self.libraries is not None and not self.dynamic:
            raise NotApplicableError("the program is static, so it reads no tunables of glibc")
        if not self.glibc:
            raise NotApplicableError("this C library is not glibc")
        if self.glibc < version:
            raise NotApplicableError(
                f"it needs glibc {'.'.join(map(str, version))}, here is "
                f"{'.'.join(map(str, self.glibc))}"
            )

    def calls(self, *functions: str) -> bool | None:
        """Whether the program, or a library that it brings, may call one of these functions; None:
        not known. In a table of names, a name that is the end of another has no place of its
        own."""
        if self.symbols is None:
            return None
        return any(each.endswith(functions) for each in self.symbols)

    def links(self, *beginnings: str) -> bool:
        """Whether the program is linked with a library whose name begins with one of these."""
        return any(each.startswith(beginnings) for each in self.libraries or ())


class Flags(NamedTuple):
    """Additional flags of a compiler: for all sources and the link, and for C++ sources alone."""

    every: tuple[str, ...] = ()
    cxx: tuple[str, ...] = ()

    def __or__(self, other: Flags) -> Flags:
        return Flags(self.every + other.every, self.cxx + other.cxx)

    @property
    def all(self) -> tuple[str, ...]:
        """The flags for sources in C++."""
        return self.every + self.cxx


NO_FLAGS = Flags()


@dataclass(frozen=True)
class Setting:
    """The changes to a process. `setup` has the further needs of an image, as lines of a
    Dockerfile, and `in_image` maps a path of this machine to its path in the image."""

    variables: Mapping[str, str] = field(default_factory=dict)
    preload: tuple[str, ...] = ()  # paths
    tunables: tuple[str, ...] = ()  # of glibc
    prefix: tuple[str, ...] = ()  # words before the command
    threads: int | None = None  # in the place of the most threads
    setup: tuple[str, ...] = ()
    in_image: Mapping[str, str] = field(default_factory=dict)
    variables_set_threads: bool = False
    flags: Flags = NO_FLAGS  # of its own build
    program: str = ""  # that build, in the place of the program

    def __or__(self, other: Setting) -> Setting:
        """Both settings at once; for a variable in both, the second value counts."""
        return Setting(
            {**self.variables, **other.variables},
            self.preload + other.preload,
            self.tunables + other.tunables,
            self.prefix + other.prefix,
            other.threads or self.threads,
            self.setup + other.setup,
            {**self.in_image, **other.in_image},
            self.variables_set_threads or other.variables_set_threads,
            self.flags | other.flags,
            other.program or self.program,
        )

    def words(self, command: Sequence[str]) -> tuple[str, ...]:
        """The words to start in the place of a command."""
        program = (self.program,) if self.program else command[:1]
        return (*self.prefix, *program, *command[1:])

    @property
    def sets_threads(self) -> bool:
        """Whether the setting sets the number of threads, by an argument or by a variable."""
        return self.threads is not None or self.variables_set_threads

    def changes(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The variables that the setting gives a process, with their values. A list of libraries or
        of tunables also has the entries of `environment`."""
        found = dict(self.variables)
        if self.preload:
            old = environment.get(PRELOAD, "")
            found[PRELOAD] = ":".join([*self.preload, *([old] if old else [])])
        if self.tunables:
            old = environment.get(TUNABLES, "")
            found[TUNABLES] = ":".join([*([old] if old else []), *self.tunables])
        return found

    def line(self, command: Sequence[str], environment: Mapping[str, str]) -> str:
        """The command with the setting, for a shell."""
        set_ = [f"{name}={shlex.quote(value)}" for name, value in self.changes(environment).items()]
        return " ".join([*set_, shlex.join([*self.prefix, *command])])

    def dockerfile(self, command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
        """Lines that keep the setting in an image."""
        quoted = [
            f'ENV {name}="{_escaped(self._in_image(value))}"'
            for name, value in self.changes(environment).items()
        ]
        start = f"CMD {json.dumps([*self.prefix, *command], ensure_ascii=False)}"
        return [*self.setup, *quoted, *([start] if self.prefix or self.threads else [])]

    def _in_image(self, value: str) -> str:
        """A value that may be a list of paths of this machine."""
        return ":".join(self.in_image.get(each, each) for each in value.split(":"))


def _escaped(value: str) -> str:
    """The text for the quotes of an ENV line."""
    return re.sub(r'(["\\$])', r"\\\1", value)


@dataclass(frozen=True)
class Fix:
    """A fix. `kind`: a program keeps one fix of a kind. `helps`: categories of causes of explain
    that the fix can help with, the likeliest first; "mutex/locale" are causes of the category mutex
    with locale in their name or piece of knowledge. `calls`: functions; the fix does nothing for a
    program that calls none of them. `telling`: few programs call them, and those are likely to
    gain. `usual`: the fix comes before the others of its kind."""

    name: str
    kind: str
    what: str
    helps: tuple[str, ...]
    risk: str
    setting: Callable[[Target], Setting]  # NotApplicableError if there is none
    calls: tuple[str, ...] = ()
    telling: bool = False
    usual: bool = False

    def hope(self, target: Target) -> int:
        """By the functions that the program calls: 0 if it is likely to gain, 2 if it hardly
        can."""
        called = target.calls(*self.calls) if self.calls else None
        return 2 if called is False else 0 if called and self.telling else 1

    def place(self, cause: Mapping[str, object]) -> tuple[bool, int] | None:
        """The place of a cause of explain in `helps`, behind the fixes that are for just such
        causes; None if the fix cannot help with it."""
        about = f"{cause.get('name', '')} {cause.get('knowledge', '')}".lower()
        for place, each in enumerate(self.helps):
            category, _, word = each.partition("/")
            if category == cause["category"] and word in about:
                return not word, place
        return None


@dataclass(frozen=True)
class Candidate:
    """A fix with its setting for one program."""

    name: str
    kind: str
    what: str
    risk: str
    setting: Setting
    parts: tuple[str, ...] = ()  # names, of a combination

    @staticmethod
    def of(fix: Fix, target: Target) -> Candidate:
        """The fix for a program. NotApplicableError if the program cannot have it."""
        return Candidate(fix.name, fix.kind, fix.what, fix.risk, fix.setting(target))


def together(parts: Sequence[Candidate]) -> Candidate:
    """Several fixes at once."""
    setting = Setting()
    for each in parts:
        setting = setting | each.setting
    names = tuple(each.name for each in parts)
    return Candidate(
        " + ".join(names),
        "combination",
        f"{' and '.join(names)} together",
        " ".join(each.risk for each in parts),
        setting,
        names,
    )

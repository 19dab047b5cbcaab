"""The cases of harmless.py: the odd programs that a build made, and programs of interpreters.

The first comment of a program has lines of keys. `cases` are arguments, each a case of its own.
`preload` is a library of these tests with which the program starts. `known` is the reason for which
it notices the recording, and `known CASE` is the same for one case. A known difference is no
failure.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
INTERPRETED = HERE / "interpreted"
ENOUGH = 100  # runs of an interpreter, because each takes longer than a program's


@dataclass(frozen=True)
class Case:
    """One command. `agent`: a recording has an agent; None if that is unknown. `most`: the number
    of runs that is enough. `known`: the reason for the known difference."""

    name: str
    command: tuple[str, ...]
    preload: str = ""
    agent: bool | None = True
    most: int | None = None
    known: str = ""


def of_build(folder: Path, calls: int = 0) -> tuple[list[Case], list[str]]:
    """The cases of the programs in a build's folder, and the reasons for missing ones. With `calls`
    one more case makes so many calls that signals can interrupt."""
    cases, missing = [], []
    sources = [path for path in sorted(PROGRAMS.glob("*.c*")) if path.stem.isidentifier()]
    for source in sources:
        keys = _keys(source)
        path = folder / source.stem
        if not path.exists():
            missing.append(
                f"{source.stem}: {keys.get('build', ['nothing'])[0]} cannot be built here"
            )
            continue
        agent = None if {"static", "static_pie", "musl"} & set(keys.get("build", ())) else True
        preload = "".join(str(folder / f"{name}.so") for name in keys.get("preload", ()))
        arguments = keys.get("cases", [""])
        for argument in arguments:
            words = (str(path), *argument.split())
            name = " ".join((source.stem, argument)).strip()
            known = keys.get("known", keys.get(f"known {argument}", [""]))
            cases.append(Case(name, words, preload, agent, known=" ".join(known)))
        if calls and source.stem == "interrupted":
            words = (str(path), str(calls))
            cases.append(Case(f"interrupted {calls}", words, preload, agent, most=1))
    return cases, missing


def _keys(source: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in source.read_text(encoding="utf-8").splitlines():
        key = re.match(r"(?://|/\*) (build|cases|preload|known(?: \w+)?): (.*)", line)
        if key:
            values = [key[2]] if key[1].startswith("known") else key[2].split(",")
            found.setdefault(key[1], []).extend(each.strip() for each in values)
        elif not line.startswith(("//", "/*", "  ")):
            break
    return found


def of_interpreters(folder: Path) -> tuple[list[Case], list[str]]:
    """Programs of the installed languages; compilers write to `folder`."""
    cases, missing = [], []
    for language, suffix, compiler, program in (
        ("python3", "py", "", "python3 {source}"),
        ("perl", "pl", "", "perl {source}"),
        ("node", "js", "", "node {source}"),
        ("java", "java", "javac -d {folder} {source}", "java -cp {folder} Odd"),
        ("go", "go", "go build -o {folder}/go {source}", "{folder}/go"),
    ):
        source = INTERPRETED / f"Odd.{suffix}"
        needed = {compiler.split()[0] if compiler else language, program.split()[0]}
        absent = [each for each in needed if each[0] != "{" and shutil.which(each) is None]
        if absent:
            missing.append(f"{language}: {absent[0]} is not installed")
            continue
        places = {"source": source, "folder": folder}
        if compiler:
            line = [word.format(**places) for word in compiler.split()]
            done = subprocess.run(line, check=False, capture_output=True, text=True, cwd=folder)
            if done.returncode != 0:
                missing.append(f"{language}: {(done.stderr.splitlines() or ['no reason'])[0]}")
                continue
        words = tuple(word.format(**places) for word in program.split())
        found = shutil.which(words[0]) or words[0]
        cases.append(Case(language, (found, *words[1:]), agent=None, most=ENOUGH))
    return cases, missing


def chosen(cases: Iterable[Case], patterns: Iterable[str]) -> list[Case]:
    """The cases whose program or whole name matches a pattern."""
    wanted = [re.compile(re.escape(each).replace(r"\*", ".*")) for each in patterns]
    return [
        case
        for case in cases
        if not wanted
        or any(each.fullmatch(case.name) or each.fullmatch(case.name.split()[0]) for each in wanted)
    ]

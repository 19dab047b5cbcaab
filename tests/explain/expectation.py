"""The expected explanation of a planted program, and the comparison of an output of explain with
it.

The expectation stands in the comment at the top of the program, one `key: value` a line:

* `category`: the right categories, with ` | ` between them;
* `name`: texts; the name of the cause must contain one of them in any case of letters;
* `made`: like `name`, for programs without debug information. In them an object that is no global
  is named by the place where it was made or is used. `made` is looked for in `where` too;
* `holder`: functions in the frames of the first holder, innermost first, with ` < ` between them
  and `|` between those that are equally right; other frames may lie between them;
* `certain`: `yes` if the cause must be certain, or `any`;
* `threads`: those of a differential run, as `1,2`, if only such a run can be certain of the cause;
* `build`: its needs beside -O2: openmp, tbb, tmk, static, stripped or plugin;
* `why`: one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLANTED = Path(__file__).parent / "planted"
CATEGORIES = frozenset(
    {"mutex", "rwlock", "condition", "barrier", "join", "semaphore", "once", "spin", "atomic"}
    | {"false_sharing", "allocator", "kernel_memory", "stdio", "loader", "io", "sleep"}
    | {"thread_creation", "run_queue", "affinity", "serial_dependency", "imbalance"}
    | {"memory_bandwidth", "task_overhead", "task_idle", "none", "unknown"}
)
BUILDS = frozenset(("", "openmp", "tbb", "tmk", "static", "stripped", "plugin"))
_KEYS = frozenset(["category", "name", "made", "holder", "certain", "threads", "build", "why"])


class ExpectationError(Exception):
    """The comment at the top of a program is not an expectation."""


@dataclass(frozen=True)
class Expectation:
    """An expectation, as the top of the module describes it. `holder` has one tuple of equally
    right functions per frame."""

    program: str
    categories: tuple[str, ...]
    why: str
    names: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    holder: tuple[tuple[str, ...], ...] = ()
    must_be_certain: bool = False
    threads: str = ""
    build: str = ""


@dataclass(frozen=True)
class Judgement:
    """The judgement of an output. `problem` is the reason for which there is none to judge; then
    all is wrong.

    `holder_right` is None if no holder is expected; shares are parts of one.
    """

    category: str = ""
    name: str = ""
    share: float = 0.0
    certain: bool = False
    unknown: float = 1.0
    bound: float | None = None
    category_right: bool = False
    name_right: bool = False
    holder_right: bool | None = None
    problem: str = ""

    @property
    def right(self) -> bool:
        return self.category_right and self.name_right


def read(source: Path) -> Expectation:
    """The expectation of a program. ExpectationError if the program has none that can be parsed."""
    found: dict[str, str] = {}
    for line in source.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        if match := re.match(r"// (\w+): (.+)", line):
            if match[1] not in _KEYS or match[1] in found:
                raise ExpectationError(f"{source}: '{match[1]}' is not a key, or is there twice")
            found[match[1]] = match[2].strip()
    for key in ("category", "certain", "why"):
        if key not in found:
            raise ExpectationError(f"{source}: the comment at the top has no '{key}:'")
    categories = _split(found["category"], "|")
    if unknown := set(categories) - CATEGORIES:
        raise ExpectationError(f"{source}: {sorted(unknown)} are not in the contract")
    if found["certain"] not in ("yes", "any"):
        raise ExpectationError(f"{source}: 'certain' is yes or any")
    if not re.fullmatch(r"(\d+(,\d+)+)?", found.get("threads", "")):
        raise ExpectationError(f"{source}: 'threads' is numbers with commas between them")
    if found.get("build", "") not in BUILDS:
        raise ExpectationError(f"{source}: 'build' is one of {sorted(BUILDS)}")
    return Expectation(
        program=source.stem,
        categories=categories,
        why=found["why"],
        names=_split(found.get("name", ""), "|"),
        made=_split(found.get("made", ""), "|"),
        holder=tuple(_split(frame, "|") for frame in _split(found.get("holder", ""), "<")),
        must_be_certain=found["certain"] == "yes",
        threads=found.get("threads", ""),
        build=found.get("build", ""),
    )


def read_all(folder: Path = PLANTED) -> list[Expectation]:
    """The expectations of all programs, by name."""
    sources = sorted(p for p in folder.glob("*.cpp") if not p.name.endswith(".plugin.cpp"))
    return [read(source) for source in sources]


def judge(expected: Expectation, output: Mapping[str, Any], *, debug: bool) -> Judgement:
    """Compare an output of `explain --json`. `debug` if the program has debug information."""
    if output.get("schema") != "threadmark.explain" or output.get("version") != 1:
        return failed(expected, "the output is not threadmark.explain, version 1")
    try:
        first = output["causes"][0]
        frames = _frames_of_first_holder(first)
        return Judgement(
            category=str(first["category"]),
            name=str(first.get("name") or ""),
            share=float(first["share"]),
            certain=first["certain"] is True,
            unknown=float(output["unknown"]),
            bound=None if first.get("bound") is None else float(first["bound"]),
            category_right=first["category"] in expected.categories,
            name_right=_name_right(expected, first, debug),
            holder_right=occur_in_order(expected.holder, frames) if expected.holder else None,
        )
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        return failed(expected, f"the output breaks the contract: {error!r}")


def failed(expected: Expectation, problem: str) -> Judgement:
    """The judgement if there was nothing to judge."""
    return Judgement(problem=problem, holder_right=False if expected.holder else None)


def occur_in_order(wanted: Sequence[Sequence[str]], frames: Sequence[str]) -> bool:
    """Whether the frames contain these functions in this order; others may lie between them."""
    rest = iter(frames)
    return all(
        any(_is_function(frame, name) for frame in rest for name in equal) for equal in wanted
    )


def _is_function(frame: str, name: str) -> bool:
    """Whether the frame is of that function, in any namespace."""
    plain = re.sub(r" \[clone [^]]*\]|@.*$", "", frame).removeprefix("__GI_")
    plain = re.sub(r"\(anonymous namespace\)::|\[abi:\w+\]", "", plain)
    plain = re.sub(r"\(.*\)( const)?$", "", plain)  # arguments, which the contract leaves out
    plain = re.sub(r"<[^<>]*>$", "", plain)
    return plain == name or plain.endswith(("::" + name, " " + name))


def _frames_of_first_holder(cause: Mapping[str, Any]) -> list[str]:
    holders = cause.get("holders") or []
    if not holders:
        return []
    first = max(holders, key=lambda each: float(each["share"]))
    return [str(frame) for frame in first["frames"]]


def _name_right(expected: Expectation, cause: Mapping[str, Any], debug: bool) -> bool:
    if not expected.names or expected.build == "stripped" or cause["category"] == "none":
        return True
    name = str(cause.get("name") or "").lower()
    if any(each.lower() in name for each in expected.names):
        return True
    made = f"{name} {cause.get('where') or ''}".lower()
    return not debug and any(each.lower() in made for each in expected.made)


def _split(text: str, between: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(between) if part.strip())

"""From what a person asks for to the list of cells, and to sentences for what cannot be had."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from threadmark.cell import Cell
from threadmark.errors import LabError
from threadmark.executable import CONTENTION, Absence, Executable
from threadmark.profile import PROFILES

SIZES = ("smoke", "quick", "full")


@dataclass(frozen=True)
class Request:
    """What is to be measured; an empty tuple means all."""

    programs: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    allocators: tuple[str, ...] = ("glibc",)
    threads: tuple[int, ...] = (1,)
    size: str = "quick"
    arguments: tuple[str, ...] = ()  # name=value or program.name=value
    profile: str = "quick"
    seed: int = 1  # of the programs' inputs
    order_seed: int | None = None  # of the order of measuring; None: the run draws one
    budget_s: float | None = None
    executables: str = ""  # a folder to take them from instead of the build

    def check(self) -> None:
        """LabError for a number that cannot be."""
        if self.budget_s is not None and not 0 < self.budget_s < 1e9:
            raise LabError("--budget is a positive number of seconds; change it.")
        for name, seed in (("--seed", self.seed), ("--order-seed", self.order_seed or 0)):
            if not 0 <= seed < 1 << 63:
                raise LabError(f"{name} goes from 0 to 2^63 - 1; change it.")

    def agrees(self, stored: Request) -> bool:
        """Whether it asks for the same as a stored request, whatever order that one drew."""
        seed = stored.order_seed if self.order_seed is None else self.order_seed
        return replace(self, order_seed=seed) == stored

    def as_json(self) -> dict[str, Any]:
        """For the store; `from_json` gives it back."""
        return asdict(self)

    @staticmethod
    def from_json(stored: dict[str, Any]) -> Request:
        """The request of a stored run; before order_seed, `seed` was that of the order too."""
        lists = {name: tuple(each) for name, each in stored.items() if isinstance(each, list)}
        return Request(**{"order_seed": stored["seed"], **stored, **lists})


@dataclass(frozen=True)
class Selection:
    """The cells to measure with their executables, and those that cannot be, with the reason."""

    cells: dict[Cell, Executable]
    unavailable: dict[Cell, str]

    @property
    def executables(self) -> list[Executable]:
        """Those that are used, each once."""
        return list({each.path: each for each in self.cells.values()}.values())


def select(
    request: Request, executables: Sequence[Executable], absent: Sequence[Absence]
) -> Selection:
    """The cells of a request. LabError for a name that nothing has, or an impossible argument.

    Contention programs are not among them: those are the catalogue's.
    """
    executables = [each for each in executables if not each.contends]
    absent = [each for each in absent if each.backend != CONTENTION]
    _check_names(request, executables, absent)
    wanted = [
        each
        for each in executables
        if _chosen(each.program, request.programs)
        # Serial is the base of every speed-up, asked for or not.
        and (_chosen(each.backend, request.backends) or each.backend == "serial")
        and _chosen(each.platform, request.platforms)
    ]
    cells: dict[Cell, Executable] = {}
    unavailable: dict[Cell, str] = {}
    for executable in wanted:
        size, arguments = _arguments(request, executable)
        for variant, parallel in executable.variants.items():
            left_out = not request.variants and variant in PROFILES[request.profile].left_out
            chosen = _chosen(variant, request.variants) and not left_out
            if not chosen and executable.backend != "serial":
                continue
            for threads in request.threads if parallel else (1,):
                for allocator in request.allocators:
                    cell = Cell(
                        executable.program,
                        size,
                        executable.backend,
                        variant,
                        executable.platform,
                        allocator,
                        threads,
                        arguments,
                    )
                    executable.offer(cell, cells, unavailable)
        if executable.fault:
            key = Cell(
                executable.program, size, executable.backend, "any", executable.platform, "glibc", 1
            )
            unavailable[key] = executable.fault
    for absence in absent:
        unavailable |= _absent_cells(request, absence, cells)
    if not cells and not unavailable:
        raise LabError("No cell fits this choice; ./threadmark list shows what there is.")
    return Selection(cells, unavailable)


def _chosen(name: str, names: tuple[str, ...]) -> bool:
    return not names or name in names


def _absent_cells(request: Request, absence: Absence, cells: Iterable[Cell]) -> dict[Cell, str]:
    """One cell per program and variant that other platforms have for this backend."""
    if not _chosen(absence.backend, request.backends) or not _chosen(
        absence.platform, request.platforms
    ):
        return {}
    known = list(cells)
    alike = [each for each in known if each.backend == absence.backend] or [
        replace(each, backend=absence.backend, variant="any") for each in known
    ]
    result = {
        replace(each, platform=absence.platform, threads=1, allocator="glibc"): absence.reason
        for each in alike
    }
    return {cell: reason for cell, reason in result.items() if cell not in known}


def _check_names(
    request: Request, executables: Sequence[Executable], absent: Sequence[Absence]
) -> None:
    usable = [each for each in executables if not each.fault]
    addressed = [text.partition("=")[0].rpartition(".")[0] for text in request.arguments]
    known = {
        "program": (
            {each.program for each in executables},
            (*request.programs, *filter(None, addressed)),
        ),
        "backend": (
            {each.backend for each in executables} | {each.backend for each in absent},
            request.backends,
        ),
        "variant": ({name for each in usable for name in each.variants}, request.variants),
    }
    for kind, (names, asked) in known.items():
        for name in asked:
            check_name(kind, name, names)


def check_name(kind: str, name: str, names: Iterable[str]) -> None:
    """LabError with the nearest of `names` when `name` is none of them."""
    there = sorted(names)
    if name not in there:
        near = difflib.get_close_matches(name, there, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"there is {', '.join(there) or 'none'}."
        raise LabError(f"There is no {kind} '{name}'; {hint}")


def _arguments(request: Request, executable: Executable) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Size and arguments of a program's cells.

    With an argument given, all parameters are part of the cell: then it says by itself what ran.
    """
    given = {}
    for text in request.arguments:
        name, equals, value = text.partition("=")
        program, dot, rest = name.rpartition(".")
        if not equals or not rest:
            raise LabError(f"'{text}' is no argument; write --arg name=value.")
        if dot and program != executable.program:
            if not _chosen(program, request.programs):
                raise LabError(f"--arg {text} is for a program that is not chosen; see --programs.")
            continue
        given[rest] = _value(executable, rest, value, text)
    if not given or executable.fault:
        return request.size, ()
    sizes = {name: str(each["sizes"][request.size]) for name, each in executable.parameters.items()}
    return "custom", tuple(sorted((sizes | given).items()))


def _value(executable: Executable, name: str, value: str, text: str) -> str:
    if name == "input" and executable.description.get("input"):
        path = Path(value).absolute()
        if not path.is_file():
            raise LabError(f"There is no input file '{value}'; name one with --arg input=PATH.")
        return str(path)
    known = executable.parameters
    if name not in known and not executable.fault:
        names = [*known, *(["input"] if executable.description.get("input") else [])]
        raise LabError(
            f"The program {executable.program} has no argument '{name}', it has "
            f"{', '.join(names) or 'none'}; choose programs with --programs or write "
            f"--arg PROGRAM.{text}."
        )
    parameter = known.get(name, {"min": 0, "max": 0})
    low, high = int(parameter["min"]), int(parameter["max"])
    digits = value.removeprefix("-")
    if known and not (digits.isdecimal() and len(digits) < 20 and low <= int(value) <= high):
        raise LabError(f"--arg {text} is not an integer from {low} to {high}; change it.")
    return value

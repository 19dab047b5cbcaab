"""From a request to the list of cells, and to sentences for missing cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from threadmark.kinds.tasks.profiles import PROFILES
from threadmark.model.cell import Cell
from threadmark.model.errors import LabError
from threadmark.model.executable import CONTENTION, Absence, Executable
from threadmark.model.names import check_name
from threadmark.model.request import Request, Selection


def select(
    request: Request, executables: Sequence[Executable], absent: Sequence[Absence]
) -> Selection:
    """The cells of a request. LabError for a name without a cell, or an impossible argument.

    Contention programs are not among them, because they belong to the catalogue.
    """
    executables = [each for each in executables if not each.contends]
    absent = [each for each in absent if each.backend != CONTENTION]
    _check_names(request, executables, absent)
    wanted = [
        each
        for each in executables
        if _chosen(each.program, request.programs)
        # Serial is the base of every speed-up, requested or not.
        and (_chosen(each.backend, request.backends) or each.backend == "serial")
        and _chosen(each.platform, request.platforms)
    ]
    cells: dict[Cell, Executable] = {}
    unavailable: dict[Cell, str] = {}
    for executable in wanted:
        size, given = _arguments(request, executable)
        for form, lacks in _forms(request, executable):
            arguments = tuple(sorted((*given, *form)))
            for cell in _cells(request, executable, size, arguments):
                if lacks:
                    unavailable[cell] = lacks
                else:
                    executable.offer(cell, cells, unavailable)
        if executable.fault:
            key = Cell(
                executable.program, size, executable.backend, "any", executable.platform, "glibc", 1
            )
            unavailable[key] = executable.fault
    for absence in absent:
        unavailable |= _absent_cells(request, absence, cells)
    if not cells and not unavailable:
        raise LabError("No cell fits this choice; see ./threadmark list, and list backends.")
    request.check_left((*cells, *unavailable), executables)
    return Selection(cells, unavailable)


def arguments(
    request: Request, executable: Executable, cell: Cell, repeats: Sequence[str]
) -> list[str]:
    """The command line of one process, which makes `repeats` repeats."""
    line = [str(executable.path), "--run", "--threads", str(cell.threads)]
    line += ["--variant", cell.variant, "--size", request.size, "--seed", str(request.seed)]
    line += ["--warmup", "1", *repeats]
    for name, value in cell.arguments:
        line += ["--arg", f"{name}={value}"]
    return line


def _cells(
    request: Request, executable: Executable, size: str, arguments: tuple[tuple[str, str], ...]
) -> Iterator[Cell]:
    """All variants, numbers of threads and allocators of one problem."""
    for variant, parallel in executable.variants.items():
        left_out = not request.variants and variant in PROFILES[request.profile].left_out
        chosen = _chosen(variant, request.variants) and not left_out
        if not chosen and executable.backend != "serial":
            continue
        for threads in request.threads if parallel else (1,):
            for allocator in request.allocators:
                yield Cell(
                    executable.program,
                    size,
                    executable.backend,
                    variant,
                    executable.platform,
                    allocator,
                    threads,
                    arguments,
                )


def _forms(
    request: Request, executable: Executable
) -> Iterator[tuple[tuple[tuple[str, str], ...], str]]:
    """The argument for each requested form of the program, and the reason if the form is lacking;
    no argument for a program without forms."""
    if not executable.forms:
        yield (), ""
        return
    asked = [
        value
        for name, _, value in (text.partition("=") for text in request.arguments)
        if name in ("form", f"{executable.program}.form")
    ]
    for name in asked:
        check_name("form", name, executable.forms)
    everything = asked or request.profile != "quick" or executable.program in request.programs
    for name, form in executable.forms.items():
        if name in asked if asked else everything or form["quick"]:
            yield (("form", name),), str(form["lacks"])


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


def _arguments(request: Request, executable: Executable) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Size and arguments of a program's cells.

    If an argument is given, all parameters are part of the cell, so that the cell alone identifies
    the run.
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
        if rest != "form" or not executable.forms:  # see _forms
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
        names += ["form"] if executable.forms else []
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

"""`threadmark export`: a run in the formats of its kind, such as CSV, JSON or a summary."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.model.errors import LabError
from threadmark.model.places import hint
from threadmark.options import DEFAULT_STORE, StoreOption

if TYPE_CHECKING:
    from threadmark.kinds.kind import RunKind


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(export, usage="threadmark export [OPTIONS] [RUN]")


def export(
    run: Annotated[str, Parameter(help="Number, or 'last': the last that was measured.")] = "last",
    *,
    form: Annotated[
        str | None,
        Parameter(
            name="--format",
            help="csv, json, google-benchmark or summary; of a run of explain json, collapsed, "
            "speedscope, pprof (waits), pprof-cpu or firefox; default: by the ending of --output.",
        ),
    ] = None,
    output: Annotated[Path | None, Parameter(help="File to write; default: stdout.")] = None,
    force: Annotated[bool, Parameter(negative="", help="Replace a file that exists.")] = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write a stored run for other tools; google-benchmark is what its compare.py reads.

    Stacks of explain, on and off the processor: collapsed for flame graphs, speedscope and firefox
    for these viewers, pprof and pprof-cpu for `go tool pprof`.

    A summary is JSON without single repeats: verdicts, intervals and numbers of processes.

    A file that exists is replaced only with --force, and then at once: never half-written. A
    store is never replaced.
    """
    from threadmark.kinds import registry
    from threadmark.model.names import check_name
    from threadmark.present import files
    from threadmark.store.store import Store

    if output is not None and output.is_file() and not force:
        raise LabError(f"{output} exists; name another file or add --force to replace it.")
    with Store.open(store, create=False) as opened:
        stored = opened.load(run)
    kind = registry.kind_of(stored)
    chosen = form or (output.suffix.removeprefix(".") if output else kind.formats[0])
    if chosen not in kind.formats:
        elsewhere = {each for other in registry.every() for each in other.formats}
        if chosen in elsewhere:
            which = f"The newest run, {stored.run.id}," if run == "last" else f"Run {stored.run.id}"
            raise LabError(_other_kind(which, kind, chosen, store))
        if form is None and output is not None:
            raise LabError(_no_format(output, kind))
        check_name("format", chosen, kind.formats)
    content = kind.export(stored, kind.judge(stored), chosen)
    if output is not None:
        files.write_atomically(output, content, "--output")
        sys.stderr.write(f"Run {stored.run.id} as {chosen}: {output}\n")
    elif isinstance(content, str):
        sys.stdout.write(content)
    elif sys.stdout.isatty():
        raise LabError(f"{chosen} is no text; name a file with --output or pipe it on.")
    else:
        sys.stdout.buffer.write(content)


def _other_kind(which: str, kind: RunKind, form: str, store: Path) -> str:
    """The remedy if only runs of another kind have the format."""
    plural = "s" * (len(kind.formats) > 1)
    return (
        f"{which} is of {kind.command}, which has the format{plural} {_either(kind, 'and')}; for "
        f"{form} name a run of another kind, as in "
        f"`{hint(store, 'export', 'NUMBER', '--format', form)}` "
        f"(`{hint(store, 'list', 'runs')}` lists the numbers)."
    )


def _no_format(output: Path, kind: RunKind) -> str:
    return f"'{output.name}' does not say the format; add --format {_either(kind, 'or')}."


def _either(kind: RunKind, word: str) -> str:
    *others, last = kind.formats
    return f"{', '.join(others)} {word} {last}" if others else last

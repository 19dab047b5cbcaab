"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from threadmark.model.places import BUILD, DEFAULT_STORE, INSTALLED, ROOT
from threadmark.model.workload import Workload

__all__ = ["BUILD", "DEFAULT_STORE", "ROOT", "InstallOption", "JsonOption", "StoreOption"]

StoreOption = Annotated[
    Path,
    Parameter(
        name="--store",
        help="SQLite file that holds the runs.",
        show_default=lambda _: "results/threadmark.db" + " of the checkout" * (not INSTALLED),
    ),
]
JsonOption = Annotated[
    bool,
    Parameter(
        name="--json", negative="", show_default=False, help="Print JSON on stdout instead of text."
    ),
]
InstallOption = Annotated[
    bool,
    Parameter(
        name="--install",
        show_default=False,
        help="--no-install forbids installing; messages name each missing package and its command.",
    ),
]


Names = Annotated[
    tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)
]


def listed(names: Iterable[str]) -> tuple[str, ...]:
    """The names of an option, which spaces or commas separate, each once."""
    words = [name.strip() for each in names for name in each.split(",")]
    return tuple(dict.fromkeys(filter(None, words)))


BudgetOption = Annotated[str, Parameter(name="--budget", show_default=False)]
FailOnOption = Annotated[
    tuple[str, ...],
    Parameter(
        name="--fail-on",
        consume_multiple=True,
        negative="",
        show_default=False,
        help="The exit status is 1 when a cell ended so: wrong, crashed, timeout, refused, "
        "out_of_memory, unavailable, dropped, or none. Without it: wrong,crashed.",
    ),
]
FAIL_ON = ("wrong", "crashed")


@Parameter(name="*")
@dataclass(frozen=True)
class Measuring:
    """Options of every command that measures cells.

    Parameters
    ----------
    programs
        Only these programs, separated by spaces or commas; ./threadmark list names them.
    variants
        Only these variants: ways of launching, such as futures, fork_join, async, or of writing an
        operation.
    platforms
        Only these platforms: compiler and standard library.
    threads
        Thread counts such as 1,2,4 or 1-4. The default is 1, 2, 4, ... up to the number of physical
        cores; the profile quick of run leaves 1 out.
    executables
        Measure the executables PLATFORM/bin/PROGRAM.BACKEND of this folder; build nothing.
    order_seed
        Seed of the order of measuring; by default each run draws one and stores it.
    budget
        Time for measuring, such as 90s or 10m. When it is exceeded, repetitions are dropped first,
        then whole cells. Without it the profile quick takes 340s, and run takes 204s more for each
        further number of threads above one. Together this is never more than 680s.
    resume
        Go on with the newest unfinished run of the store; with --dry-run list what is left of it.
    report
        --no-report leaves the HTML report out; ./threadmark report makes it later.
    explain
        Afterwards explain each field that does not scale, the worst first, in at most 300 s.
    dry_run
        List the cells and the time expected; measure nothing.
    """

    programs: Names = ()
    variants: Names = ()
    platforms: Names = ()
    threads: str | None = None
    executables: Path | None = None
    order_seed: Annotated[int | None, Parameter(show_default=False)] = None
    budget: BudgetOption = ""
    resume: Annotated[bool, Parameter(negative="", show_default=False)] = False
    report: Annotated[bool, Parameter(show_default=False)] = True
    explain: Annotated[bool, Parameter(negative="", show_default=False)] = False
    dry_run: Annotated[bool, Parameter(negative="", show_default=False)] = False
    fail_on: FailOnOption = FAIL_ON
    install: InstallOption = True
    store: StoreOption = DEFAULT_STORE
    json: JsonOption = False


_Text = Annotated[str, Parameter(show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True)
class WorkloadOptions:
    """How the runs are made and measured.

    Parameters
    ----------
    threads
        Numbers of threads such as 1,2; each replaces {threads} in the arguments.
    threads_env
        The environment variable that holds the number of threads, such as OMP_NUM_THREADS.
    progress
        A regular expression whose one group is the units of work done. Its last match in the output
        of the program, or of the load, counts. Without it the whole run is one unit.
    metric
        A shell command that prints a number, which replaces the time; a larger number is better. It
        reads the output of the program, or of the load, from its standard input.
    check
        A shell command that fails if the output is wrong; it reads the same input.
    prepare
        A shell command that runs before each run; its time does not count.
    ready
        A shell command that succeeds when the server is ready; it is tried for 60 s.
    load
        A shell command that is measured while the program runs as a server.
    stop
        The signal that the server gets after the load; the default is TERM.
    """

    threads: _Text = ""
    threads_env: _Text = ""
    progress: _Text = ""
    metric: _Text = ""
    check: _Text = ""
    prepare: _Text = ""
    ready: _Text = ""
    load: _Text = ""
    stop: _Text = ""

    def of(self, words: tuple[str, ...]) -> Workload:
        """The workload of the options and the program."""
        return Workload(
            words, self.threads, self.threads_env, self.progress, self.metric, self.check,
            self.prepare, self.ready, self.load, self.stop,
        )  # fmt: skip


def options_given() -> bool:
    """Whether the command line makes any choice itself, with which --resume must then agree."""
    words = sys.argv[2:]
    names = {each.partition("=")[0] for each in words if each.startswith("--")}
    how = {"--resume", "--store", "--json", "--dry-run", "--report", "--no-report"}
    how |= {"--install", "--no-install", "--explain", "--fail-on"}
    return bool(names - how)

"""`threadmark gate`: fail if a program no longer scales as well as it must."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.options import DEFAULT_STORE, JsonOption, StoreOption, WorkloadOptions


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(gate, usage="threadmark gate [OPTIONS] -- PROGRAM [ARGUMENTS]")


def gate(
    *words: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)],
    workload: WorkloadOptions = WorkloadOptions(),
    min_efficiency: Annotated[str, Parameter(show_default=False)] = "",
    min_speedup: Annotated[str, Parameter(show_default=False)] = "",
    no_worse_than: Annotated[Path | None, Parameter(show_default=False)] = None,
    by: Annotated[str, Parameter(show_default=False)] = "",
    write_baseline: Annotated[Path | None, Parameter(show_default=False)] = None,
    junit: Annotated[Path | None, Parameter(show_default=False)] = None,
    summary: Annotated[Path | None, Parameter(show_default=False)] = None,
    annotations: Annotated[str, Parameter(show_default=False)] = "",
    explain: Annotated[bool, Parameter(show_default=False)] = True,
    budget: Annotated[str, Parameter(show_default=False)] = "",
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> int:
    """Say whether a program scales as well as it must, for a service that builds and tests it.

    `./threadmark gate --min-efficiency 0.7@2 -- ./prog {threads}` runs the program on one and on
    two threads in turns until it is sure. `--write-baseline FILE` keeps the speed-ups in a file to
    commit, and `--no-worse-than FILE --by 5%` fails if they are worse by more than that.

    Exit status: 0 when every demand is met; 1 when one is not, or the program fails; 3 when it is
    not decidable on this machine today; 2 when the request or the machine does not allow an answer;
    130 after Ctrl-C.

    Parameters
    ----------
    min_efficiency
        Speed-up over one thread, per thread, such as 0.7@2 or 0.7@2,0.5@8.
    min_speedup
        Speed-up over one thread, such as 1.5@2.
    no_worse_than
        A baseline that --write-baseline wrote.
    by
        How much worse than the baseline the speed-up may be; the default is 5%.
    write_baseline
        Keep the speed-ups with each number of --threads in this file.
    junit
        Write the verdicts as JUnit XML.
    summary
        Append the verdicts as Markdown to this file; the default is GITHUB_STEP_SUMMARY, if set.
    annotations
        github, azure or none: lines for the service that runs this; the default follows from its
        environment variables.
    explain
        --no-explain: do not explain the program if a demand is not met.
    budget
        Time for measuring, such as 90s or 10m; the default is 2m.
    """
    from threadmark.kinds.gates.gating import Outputs, Wanted, perform

    wanted = Wanted(min_efficiency, min_speedup, no_worse_than, by, write_baseline, explain, budget)
    outputs = Outputs(junit, summary, annotations, json)
    return perform(workload.of(words), wanted, outputs, store)

"""The short answer of explain for a program that another command runs: its causes, their bounds,
and the fixes that can help."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from threadmark.fixes import choosing
from threadmark.fixes.fix import Setting
from threadmark.fixes.starting import start
from threadmark.kinds.explain import invocation, probe
from threadmark.kinds.explain.table import summary
from threadmark.model.errors import LabError
from threadmark.model.workload import Workload

_CAUSES = 3


def explained(
    workload: Workload, setting: Setting, environment: Mapping[str, str], store: Path
) -> dict[str, Any]:
    """Record a run with the most threads, keep it as a run of explain, and return its answer.
    LabError if it cannot be recorded; an interrupt of the recording also interrupts the command."""
    count = max(workload.counts)
    # Only the program gets the settings of a fix, as in the runs of a try. The recorder and the
    # commands beside the program do not.
    words, given, own = start(workload, setting, count, environment)
    wanted = invocation.Wanted(
        words,
        ready=workload.ready or None,
        load=workload.load or None,
        stop=workload.stop or None,
        variables=own,
    )
    with invocation.temporary(store) as made:
        # The output of the program must not mix with the output of the try.
        with invocation.unseen() as output:
            status = probe.record(
                wanted.options(), made, apart=True, environment=given, output=output
            )
        if output.interrupted:
            raise KeyboardInterrupt
        if not made.exists() or made.stat().st_size == 0:
            raise LabError(f"Nothing was recorded (the recorder's status is {status}).")
        number, found = invocation.analysed(made, store)
        invocation.kept(made, store, number)
    causes = found["causes"]
    return {
        "run": number,
        "causes": [summary(each) for each in causes[:_CAUSES]],
        "bounds": {each["name"]: each["bound"] for each in found["fixes"]},
        "about": [_about(each) for each in causes[:_CAUSES]],
    }


def _about(cause: Mapping[str, Any]) -> dict[str, Any]:
    """The distinctive fields of a cause, and the fixes for it."""
    return {
        "summary": summary(cause),
        "category": cause["category"],
        "name": cause["name"],
        "bound": cause["bound"],
        "fixes": list(choosing.helping([cause])),
    }

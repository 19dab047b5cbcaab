"""What explain says of a program that another command runs, in a few words: its causes, their
bounds, and which fixes can help."""

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
    """Record a run with the most threads, keep that as a run of explain, and say what it says.
    LabError where it cannot be recorded; an interrupt of the recording is one of the command."""
    count = max(workload.counts)
    # What a fix sets, the program alone gets, as in the runs of a try: not the recorder, and not
    # the commands beside the program.
    words, given, own = start(workload, setting, count, environment)
    wanted = invocation.Wanted(
        words,
        ready=workload.ready or None,
        load=workload.load or None,
        stop=workload.stop or None,
        variables=own,
    )
    with invocation.temporary(store) as made:
        # What the program prints must not stand among what the try prints.
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
    """A cause with what tells it from others, and the fixes for it."""
    return {
        "summary": summary(cause),
        "category": cause["category"],
        "name": cause["name"],
        "bound": cause["bound"],
        "fixes": list(choosing.helping([cause])),
    }

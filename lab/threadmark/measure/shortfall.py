"""The shortfalls of a run's measurements, in sentences for its notes."""

from __future__ import annotations

from collections.abc import Iterable

from threadmark.measure.known import Known, State
from threadmark.model.cell import Cell, columns
from threadmark.model.effort import Profile


def sentences(
    cells: Known,
    shortened: Iterable[Cell],
    loose: Iterable[Cell],
    profile: Profile,
    budget_s: float | None,
) -> list[str]:
    """`shortened` cells were given up for lack of time; `loose` cells have an imprecise median."""
    result, least = [], profile.min_samples
    few = {cell for cell, state in cells.items() if state.open and len(state.rounds) < least}
    sure = [cell for cell in sorted(few) if cells[cell].sure]
    lacking = sorted(few.union(shortened).difference(sure))
    partly = [cell for cell in lacking if cells[cell].rounds]
    if lacking and budget_s is not None:
        result.append(
            f"The time budget of {budget_s:.0f} s left {len(lacking) - len(partly)} cells "
            f"unmeasured and {len(partly)} with fewer than {least} samples; a larger --budget "
            "or fewer --programs measures all."
        )
    if partly:
        result.append(f"Fewer samples than {least}: {columns(partly)}.")
    if sure:
        result.append(
            f"Fewer samples than {least}, because more would not change a verdict: {columns(sure)}."
        )
    if (wide := list(loose)) and profile.max_samples > least:
        stopped = any(_may_go_on(cells[cell], profile) for cell in wide)
        budget = " or a larger --budget" if stopped else ""
        result.append(
            f"{len(wide)} of {len(cells)} cells have a median that is not known to "
            f"+-{profile.target:.0%}; a quieter machine{budget} helps."
        )
    return result


def _may_go_on(state: State, profile: Profile) -> bool:
    """Whether only the budget kept a cell from more samples."""
    return state.open and len(state.rounds) < profile.max_samples

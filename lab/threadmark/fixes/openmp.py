"""Settings of OpenMP for several fixes."""

from __future__ import annotations

from collections.abc import Callable

from threadmark.fixes.fix import NotApplicableError, Setting, Target

_RUNTIMES = ("libgomp", "libomp", "libiomp")


def variables(**values: str) -> Callable[[Target], Setting]:
    """Variables that a program with OpenMP reads."""

    def setting(target: Target) -> Setting:
        needs_openmp(target)
        return Setting(values)

    return setting


def needs_openmp(target: Target) -> None:
    """NotApplicableError for a program that is not linked with a runtime of OpenMP."""
    if target.libraries is None:
        raise NotApplicableError("it is not known whether the script's program uses OpenMP")
    if not target.links(*_RUNTIMES):
        raise NotApplicableError("the program is not linked with OpenMP")

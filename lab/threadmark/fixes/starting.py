"""The start of a program under a setting: its words, and the variables of each process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from threadmark.fixes.fix import Setting
from threadmark.model.workload import Workload


class Start(NamedTuple):
    """`environment` is for the program and the commands beside it, `own` for the program alone."""

    words: tuple[str, ...]
    environment: dict[str, str]
    own: dict[str, str]


def start(
    workload: Workload, setting: Setting, count: int, environment: Mapping[str, str]
) -> Start:
    """The start with a number of threads; the setting may replace the number."""
    threads = setting.threads or count
    given = {**environment, **workload.variables(count)}
    own = workload.variables(threads)
    own |= setting.changes({**given, **own})
    return Start(setting.words(workload.command(threads)), given, own)

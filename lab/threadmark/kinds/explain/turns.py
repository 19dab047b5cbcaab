"""The options of a comparison of numbers of threads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from threadmark.kinds.explain import invocation
from threadmark.kinds.explain.analysis.recording import WHOLE
from threadmark.model.errors import LabError
from threadmark.model.workload import PLACE, progress_pattern

_MOST = 4096  # threads


@dataclass(frozen=True)
class Turns:
    """The options of a comparison."""

    threads: str | None = None
    variable: str | None = None  # of the environment
    rounds: int | None = None
    progress: str | None = None
    counter: Path | None = None

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of threads in ascending order."""
        words = (self.threads or "").split(",")
        numbers = {int(word) for word in words if word.strip().isdecimal()}
        if len(numbers) != len(words) or len(numbers) < 2 or min(numbers) != 1:
            raise LabError("--threads takes 1 and greater numbers, such as --threads 1,2.")
        if max(numbers) > _MOST:
            raise LabError(f"--threads takes numbers up to {_MOST:,}.")
        return tuple(sorted(numbers))

    def options(self) -> list[str]:
        """The options that `try` also has."""
        given = {
            "--threads": self.threads,
            "--threads-env": self.variable,
            "--progress": self.progress,
        }
        return [word for name, value in given.items() if value for word in (name, value)]

    def check(self, wanted: invocation.Wanted) -> None:
        """LabError for options that contradict each other."""
        if self.threads is None:
            raise LabError(
                "--threads-env, --rounds, --progress and --counter are for a comparison; give "
                "--threads 1,2 too."
            )
        _ = self.counts
        if wanted.pid is not None or wanted.record:
            raise LabError("--threads starts a program several times; name the program after --.")
        if wanted.part != WHOLE:
            raise LabError(
                "--thread, --from and --to choose a part of one record; ask for it with "
                "./threadmark explain FILE, where FILE is the record that the comparison keeps."
            )
        if self.variable is None and not any(PLACE in word for word in wanted.words):
            raise LabError(
                f"Write {PLACE} where the program takes the number of threads, or name its "
                "variable: --threads-env OMP_NUM_THREADS."
            )
        if self.variable is not None and not re.fullmatch(r"[A-Za-z_]\w*", self.variable):
            raise LabError("--threads-env takes the name of a variable, such as OMP_NUM_THREADS.")
        if self.rounds is not None and not 1 <= self.rounds <= 1000:
            raise LabError("--rounds takes a number from 1 to 1000.")
        if self.progress is not None and self.counter is not None:
            raise LabError("--progress and --counter both give the units of work; give one.")
        if self.progress is not None:
            progress_pattern(self.progress)

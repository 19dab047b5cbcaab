"""The command line's description of a user's program that is run many times."""

from __future__ import annotations

import re
import shutil
import signal
from dataclasses import asdict, dataclass
from typing import Any

from threadmark.model.effort import parse_threads
from threadmark.model.errors import LabError

PLACE = "{threads}"


@dataclass(frozen=True)
class Workload:
    """The program and the way its runs are measured; `threads` is a list such as 1,2. All but the
    program's own words are shell commands; an empty text means not given."""

    words: tuple[str, ...]
    threads: str = ""
    threads_env: str = ""
    progress: str = ""
    metric: str = ""
    check: str = ""
    prepare: str = ""
    ready: str = ""
    load: str = ""
    stop: str = ""

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of threads in ascending order; 0 alone stands for the program's own
        choice."""
        return parse_threads(self.threads) if self.threads else (0,)

    def no_program(self, command: str) -> None:
        """LabError if there is no program, or if the first word is meant as an option."""
        if not self.words:
            raise LabError(f"Name a program: ./threadmark {command} -- ./prog arguments")
        if self.words[0].startswith("-"):
            raise LabError(
                f"{command} has no option {self.words[0]}; see ./threadmark {command} --help, and "
                "write the program after --."
            )

    def faults(self, command: str, *, is_built: bool = False) -> None:
        """LabError for options that contradict each other. A program that `is_built` first may be
        absent."""
        self.no_program(command)
        if not is_built and shutil.which(self.words[0]) is None:
            raise LabError(
                f"There is no program {self.words[0]} that can be started; check its path."
            )
        for name, text in self._options().items():
            if "\0" in text or (text and not text.strip()):
                raise LabError(f"{name} needs a value.")
        placed = any(PLACE in word for word in self.words)
        if self.threads and not placed and not self.threads_env:
            raise LabError(
                f"Write {PLACE} where the program takes the number of threads, or name its "
                "variable: --threads-env OMP_NUM_THREADS."
            )
        if not self.threads and (placed or self.threads_env):
            raise LabError("Give the numbers of threads for the program: --threads 1,2.")
        _ = self.counts
        if self.threads_env and not re.fullmatch(r"[A-Za-z_]\w*", self.threads_env):
            raise LabError("--threads-env takes the name of a variable, such as OMP_NUM_THREADS.")
        if self.progress and self.metric:
            raise LabError("--progress and --metric both give the work of a run; give one.")
        if self.progress:
            progress_pattern(self.progress)
        if self.stop and not is_signal(self.stop):
            raise LabError(f"There is no signal {self.stop} for --stop; INT is one.")
        if (self.ready or self.stop) and not self.load:
            raise LabError("--ready and --stop are for a server; give it a --load too.")

    def command(self, count: int) -> tuple[str, ...]:
        """The program's words with that number of threads."""
        return tuple(word.replace(PLACE, str(count)) for word in self.words)

    def variables(self, count: int) -> dict[str, str]:
        """The environment variables with that number."""
        return {self.threads_env: str(count)} if self.threads_env else {}

    def as_json(self) -> dict[str, Any]:
        """The workload for the store."""
        return asdict(self)

    def _options(self) -> dict[str, str]:
        given = asdict(self)
        del given["words"]
        return {f"--{name.replace('_', '-')}": text for name, text in given.items()}


def is_signal(text: str) -> bool:
    """Whether it is the name or number of a signal."""
    names = {each.name.removeprefix("SIG") for each in signal.Signals}
    return text.removeprefix("SIG") in names | {str(each.value) for each in signal.Signals}


def signal_number(text: str) -> int:
    """The number of a signal by its name or number; TERM for an empty text."""
    if text.isdecimal():
        return int(text)
    return int(signal.Signals[f"SIG{text.removeprefix('SIG') or 'TERM'}"])


def progress_pattern(text: str) -> re.Pattern[str]:
    """The expression of --progress. LabError if it is invalid, or does not have one group."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise LabError(f"--progress is no regular expression ({error}).") from error
    if pattern.groups != 1:
        raise LabError(r"--progress needs one group, which is the number: --progress 'done (\d+)'.")
    return pattern


def threads_in_words(count: int) -> str:
    """'2 threads'; empty for 0, which stands for the program's own choice."""
    return f"{count:,} thread{'s' * (count != 1)}" if count else ""

"""Options of the commands that run a program of the user's own many times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from threadmark.model.workload import Workload

_Text = Annotated[str, Parameter(show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True)
class WorkloadOptions:
    """How the runs are made and measured.

    Parameters
    ----------
    threads
        Numbers of threads such as 1,2; {threads} in the arguments becomes each.
    threads_env
        The variable of the environment that has the number of threads, such as OMP_NUM_THREADS.
    progress
        A regular expression with one group: the units of work that are done. Its last match in what
        the program, or the load, prints counts. Without units the whole run is one.
    metric
        A command of the shell that prints a number, of which more is better, in the place of the
        time. It finds what the program, or the load, printed on its standard input.
    check
        A command of the shell that fails where the output is wrong; it finds the same there.
    prepare
        A command of the shell that runs before each run and does not count.
    ready
        A server is ready when this command of the shell succeeds; it is tried for 60 s.
    load
        This command of the shell is what is measured, while the program runs as a server.
    stop
        The signal that the server gets after the load; TERM, if not given.
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
        """With the program."""
        return Workload(
            words, self.threads, self.threads_env, self.progress, self.metric, self.check,
            self.prepare, self.ready, self.load, self.stop,
        )  # fmt: skip

"""`threadmark explain`: record any threaded program, and say where its threads' time went."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from threadmark.model.errors import LabError
from threadmark.options import DEFAULT_STORE, InstallOption, JsonOption, StoreOption


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(explain, usage="threadmark explain [OPTIONS] [FILE | -- PROGRAM [ARGUMENTS]]")


def explain(
    *words: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)],
    pid: Annotated[int | None, Parameter(show_default=False)] = None,
    follow: Annotated[bool, Parameter(show_default=False)] = True,
    delay: Annotated[float | None, Parameter(show_default=False)] = None,
    duration: Annotated[float | None, Parameter(show_default=False)] = None,
    ready: Annotated[str | None, Parameter(show_default=False)] = None,
    load: Annotated[str | None, Parameter(show_default=False)] = None,
    stop: Annotated[str | None, Parameter(show_default=False)] = None,
    thread: Annotated[tuple[str, ...], Parameter(show_default=False, negative="")] = (),
    since: Annotated[float | None, Parameter(name="--from", show_default=False)] = None,
    until: Annotated[float | None, Parameter(name="--to", show_default=False)] = None,
    cell: Annotated[str | None, Parameter(show_default=False)] = None,
    install: InstallOption = True,
    threads: Annotated[str | None, Parameter(show_default=False)] = None,
    threads_env: Annotated[str | None, Parameter(show_default=False)] = None,
    rounds: Annotated[int | None, Parameter(show_default=False)] = None,
    progress: Annotated[str | None, Parameter(show_default=False)] = None,
    counter: Annotated[Path | None, Parameter(show_default=False)] = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> int:
    """Say where the threads of any program spend their time, and which code keeps them waiting.

    `./threadmark explain -- ./prog arguments` runs the program unmodified. `./threadmark explain
    FILE` analyses a record that threadmark-record made, here or on another machine. The record
    stays beside the store. A server is recorded under load with `./threadmark explain --ready "curl
    -fs localhost:8080" --load "wrk -d 10 http://localhost:8080" -- ./server`.

    --thread, --from and --to ask for a part of a record, as often as wanted: `./threadmark explain
    results/explain-7.tmr --thread "io*" --from 0.5 --to 2`. The record stays whole.
    `./threadmark explain --cell fib/tbb:futures/gcc-libstdc++/2` explains a cell of the matrix or
    of the catalogue: it builds the cell's program and runs one process of it, as `run` does.

    `./threadmark explain --threads 1,2 -- ./prog {threads}` runs the program with each number of
    threads, in turns, and says what costs more with more threads.

    Exit status: 0 when there is an answer, whatever the program's own status was; 2 when the
    program could not be recorded, or its record has nothing of the part.

    Parameters
    ----------
    pid
        Record the running process of this number, from outside.
    follow
        Record the processes that the program starts too, which is the default; --no-follow leaves
        them out.
    delay
        Seconds before recording begins.
    duration
        Seconds after which recording ends.
    ready
        A shell command that succeeds when recording may begin; it is tried for 60 s.
    load
        A shell command that runs during the recording and ends it.
    stop
        The signal that the program gets after the load (default: TERM) or after the duration
        (default: none).
    thread
        Only threads of this name or number; the name may be a pattern such as "io*", and the option
        may be repeated. The other threads are still named as holders of locks.
    since
        Only the time after this second of the recording.
    until
        Only the time before this second of the recording.
    cell
        Explain PROGRAM/BACKEND:VARIANT/PLATFORM/THREADS[/SIZE[/ALLOCATOR]], a field of the matrix
        with one number of threads, in the place of a program. The backend of the catalogue is
        threads. An argument of the program follows after a blank, such as form=streams. 2 s of its
        repeats are recorded.
    threads
        Compare these numbers of threads, such as 1,2; each replaces {threads} in the arguments.
    threads_env
        The environment variable that holds the number of threads, such as OMP_NUM_THREADS.
    rounds
        How often the program runs with each number of threads, with the recorder and again without
        it; the default is 3, or 2 where 3 would take more than a minute.
    progress
        A regular expression whose one group is the units of work done. Its last match in the
        output of the program counts. Without it the whole run is one unit.
    counter
        A file whose last word is the number of units, in the place of --progress.
    """
    from threadmark.kinds.explain.analysis.recording import Part
    from threadmark.kinds.explain.invocation import Wanted, perform
    from threadmark.kinds.explain.turns import Turns

    wanted = Wanted(
        words, pid, follow, delay, duration, ready, load, stop, Part(thread, since, until)
    )
    turns = Turns(threads, threads_env, rounds, progress, counter)
    if cell is not None:
        if wanted != Wanted(()) or turns != Turns():
            raise LabError(
                "--cell allows no program and no other option of a recording; leave it out."
            )
        from threadmark.kinds.explain import subject

        return subject.perform(cell, store, install=install, as_json=json)
    if turns != Turns():
        from threadmark.kinds.explain import differential

        return differential.perform(wanted, turns, store, as_json=json)
    return perform(wanted, store, as_json=json)

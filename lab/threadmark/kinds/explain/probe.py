"""The recorder of probe/: found in a build, built if it is absent, and run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from threadmark.kinds.explain.analysis.reading import read
from threadmark.kinds.explain.analysis.recording import Recording
from threadmark.kinds.explain.output import Output
from threadmark.model.errors import LabError
from threadmark.model.places import BUILD, ROOT
from threadmark.setup.build import PROBE
from threadmark.setup.build import build as build_project

RECORDER = "threadmark-record"
AGENT = "libthreadmark-agent.so"
_COPY_S = 0.1  # between two copies of the program's output
_PRINTED = b"{"  # the beginning of a line of JSON, and of no binary record


def recorder(*, build: bool = True) -> Path:
    """The newest recorder that has its agent beside it; with `build` none that is older than its
    sources. LabError if there is none and it cannot be built."""
    found = _newest()
    if build and (found is None or _built(found) < _changed()):
        _build()
        found = _newest()
    if found is None:
        raise LabError("The recorder is not built; run: ./threadmark explain -- true")
    return found


def _newest() -> Path | None:
    found = [*BUILD.glob(f"*/probe/{RECORDER}"), BUILD / PROBE / RECORDER]
    there = [each for each in found if each.is_file() and each.with_name(AGENT).is_file()]
    return max(there, key=_built, default=None)


def _built(recorder: Path) -> float:
    """The time of the last build of the pair. A change to one of the two builds only that one."""
    return max(each.stat().st_mtime for each in (recorder, recorder.with_name(AGENT)))


def _changed() -> float:
    """The time of the last change to a source of the recorder or its agent."""
    return max((each.stat().st_mtime for each in (ROOT / PROBE).glob("*/*.[ch]pp")), default=0.0)


def _build() -> None:
    sys.stderr.write("threadmark: building the recorder, once\n")
    failure = build_project(PROBE, tests=False, report=lambda _: None)
    if failure:
        raise LabError(
            f"The recorder is missing, because {failure}. It needs a compiler and CMake, which "
            "./threadmark setup installs."
        )


def record(
    options: Sequence[str],
    into: Path,
    *,
    apart: bool,
    environment: Mapping[str, str] | None = None,
    output: Output | None = None,
    stdin: int | None = None,
) -> int:
    """Run the recorder with this terminal, or with its output into files; returns its exit status.
    With `apart` the program's output goes to stderr. An interrupt ends the recording, not the
    lab."""
    line = [str(recorder()), "-o", str(into), *options]
    files = (stdin, 2 if apart else None, None)
    return _run(line, _first_child, files, environment=environment, output=output)


def without(
    words: Sequence[str], *, environment: Mapping[str, str], output: Output, stdin: int | None
) -> int:
    """Run a program without the recorder; returns its exit status, negative for a signal. An
    interrupt ends the program, not the lab."""
    return _run(words, str, (stdin, None, None), environment=environment, output=output)


def _run(
    line: Sequence[str],
    program: Callable[[int], str],
    files: tuple[int | None, int | None, int | None],
    *,
    environment: Mapping[str, str] | None,
    output: Output | None,
) -> int:
    """`program` names the process of the program, given the started one. `files` are the standard
    ones; `output` replaces the last two."""
    out, err = (output.out, output.err) if output else files[1:]
    process = subprocess.Popen(line, stdin=files[0], stdout=out, stderr=err, env=environment)
    wakes = _COPY_S if output and output.echo else None
    interrupts = 0
    try:
        while True:
            try:
                return process.wait(wakes)
            except KeyboardInterrupt:  # the terminal also interrupted the recorder and the program
                interrupts += 1
                if interrupts == 2:
                    _say_it_goes_on(program(process.pid))
                if output:
                    output.interrupted = True
            except subprocess.TimeoutExpired:
                assert output
                output.copy()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        if output:
            output.copy()


def _first_child(recorder: int) -> str:
    """The process of the program; empty if it is not known. The program is the recorder's first
    child; the command of --load comes after it."""
    children = Path(f"/proc/{recorder}/task/{recorder}/children")
    with suppress(OSError):
        return next(iter(children.read_text(encoding="ascii").split()), "")
    return ""


def _say_it_goes_on(pid: str) -> None:
    """Tells a user who interrupts again that programs may ignore an interrupt, or use it
    themselves."""
    if pid:
        print(
            f"\nthreadmark: the program goes on after Ctrl-C; `kill {pid}` ends it, and the "
            "answer follows.",
            file=sys.stderr,
        )


def load(path: Path) -> Recording:
    """A record in the binary or the printed form of the recorder. LabError for anything else."""
    try:
        with path.open("rb") as file:
            if file.read(1) == _PRINTED:
                file.seek(0)
                return read(file)
    except OSError as error:
        raise LabError(f"{path} cannot be read ({error.strerror}); name a record.") from error
    return read(_printed(path))


def _printed(path: Path) -> Iterator[bytes]:
    line = [str(recorder()), "--print", str(path)]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(line, stdout=subprocess.PIPE, stderr=said) as process,
    ):
        assert process.stdout is not None
        try:
            yield from process.stdout
        finally:
            process.stdout.close()
            status = process.wait()
        if status != 0:
            said.seek(0)
            text = said.read(4096).decode("utf-8", "replace").strip().splitlines()
            why = text[0].removeprefix(f"{RECORDER}: ") if text else f"status {status}"
            raise LabError(
                f"{path} is not a record that can be read: {why} A program must be executable "
                f"(chmod +x {path})."
            )


def is_record(path: Path) -> bool:
    """Whether a file is no program, so it can only be a record."""
    return path.is_file() and not os.access(path, os.X_OK)

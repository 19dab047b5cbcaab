"""Builds a program with more flags, by the user's own command, in copies of the folder.

The folder itself is never written: the command runs in a copy and, if the kernel allows it, sees
the folder as read-only. compilers.py passes the flags to the compiler.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from threadmark.fixes.fix import NO_FLAGS, Flags
from threadmark.kinds.trials import cmake, compilers
from threadmark.model.errors import LabError
from threadmark.present.wording import printable

OUT, FLAGS = "{out}", "{flags}"
_LIMIT_S = 600.0  # of a build
_LARGEST = 4 << 30  # bytes of a copied folder
_SOURCES = {".c", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CPP"}
_ERROR = re.compile(
    r"\b(?:fatal )?error\b|undefined reference|\*\*\* |No such file|not found", re.I
)
_READ_ONLY = 'mount --rbind "$0" "$0" && mount -o remount,bind,ro "$0" && exec /bin/sh -c "$1"'
_MOST_SAID = 200  # characters


class BuildError(Exception):
    """The reason for having no such build: one clause without a full stop."""


class Builder:
    """Builds of `program` in `place`; `command` makes the program when it runs in `folder`."""

    def __init__(self, command: str, program: Path, folder: Path, place: Path) -> None:
        self._command = command
        self._program = program
        self._folder = folder
        self._place = place
        self._made: dict[Flags, Path] = {}
        self._builds = 0

    @staticmethod
    @contextmanager
    def of(command: str, program: str) -> Iterator[Builder]:
        """A builder for a program, named relative to the current folder. LabError for an impossible
        request."""
        folder = Path.cwd().resolve()
        path = Path(shutil.which(program) or program).absolute()
        path = path.parent.resolve() / path.name  # a link to the program stays a link
        if OUT not in command and not path.is_relative_to(folder):
            raise LabError(
                f"{program} is not in {folder}; write {OUT} where --build takes the file that it "
                "is to write, or start try in the folder of the sources."
            )
        if str(folder) in command:
            raise LabError(
                f"--build names {folder}, but runs in copies of it; write paths relative to it."
            )
        _check_size(folder)
        with tempfile.TemporaryDirectory(prefix="threadmark-build-") as place:
            if Path(place).resolve().is_relative_to(folder):
                raise LabError(
                    f"{folder} has the folder for temporary files in it, so it cannot be copied "
                    "there; start try in the folder of the sources."
                )
            yield Builder(command, path, folder, Path(place).resolve())

    def build(self, flags: Flags) -> Path:
        """The program with these flags. BuildError if it cannot be built, or if the build does not
        differ."""
        if flags in self._made:
            return self._made[flags]
        self._builds += 1
        copy = self._place / f"build-{self._builds:02}"  # of equal length: programs see them
        self._copied(copy)
        out = self._out(copy)
        with suppress(FileNotFoundError):
            out.unlink()  # so that a present file is a new build
        with self._unchanged():
            self._run(copy, out, flags)
        if not (out.is_file() and os.access(out, os.X_OK)):
            where = f"to {OUT}" if OUT in self._command else f"to {self._inside} of the folder"
            raise BuildError(f"--build wrote no program {where}")
        plain = self._made.get(NO_FLAGS)
        if plain and plain.read_bytes() == out.read_bytes():
            raise BuildError("the flags change nothing: they give the same program")
        self._made[flags] = out
        return out

    def line(self, flags: Flags) -> str:
        """The line that keeps a build with these flags."""
        if FLAGS in self._command:
            return self._filled(str(self._program), flags)
        every, cxx = shlex.join(flags.every), shlex.join(flags.cxx)
        said = [f"{every} to the flags of the compiler and of the linker"] if every else []
        said += [f"{cxx} to the flags of the compiler for C++"] if cxx else []
        return f"add {' and '.join(said)}"

    @property
    def _inside(self) -> Path:
        return self._program.relative_to(self._folder)

    def _out(self, copy: Path) -> Path:
        if OUT not in self._command:
            return copy / self._inside
        return copy.with_name(copy.name.replace("build", "built")) / self._program.name

    def _copied(self, copy: Path) -> None:
        copy.mkdir()
        line = ["cp", "-a", "--reflink=auto", f"{self._folder}/.", str(copy)]
        done = subprocess.run(line, check=False, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            raise BuildError(f"{self._folder} cannot be copied ({_first(done.stderr)})")
        if OUT in self._command:
            self._out(copy).parent.mkdir()
        # make and ninja rebuild a file that they take for older than its source.
        for path in copy.rglob("*"):
            if path.suffix in _SOURCES and path.is_file() and not path.is_symlink():
                os.utime(path)

    def _filled(self, out: str, flags: Flags) -> str:
        return self._command.replace(OUT, shlex.quote(out)).replace(FLAGS, shlex.join(flags.all))

    def _run(self, copy: Path, out: Path, flags: Flags) -> None:
        environment = dict(os.environ)
        wrapped = None
        if FLAGS not in self._command:
            wrapped = compilers.Wrapped(copy.with_name(f"{copy.name}.bin"), flags)
            environment = wrapped.environment(environment)
        for folder, line in cmake.moved(copy, self._folder, wrapped):
            self._step(line, folder, environment)
        self._step(["/bin/sh", "-c", self._filled(str(out), flags)], copy, environment)
        if wrapped and not wrapped.called:
            raise BuildError(
                "--build called no compiler that is found by PATH, CC or CXX, so no flags reach "
                f"it; write {FLAGS} where it takes them"
            )

    def _step(self, line: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        with tempfile.TemporaryFile("w+", errors="replace") as said:
            words = self._guarded(line)
            process = subprocess.Popen(
                words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said,
                stderr=said, start_new_session=True,
            )  # fmt: skip
            try:
                status = process.wait(_LIMIT_S)
            except subprocess.TimeoutExpired:
                raise BuildError(f"the build did not end within {_LIMIT_S:.0f} s") from None
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            said.seek(0)
            if status != 0:
                raise BuildError(f"the build fails: {_first(said.read())}")

    def _guarded(self, line: Sequence[str]) -> list[str]:
        """A command that sees the folder as read-only, if that is possible."""
        text = shlex.join(line)
        return [*self._guard, str(self._folder), text] if self._guard else list(line)

    @cached_property
    def _guard(self) -> list[str]:
        spaces = ["--mount"] if os.geteuid() == 0 else ["--mount", "--user", "--map-root-user"]
        words = ["unshare", *spaces, "/bin/sh", "-c", _READ_ONLY]
        try:
            done = subprocess.run(
                [*words, str(self._folder), "true"], check=False, capture_output=True
            )
        except OSError:
            return []
        return words if done.returncode == 0 else []

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """LabError if the command writes the folder instead of the copy."""
        if self._guard:
            yield
            return
        before = _state(self._folder)
        try:
            yield
        finally:
            after = _state(self._folder)
            changed = sorted(set(before.items()) ^ set(after.items()))
            if changed:
                raise LabError(
                    f"--build ran in a copy but wrote {changed[0][0]}; use paths relative "
                    f"to {self._folder} in the commands that it runs, and build again there."
                )


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in folder.rglob("*"):
        with suppress(OSError):
            state = path.lstat()
            if path.is_symlink() or path.is_file():
                found[str(path)] = (state.st_mtime_ns, state.st_size)
    return found


def _check_size(folder: Path) -> None:
    size = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += Path(root, name).lstat().st_blocks * 512
        if size > _LARGEST:
            raise LabError(
                f"{folder} has more than {_LARGEST >> 30} GiB, too much for copies; start try in "
                "a folder that has the sources alone."
            )


def _first(said: str) -> str:
    """The first line that names an error, or the last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    found = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "")
    return printable(found[:_MOST_SAID]).rstrip(".") or "it gave no reason"

"""Makes `.venv` from the lock file; run by the launcher with the system's Python.

The arguments are the checkout and the words of the command; --no-install among them is obeyed.

Only the standard library is used. Works without python3-venv and without pip: pip then comes from
ensurepip or from Debian's package of its wheel.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from threadmark.model.errors import LabError
from threadmark.setup import apt

_WHEELS = Path("usr/share/python-wheels")  # pip in Debian's python3-pip-whl

_OPTIONS = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--require-hashes")


def ready(root: Path) -> bool:
    """Whether the environment is whole, made from the present lock file and still has a Python."""
    try:
        stamp = (root / ".venv/requirements.lock").read_bytes()
    except OSError:
        return False
    # Its Python is a link into the system, which may have been upgraded or removed since.
    works = os.access(root / ".venv/bin/python", os.X_OK)
    return works and stamp == (root / "requirements.lock").read_bytes()


def make(root: Path) -> None:
    """Make the environment anew. Raises LabError with the remedy if that is impossible."""
    venv = root / ".venv"
    try:
        with (root / ".venv.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a second first start waits instead of mixing in
            if ready(root):
                return
            print(
                "threadmark: installing the packages of requirements.lock by pip into .venv "
                "(once, about a minute)",
                file=sys.stderr,
            )
            shutil.rmtree(venv, ignore_errors=True)
            _run([sys.executable, "-m", "venv", "--without-pip", str(venv)])
            python = venv / "bin/python"
            with tempfile.TemporaryDirectory() as scratch:
                pip = _pip(python, Path(scratch))
                _run([*pip, "install", *_OPTIONS, "-r", str(root / "requirements.lock")])
            partial = venv / "requirements.lock.partial"
            shutil.copyfile(root / "requirements.lock", partial)
            partial.replace(venv / "requirements.lock")
    except OSError as error:
        raise LabError(
            f"{venv} cannot be made ({error.strerror}); give write permission and 1 GB of space."
        ) from error


def unpack(wheels: Sequence[str], folder: Path) -> None:
    """Unpack `wheels`, lines of a requirements file with hashes, into `folder`. Raises LabError."""
    with tempfile.TemporaryDirectory() as scratch:
        lines = Path(scratch) / "requirements.txt"
        lines.write_text("\n".join(wheels), encoding="ascii")
        pip = _pip(Path(sys.executable), Path(scratch))
        _run([*pip, "install", *_OPTIONS, "--target", str(folder), "-r", str(lines)])


def unpacked(lock: Path, folder: Path) -> bool:
    """Whether `folder` has the packages of the lock file, as unpack_lock() leaves them."""
    stamp = folder / "requirements.lock"
    return stamp.exists() and stamp.read_bytes() == lock.read_bytes()


def unpack_lock(lock: Path, folder: Path) -> None:
    """Unpack the packages of a lock file into `folder` unless it has them. LabError if that
    fails."""
    if unpacked(lock, folder):
        return
    shutil.rmtree(folder, ignore_errors=True)
    unpack(lock.read_text(encoding="ascii").splitlines(), folder)
    shutil.copyfile(lock, folder / "requirements.lock")


def _pip(python: Path, scratch: Path) -> list[str]:
    """A command that runs pip for the interpreter `python`, from the nearest source."""
    own = [sys.executable, "-m", "pip", "--python", str(python)]
    if _works(own):
        return own
    if _works([str(python), "-m", "ensurepip"]):
        return [str(python), "-m", "pip"]
    places = [Path("/"), scratch]
    if not any((Path("/") / _WHEELS).glob("pip-*.whl")):
        log = scratch / "apt.log"
        prefix = apt.privilege()
        if not apt.unpack(["python3-pip-whl"], scratch, log).done and prefix is not None:
            by = apt.means(prefix)
            print(f"threadmark: installing by {by}: python3-pip-whl", file=sys.stderr)
            apt.update(prefix, log)
            apt.install(["python3-pip-whl"], prefix, log)
    for wheel in [each for place in places for each in (place / _WHEELS).glob("pip-*.whl")]:
        bundled = [sys.executable, f"{wheel}/pip", "--python", str(python)]
        if _works(bundled):
            return bundled
    raise LabError("No pip can be found for Python; run: apt-get install python3-venv python3-pip")


def _works(command: list[str]) -> bool:
    check = command if command[-1] == "ensurepip" else [*command, "--version"]
    return (
        subprocess.run(check, check=False, capture_output=True, env=_environment()).returncode == 0
    )


def _run(command: list[str]) -> None:
    done = subprocess.run(command, check=False, env=_environment(), stdout=sys.stderr)
    if done.returncode != 0:
        raise LabError(
            f"Python packages could not be installed ('{' '.join(command[:4])} ...' failed, "
            "see above); check the network and the free space, then start again."
        )


def _environment() -> dict[str, str]:
    # The launcher's PYTHONPATH must not reach pip, because pip would take the lab for an installed
    # package.
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


if __name__ == "__main__":
    try:
        if "--no-install" in sys.argv[2:]:
            raise LabError(
                "The Python packages of requirements.lock are not installed in .venv; "
                "./threadmark setup installs them."
            )
        make(Path(sys.argv[1]))
    except LabError as problem:
        print(f"threadmark: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)

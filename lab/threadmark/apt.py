"""Debian packages: installed as root or by password-less sudo, or unpacked into a private folder.

Only the standard library is used, because the Python environment itself may need a package first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from threadmark.errors import LabError

_QUIET = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}


def installed(names: Iterable[str]) -> set[str]:
    """Those of `names` that dpkg reports as installed; empty on a system without dpkg."""
    wanted = list(names)
    if not wanted or shutil.which("dpkg-query") is None:
        return set()
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *wanted]
    output = subprocess.run(
        query, check=False, capture_output=True, text=True, errors="replace"
    ).stdout
    pairs = (line.split() for line in output.splitlines())
    return {pair[1] for pair in pairs if len(pair) == 2 and pair[0] == "installed"}


def privilege() -> list[str] | None:
    """The prefix that makes a command run as root without a question; None if there is none."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if (
        sudo
        and subprocess.run([sudo, "-n", "true"], check=False, capture_output=True).returncode == 0
    ):
        return [sudo, "-n", "env", *(f"{key}={value}" for key, value in _QUIET.items())]
    return None


def install_command(names: Sequence[str]) -> str:
    """What a person types to bring these packages."""
    prefix = "" if os.geteuid() == 0 else "sudo "
    return f"{prefix}apt-get install -y --no-install-recommends {' '.join(names)}"


def install(names: Sequence[str], prefix: Sequence[str], log: Path) -> bool:
    """Install `names` at once, after `apt-get update` when lists are absent or too old.

    The tools' output goes to `log`. Returns whether apt-get succeeded.
    """
    command = [*prefix, "apt-get", "install", "-y", "-q", "--no-install-recommends", *names]
    with log.open("a", encoding="utf-8") as out:
        if _lists_present(Path("/var/lib/apt/lists")) and _run(command, out):
            return True
        return _run([*prefix, "apt-get", "update", "-q"], out) and _run(command, out)


def unpack(names: Sequence[str], folder: Path, log: Path) -> bool:
    """Download `names` with private lists and unpack them below `folder`; needs no privilege.

    Only for packages that work from any place (headers, data): nothing of theirs is run.
    """
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        return False
    state, cache, work = folder / "apt/state", folder / "apt/cache", folder / "apt/packages"
    for each in (state / "lists/partial", cache / "archives/partial", work):
        each.mkdir(parents=True, exist_ok=True)
    private = [
        f"-oDir::State={state}",
        f"-oDir::Cache={cache}",
        "-oDir::State::status=/var/lib/dpkg/status",
        "-oDebug::NoLocking=1",
    ]
    with log.open("a", encoding="utf-8") as out:
        if not _lists_present(state / "lists") and not _run(
            ["apt-get", *private, "-q", "update"], out
        ):
            return False
        if not _run(["apt-get", *private, "-q", "download", *names], out, work):
            return False
        whole = all(
            _run(["dpkg", "-x", str(each), str(folder)], out) for each in work.glob("*.deb")
        )
    shutil.rmtree(work)
    return whole


def _lists_present(lists: Path) -> bool:
    return any(lists.glob("*_Packages*"))


def _run(command: Sequence[str], out: object, folder: Path | None = None) -> bool:
    try:
        done = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=out,  # type: ignore[call-overload]
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **_QUIET},
        )
    except OSError as error:
        raise LabError(f"{command[0]} cannot be started ({error.strerror}); install it.") from error
    return bool(done.returncode == 0)

"""Debian packages: installed as root or by password-less sudo, or unpacked into a private folder.

Only the standard library is used, because the Python environment itself may need a package first.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from threadmark.model.errors import LabError

_QUIET = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
# A machine that has just started updates itself. apt-get waits by itself only for dpkg's lock.
_LOCK_S = 300
_LOCKED = "E: Could not get lock"
LOCK_POLL_S = 2.0
_UPDATE = ("-q", "-oAPT::Update::Error-Mode=any", "update")  # else half a list counts as success
_REMOVED = re.compile(r"will be REMOVED:\n((?: .*\n)+)")
_UNKNOWN = re.compile(
    r"E: (?:Unable to locate package (\S+)|Package '(\S+)' has no installation candidate)"
)


@dataclass(frozen=True)
class Result:
    """The end of a request. `refusal` is the reason for which it would end so again; it is empty if
    a later try may succeed, as after a failure of the network."""

    done: bool
    refusal: str = ""


def available() -> bool:
    """Whether this system has apt-get at all."""
    return shutil.which("apt-get") is not None


def privilege() -> list[str] | None:
    """The prefix that makes a command run as root without a question; None if there is none."""
    if not available():
        return None
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo is None:
        return None
    # The question runs in its own session, as apt-get later does: a password typed on this terminal
    # is unknown there.
    ask = [sudo, "-n", "true"]
    done = subprocess.run(ask, check=False, capture_output=True, start_new_session=True)
    if done.returncode != 0:
        return None
    return [sudo, "-n", "env", *(f"{key}={value}" for key, value in _QUIET.items())]


def means(prefix: Sequence[str]) -> str:
    """The way in which packages are installed with this prefix of `privilege`, for the user."""
    return "apt-get by sudo" if prefix else "apt-get as root"


def install_command(names: Sequence[str]) -> str:
    """The command line by which a user installs these packages."""
    prefix = "" if os.geteuid() == 0 else "sudo "
    return f"{prefix}apt-get install -y --no-install-recommends {' '.join(names)}"


def update(prefix: Sequence[str], log: Path) -> bool:
    """Fetch the lists of packages; returns whether all of them came."""
    return _run([*prefix, "apt-get", *_UPDATE], log)[0]


def install(
    names: Sequence[str], prefix: Sequence[str], log: Path, *, fresh: bool = False
) -> Result:
    """Install `names` at once, all or none, and remove nothing for them. Output goes to `log`.

    Only from `fresh` lists the absence of a name means that there is no such package.
    """
    options = [
        "-y",
        "-q",
        "--no-remove",
        "--no-install-recommends",
        f"-oDPkg::Lock::Timeout={_LOCK_S}",
    ]
    done, said = _run([*prefix, "apt-get", "install", *options, *names], log)
    return Result(done, "" if done else _refusal(said, fresh=fresh))


def unpack(names: Sequence[str], folder: Path, log: Path, *, lists: Path | None = None) -> Result:
    """Download `names` with private lists and unpack them below `folder`; needs no privilege.

    This is only for packages that work from any place (headers, data), because none of their
    scripts run. The lists are kept in `folder`, or in `lists`.
    """
    if not available() or shutil.which("dpkg") is None:
        return Result(False, "there is no apt-get")
    state, cache, work = (
        (lists or folder) / "apt" / each for each in ("state", "cache", "packages")
    )
    shutil.rmtree(work, ignore_errors=True)  # of an interrupted try
    for each in (state / "lists/partial", cache / "archives/partial", work):
        each.mkdir(parents=True, exist_ok=True)
    private = [
        "apt-get",
        f"-oDir::State={state}",
        f"-oDir::Cache={cache}",
        "-oDir::State::status=/var/lib/dpkg/status",
        "-oDebug::NoLocking=1",
    ]
    download = [*private, "-q", "download", *names]
    done = any((state / "lists").glob("*_Packages*")) and _run(download, log, work)[0]
    refusal = ""
    if not done:  # no lists, or lists older than the archive
        whole, _ = _run([*private, *_UPDATE], log)
        done, said = _run(download, log, work)
        refusal = _refusal(said, fresh=whole)
    if done:
        done = all(_run(["dpkg", "-x", str(each), str(folder)], log)[0] for each in work.iterdir())
    shutil.rmtree(work)
    return Result(done, "" if done else refusal)


def _refusal(said: str, *, fresh: bool) -> str:
    """The reason for which apt-get would refuse again, in its own words; empty if it may not."""
    removed = _REMOVED.search(said)
    if removed and "remove is disabled" in said:
        names = [each.rstrip("*") for each in removed[1].split()]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"apt-get would remove {', '.join(names[:3])}{more} for it"
    unknown = _UNKNOWN.search(said) if fresh else None
    return f"apt-get knows no package {unknown[1] or unknown[2]} here" if unknown else ""


def _run(command: Sequence[str], log: Path, folder: Path | None = None) -> tuple[bool, str]:
    """Run one command, again while another apt-get works; returns (success, output)."""
    deadline = time.monotonic() + _LOCK_S
    while True:
        done, said = _run_once(command, log, folder)
        if done or _LOCKED not in said or time.monotonic() > deadline:
            return done, said
        time.sleep(LOCK_POLL_S)


def _run_once(command: Sequence[str], log: Path, folder: Path | None) -> tuple[bool, str]:
    with log.open("a+b") as out:
        start = out.seek(0, os.SEEK_END)
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, **_QUIET},
                start_new_session=True,  # an interrupt from the keyboard does not reach dpkg
            )
        except OSError as error:
            raise LabError(
                f"{command[0]} cannot be started ({error.strerror}); install it."
            ) from error
        done = _wait(process) == 0
        out.seek(start)
        return done, out.read().decode("utf-8", "replace")


def _wait(process: subprocess.Popen[bytes]) -> int:
    """The exit status. An interrupt counts only afterwards: dpkg would be left half configured."""
    interrupted = False
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            interrupted = True
            print("threadmark: stops as soon as apt-get has finished", file=sys.stderr)
        else:
            if interrupted:
                raise KeyboardInterrupt
            return status

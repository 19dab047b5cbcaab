"""The variables of the dynamic loader: libraries to load first, and further folders with libraries.

LD_PRELOAD separates its entries by spaces and colons and has no quotes, so a library below a folder
with such a character gets a link.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import subprocess
from functools import cache
from pathlib import Path

from threadmark.model.errors import LabError

_LINKS = Path("/tmp")
_DESCRIBE_S = 10


def preloadable(library: Path) -> str:
    """A path of `library` that is one entry of LD_PRELOAD: its own, or that of a link to it.

    The links are in a folder that only this user can write. LabError if there can be none.
    """
    if not set(" :") & set(str(library)):
        return str(library)
    folder = _LINKS / f"threadmark-{os.geteuid()}"
    digest = hashlib.sha256(os.fsencode(library)).hexdigest()[:12]
    link = folder / f"{digest}-{library.name}"
    remedy = "or move this checkout below a folder without spaces in its name"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
        if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o077:
            raise LabError(f"{folder} is open to other users; remove it {remedy}.")
        partial = link.with_name(f"{link.name}.{secrets.token_hex(8)}")
        partial.symlink_to(library)
        partial.replace(link)
    except OSError as error:
        raise LabError(f"{link} cannot be made ({error.strerror}); remove it {remedy}.") from error
    return str(link)


def surroundings(executable: Path) -> dict[str, str]:
    """The environment variables of our programs, whichever user starts the lab."""
    return {"LC_ALL": "C.UTF-8", **library_path(executable)}


@cache
def library_path(executable: Path) -> dict[str, str]:
    """LD_LIBRARY_PATH of the lab for a program that does not start without it, empty for others.

    Programs are built with the paths of their libraries in them, but a compiler outside the
    system's folders leaves out the paths of its own libraries.
    """
    found = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if os.environ.get(name)}
    return found if found and not _starts(executable, {}) and _starts(executable, found) else {}


def _starts(executable: Path, environment: dict[str, str]) -> bool:
    try:
        done = subprocess.run(
            [executable, "--describe"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_DESCRIBE_S,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0

"""Files that are written at once or not at all, and files that something is added to.

`option` names the file on the command line. The LabError for a file that cannot be written says it.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from threadmark.model.errors import LabError


def write_atomically(path: Path, content: str | bytes, option: str) -> int:
    """Put `content` into `path` all at once: a reader sees the old file or the new, never a part.
    Returns the bytes written."""
    if isinstance(content, str):
        # A command may hold a path whose bytes are no UTF-8.
        content = content.encode("utf-8", "backslashreplace")
    temporary = ""
    with _explained(path, option):
        try:
            with tempfile.NamedTemporaryFile(
                dir=path.parent, prefix=f".{path.name}.", delete=False
            ) as file:
                temporary = file.name
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            mask = os.umask(0)
            os.umask(mask)
            Path(temporary).chmod(0o666 & ~mask)  # a temporary file is private, a result is not
            Path(temporary).replace(path)
            temporary = ""
            return path.stat().st_size
        finally:
            if temporary:
                Path(temporary).unlink(missing_ok=True)


def check_place(path: Path, option: str) -> None:
    """LabError where write_atomically() could not write the file; nothing is left."""
    with _explained(path, option):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}."):
            pass


def append(path: Path, content: str, option: str) -> None:
    """Add `content` to the end of a file, which is made where it is absent."""
    with _explained(path, option), path.open("a", encoding="utf-8") as file:
        file.write(content)


def check_appendable(path: Path, option: str) -> None:
    """LabError where append() could not; the file stays as it is, and absent."""
    with _explained(path, option):
        if path.exists():  # a named pipe must not be waited for
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK))
        else:
            check_place(path, option)


@contextmanager
def _explained(path: Path, option: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LabError(
            f"{path} cannot be written ({error.strerror}); name another place with {option}."
        ) from error

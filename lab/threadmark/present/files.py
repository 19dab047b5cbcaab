"""Files that are written at once or not at all, and files that grow by additions.

A link is followed. A special file, such as a device or a pipe, is written to and stays a special
file. A database of SQLite, such as a store, is never overwritten. `option` names the file on the
command line, and the LabError for a file that cannot be written has that name.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from threadmark.model.errors import LabError

_DATABASE = b"SQLite format 3\0"  # the first bytes of a database


def write_atomically(path: Path, content: str | bytes, option: str) -> int:
    """Put `content` into `path` all at once: a reader sees the old file or the new, never a part.
    Returns the bytes written."""
    if isinstance(content, str):
        # The content may have a path whose bytes are no UTF-8.
        content = content.encode("utf-8", "backslashreplace")
    with _explained(path, option):
        if _is_special(path):
            with os.fdopen(os.open(path, os.O_WRONLY), "wb") as stream:
                stream.write(content)
            return len(content)
        return _replace(_target(path, option), content)


def check_place(path: Path, option: str) -> None:
    """LabError if write_atomically() could not write the file; no file is left behind."""
    with _explained(path, option):
        if _is_special(path):
            _check_special(path)
        else:
            target = _target(path, option)
            with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}."):
                pass


def append(path: Path, content: str, option: str) -> None:
    """Add `content` to the end of a file, which is made if it is absent."""
    with _explained(path, option):
        if not _is_special(path):
            _target(path, option)
        with path.open("a", encoding="utf-8") as file:
            file.write(content)


def check_appendable(path: Path, option: str) -> None:
    """LabError if append() could not write the file; the file stays as it is, or absent."""
    with _explained(path, option):
        if path.is_file():
            _target(path, option)
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
        else:
            check_place(path, option)


def _replace(target: Path, content: bytes) -> int:
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            temporary = file.name
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)  # a temporary file is private, a result is not
        Path(temporary).replace(target)
        temporary = ""
        return target.stat().st_size
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


def _is_special(path: Path) -> bool:
    """Whether the file exists and is no regular file."""
    return path.exists() and not path.is_file()


def _check_special(path: Path) -> None:
    """OSError if the file cannot be written. The function does not open it, because the reader of a
    pipe would see an end."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _target(path: Path, option: str) -> Path:
    """The file that `path` names, through links. LabError for a database."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # the link leads back to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if target.exists():
        with target.open("rb") as file:
            if file.read(len(_DATABASE)) == _DATABASE:
                raise LabError(
                    f"{path} is a database, such as a store of runs; name another file with "
                    f"{option}."
                )
    return target


@contextmanager
def _explained(path: Path, option: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LabError(
            f"{path} cannot be written ({error.strerror}); name another place with {option}."
        ) from error

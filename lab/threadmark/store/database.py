"""The SQLite file of a store: it waits for other processes, and reports an error in a sentence."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from threadmark.model.errors import LabError

_BUSY_S = 30.0
_OTHER = "name another file with --store."
_RESUME = "run, catalogue and students then go on with --resume, others start anew"


def connect(path: Path, *, create: bool) -> sqlite3.Connection:
    """A connection that waits for other labs; a read-only folder is enough for reading."""
    if path.exists() and not path.is_file():
        raise LabError(f"{path} is no regular file, so it cannot be a store; {_OTHER}")
    quoted = path.resolve().as_uri()
    mode = "rwc" if create else "rw"
    if not create and not os.access(path.parent, os.W_OK):
        wal = path.with_name(path.name + "-wal")
        if wal.exists() and wal.stat().st_size:
            raise LabError(
                f"{path} has rows in a second file beside it and the folder is read-only; "
                "copy both files elsewhere first."
            )
        mode = "ro&immutable=1"
    db = sqlite3.connect(f"{quoted}?mode={mode}", uri=True, timeout=_BUSY_S, isolation_level=None)
    db.row_factory = sqlite3.Row
    # FULL: the WAL is flushed at each commit, so a row outlives even a power cut.
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def use_wal(db: sqlite3.Connection) -> None:
    """Let readers and one writer work at the same time, from now on and for all processes."""
    # SQLite itself does not wait when two processes switch a new file to WAL at one instant.
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an error of SQLite or the system about the file into a sentence with its remedy."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        sentences = {
            sqlite3.SQLITE_NOTADB: f"{path} is no Threadmark store; {_OTHER}",
            sqlite3.SQLITE_CORRUPT: f"The store {path} is damaged; move it away or {_OTHER}",
            sqlite3.SQLITE_FULL: f"The disk is full, {path} cannot grow; free space: {_RESUME}.",
            sqlite3.SQLITE_IOERR: f"The store {path} cannot be read or written (full disk, file "
            f"size limit?); make room: {_RESUME}.",
            sqlite3.SQLITE_READONLY: f"The store {path} is read-only; {_OTHER}",
            sqlite3.SQLITE_CANTOPEN: f"The store {path} cannot be opened{_why(path)}; {_OTHER}",
            sqlite3.SQLITE_BUSY: f"Another process has locked the store {path} for {_BUSY_S:.0f} "
            f"s; end it or {_OTHER}",
        }
        if code not in sentences:
            raise
        raise LabError(sentences[code]) from error
    except OSError as error:
        raise LabError(f"The store {path} cannot be made ({error.strerror}); {_OTHER}") from error


def _why(path: Path) -> str:
    """The reason for which SQLite could not open the file, which SQLite does not report."""
    if not path.parent.is_dir():
        return f", because {path.parent} is no folder"
    place = path if path.exists() else path.parent
    return "" if os.access(place, os.W_OK) else f", because {place} is read-only"

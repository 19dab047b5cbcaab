"""Files that are written at once or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from threadmark.model.errors import LabError


def write_atomically(path: Path, content: str | bytes) -> int:
    """Put `content` into `path` all at once: a reader sees the old file or the new, never a part.
    Returns the bytes written.

    LabError when the place cannot be written.
    """
    if isinstance(content, str):
        # A command may hold a path whose bytes are no UTF-8.
        content = content.encode("utf-8", "backslashreplace")
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent,
            prefix=f".{path.name}.",
            delete=False,
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
    except OSError as error:
        raise LabError(
            f"{path} cannot be written ({error.strerror}); name another file with --output."
        ) from error
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)

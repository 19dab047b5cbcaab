"""The small libraries of lab/preload/, each compiled once, at its first use."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

from threadmark.model.errors import LabError
from threadmark.model.places import BUILD, ROOT

SOURCES = ROOT / "lab/preload"


def preload_library(name: str) -> Path | None:
    """The library of lab/preload/NAME.c; None without a C compiler."""
    source = SOURCES / f"{name}.c"
    library = BUILD / f"preload/{name}.so"
    newest = max(path.stat().st_mtime for path in (source, *SOURCES.glob("*.h")))
    if library.exists() and library.stat().st_mtime >= newest:
        return library
    partial = library.with_suffix(f".{os.getpid()}")
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        for compiler in ("cc", "gcc", "clang", "clang-19"):
            command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(partial), str(source), "-ldl"]
            with contextlib.suppress(FileNotFoundError):
                if subprocess.run(command, check=False, capture_output=True).returncode == 0:
                    partial.replace(library)
                    return library
    except OSError as error:
        raise LabError(f"{library} cannot be written ({error.strerror}); make room.") from error
    return None

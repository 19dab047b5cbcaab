"""The default places of files.

An installed wheel brings the sources of the programs as data. They are copied into the user's cache
once, because builds write beside them; that copy then serves as the checkout.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from threadmark.model.errors import LabError

_PACKAGED = Path(__file__).resolve().parents[1] / "checkout"  # in a wheel
INSTALLED = _PACKAGED.is_dir()


def cached(packaged: Path, cache: Path, prefix: Path) -> Path:
    """The copy of `packaged` below `cache` for the Python environment `prefix`, made if absent.
    Raises LabError if it cannot be written."""
    digest = hashlib.sha256(str(prefix).encode())
    for path in sorted(each for each in packaged.rglob("*") if each.is_file()):
        digest.update(str(path.relative_to(packaged)).encode() + path.read_bytes())
    folder = cache / digest.hexdigest()[:16]
    if folder.is_dir():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            whole = Path(scratch) / "checkout"
            shutil.copytree(packaged, whole)
            (whole / ".venv").symlink_to(prefix)  # its libraries and tools are found as in ours
            whole.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # else another first start was faster
            raise LabError(
                f"The programs cannot be copied to {cache} ({error.strerror}); set XDG_CACHE_HOME "
                "to a folder that can be written."
            ) from error
    return folder


def _root() -> Path:
    if not INSTALLED:
        return Path(__file__).resolve().parents[3]
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cached(_PACKAGED, caches / "threadmark", Path(sys.prefix))


ROOT = _root()  # the checkout
BUILD = ROOT / "build"
DEFAULT_STORE = Path("results/threadmark.db") if INSTALLED else ROOT / "results/threadmark.db"


def hint(store: Path, *words: object) -> str:
    """The command line for a command about a run of `store`, with the store's name unless it is the
    usual one."""
    return shlex.join(["./threadmark", *map(str, words), *named(store)])


def named(store: Path) -> list[str]:
    """The option that names a store, unless it is the usual one."""
    usual = store.absolute() == DEFAULT_STORE.absolute()
    return [] if usual else ["--store", str(store)]


def report_path(store: Path, run_id: int) -> Path:
    """The path of the report of a run: beside its store, with the store's name unless it is the
    usual one."""
    name = "" if store.name == DEFAULT_STORE.name else f"{store.name.removesuffix('.db')}-"
    return store.with_name(f"report-{name}{run_id}.html")

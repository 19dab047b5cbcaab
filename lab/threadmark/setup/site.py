"""Builds the documents as a site: installs the generator, copies the Markdown files, checks links.

The generator's packages have their own lock file and come below .deps, so that no measuring command
waits for them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from threadmark.model.errors import LabError
from threadmark.model.places import BUILD, ROOT
from threadmark.setup import python_environment

LOCK = ROOT / "docs/site/requirements.lock"
SOURCE = BUILD / "docs-source"
SITE = BUILD / "docs"
_PACKAGES = ROOT / ".deps/docs"
_STAND_IN = '<script src="https://unpkg.com/iframe-worker/shim"></script>'
_FETCHED = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(https?://[^"]*)"')
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)|!\[[^\]]*\]\(([^)\s]+)\)")


def build(*, install: bool) -> Path:
    """The first page of the site. LabError with the findings if a link is broken."""
    packages = _packages(install=install)
    stage(ROOT, SOURCE)
    environment = {**os.environ, "PYTHONPATH": str(packages), "NO_MKDOCS_2_WARNING": "1"}
    line = [sys.executable, "-P", "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*line, "--config-file", str(ROOT / "docs/site/mkdocs.yml")],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    if done.returncode != 0:
        said = "\n".join(each for each in done.stderr.splitlines() if each.strip())
        raise LabError(f"The site was not built; repair these faults and start again:\n{said}")
    _keep_from_network(SITE)
    return SITE / "index.html"


def _keep_from_network(site: Path) -> None:
    """Take the theme's stand-in for Workers out of the pages, because it would come from the
    network, and docs/site/file_worker.js replaces it. LabError if a page requests any other file
    from the network."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8").replace(_STAND_IN, "")
        if found := _FETCHED.search(text):
            raise LabError(f"{path} fetches {found[1]}; the site must open without a network.")
        path.write_text(text, encoding="utf-8")


def _packages(*, install: bool) -> Path:
    """The folder with the packages of the lock file, installed if they are absent or differ."""
    if not python_environment.unpacked(LOCK, _PACKAGES):
        if not install:
            raise LabError(
                "The packages of docs/site/requirements.lock are not installed in .deps/docs; "
                "./threadmark docs installs them."
            )
        print(
            "threadmark: installing the packages of docs/site/requirements.lock by pip into "
            ".deps/docs (once)",
            file=sys.stderr,
        )
        python_environment.unpack_lock(LOCK, _PACKAGES)
    return _PACKAGES


def stage(root: Path, source: Path) -> None:
    """Copy the documents of a checkout and the files that they link to, each to the same place
    below `source`. A link to a folder becomes a link to a page that lists the folder. LabError for
    a broken link."""
    shutil.rmtree(source, ignore_errors=True)
    folders: set[Path] = set()
    for path in documents(root):
        text = path.read_text(encoding="utf-8")
        for target in _targets(path, text):
            if not target.exists():
                name = path.relative_to(root)
                raise LabError(f"{name} links to {target}, which does not exist; mend the link.")
            if target.is_dir():
                folders.add(target)
                text = _to_listing(text, path, target)
            elif target.suffix != ".md":
                _copy(target, root, source)
        _write(source / path.relative_to(root), text)
    for folder in folders:
        _write(source / folder.relative_to(root) / "listing.md", _listing(folder))
    for asset in ("site.css", "file_worker.js"):
        _copy(root / "docs/site" / asset, root, source)


def documents(root: Path) -> list[Path]:
    """The Markdown files for readers: not those of tests and of programs."""
    folders = ("docs", "apps", "include", "probe")
    found = [each for name in folders for each in (root / name).rglob("*.md")]
    return sorted([*root.glob("*.md"), *found])


def _targets(path: Path, text: str) -> Iterator[Path]:
    """The targets of the relative links of a document."""
    for match in _LINK.finditer(_without_code(text)):
        target = match[1] or match[3]
        if not re.match(r"[a-z]+:", target):
            yield Path(os.path.normpath(path.parent / target))


def _without_code(text: str) -> str:
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def _to_listing(text: str, path: Path, folder: Path) -> str:
    relative = os.path.relpath(folder, path.parent)
    pattern = rf"\]\({re.escape(relative)}/?\)"
    return re.sub(pattern, f"]({relative}/listing.md)", text)


def _listing(folder: Path) -> str:
    names = sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))
    return f"# {folder.name}\n\n" + "".join(f"* `{name}`\n" for name in names)


def _copy(path: Path, root: Path, source: Path) -> None:
    target = source / path.relative_to(root)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")

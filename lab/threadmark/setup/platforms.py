"""Platforms: compiler + standard library. Each is a configure preset that names its packages.

A preset in CMakePresets.json is a platform when it has the field `vendor.threadmark.packages`, the
Debian packages it needs; adding a platform edits nothing else. More fields of `vendor.threadmark`:
`optional`, true for a platform that is measured only if it is named; `private`, the packages that
are unpacked for it alone (private.py): the `folder` below .deps, and there `packages` of Debian or
`wheels` of PyPI.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadmark.model.places import ROOT
from threadmark.setup import apt

_PROBE = "#include <future>\nint main() { return std::async([] { return 0; }).get(); }\n"


@dataclass(frozen=True)
class Private:
    """The private packages of a platform, beside the installed ones. `wheels` are lines for pip,
    with hashes: they bring whole toolchains and come only on request."""

    folder: Path
    packages: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()

    def present(self) -> bool:
        """Whether the private folder is present; it is never there in part."""
        return self.folder.is_dir()


@dataclass(frozen=True)
class Platform:
    """One preset. `flags` choose the standard library; `compiler` may have words after a `;`."""

    name: str
    compiler: str
    flags: tuple[str, ...]
    packages: tuple[str, ...]
    optional: bool = False
    private: Private | None = None

    def missing(self) -> str:
        """The reason for which programs cannot be built for the platform, with the remedy; empty if
        they can."""
        if self.private and not self.private.present():
            parts = ", ".join(
                each.split()[0] for each in self.private.packages + self.private.wheels
            )
            return f"{parts} is not unpacked here; run: ./threadmark setup --platforms {self.name}"
        remedy = f"run: {apt.install_command(self.packages)}"
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "probe.cpp"
            source.write_text(_PROBE, encoding="ascii")
            command = [
                *self.compiler.split(";"),
                *self.flags,
                "-std=c++20",
                str(source),
                "-pthread",
            ]
            try:
                done = subprocess.run(
                    [*command, "-o", f"{folder}/probe"], check=False, capture_output=True
                )
            except OSError:
                return f"the compiler {self.compiler} is not installed; {remedy}"
        if done.returncode != 0:
            return f"{self.compiler} {' '.join(self.flags)} cannot build a program; {remedy}"
        return ""


def platforms(root: Path = ROOT) -> list[Platform]:
    """All platforms, in the order of the presets."""
    presets = json.loads((root / "CMakePresets.json").read_text(encoding="utf-8"))
    result = []
    for preset in presets["configurePresets"]:
        ours = preset.get("vendor", {}).get("threadmark")
        if ours is not None:
            variables = preset.get("cacheVariables", {})
            names = ("CMAKE_CXX_FLAGS", "CMAKE_EXE_LINKER_FLAGS")
            flags = shlex.split(" ".join(variables.get(each, "") for each in names))
            compiler = variables.get("CMAKE_CXX_COMPILER", "c++")
            result.append(
                Platform(
                    name=preset["name"],
                    compiler=compiler.replace("${sourceDir}", str(root)),
                    flags=tuple(each.replace("${sourceDir}", str(root)) for each in flags),
                    packages=tuple(ours["packages"]),
                    optional=ours.get("optional", False),
                    private=_private(ours["private"], root) if "private" in ours else None,
                )
            )
    return result


def _private(fields: dict[str, Any], root: Path) -> Private:
    return Private(
        folder=root / ".deps" / fields["folder"],
        packages=tuple(fields.get("packages", ())),
        wheels=tuple(fields.get("wheels", ())),
    )

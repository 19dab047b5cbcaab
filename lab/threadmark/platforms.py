"""Platforms: compiler + standard library. Each is a configure preset that names its packages.

A preset in CMakePresets.json is a platform when it has the field `vendor.threadmark.packages`, the
Debian packages it needs; adding a platform edits nothing else.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from threadmark import apt
from threadmark.places import ROOT

_PROBE = "#include <future>\nint main() { return std::async([] { return 0; }).get(); }\n"


@dataclass(frozen=True)
class Platform:
    """One preset. `flags` choose the standard library."""

    name: str
    compiler: str
    flags: tuple[str, ...]
    packages: tuple[str, ...]

    def missing(self) -> str:
        """Why programs cannot be built for it, with the remedy; empty if they can."""
        remedy = f"run: {apt.install_command(self.packages)}"
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "probe.cpp"
            source.write_text(_PROBE, encoding="ascii")
            command = [self.compiler, *self.flags, "-std=c++20", str(source), "-pthread"]
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
            result.append(
                Platform(
                    name=preset["name"],
                    compiler=variables.get("CMAKE_CXX_COMPILER", "c++"),
                    flags=tuple(variables.get("CMAKE_CXX_FLAGS", "").split()),
                    packages=tuple(ours["packages"]),
                )
            )
    return result

"""Another version of the standard library that the program is linked with."""

from __future__ import annotations

import os
from pathlib import Path

from threadmark.fixes.fix import Fix, NotApplicableError, Setting, Target
from threadmark.fixes.preloading import IN_IMAGE, copied
from threadmark.model.places import ROOT

_NAMES = ("libstdc++.so.6", "libc++.so.1")
_PLACES = (
    "/usr/local/lib64/{}", "/usr/local/lib/{}", "/opt/*/lib64/{}", "/opt/*/lib/{}",
    "/usr/lib/llvm-*/lib/{}",
)  # fmt: skip
_OWN = ".deps/*/usr/lib/**/{}"
_PATH = "LD_LIBRARY_PATH"


def _setting(target: Target) -> Setting:
    target.needs_loader()
    name = next((each for each in _NAMES if target.links(each)), "")
    if not name:
        raise NotApplicableError("it is not linked with a standard library of C++ that is shared")
    used = target.libraries_at.get(name, "")
    for place in _found(name):
        if not used or not place.samefile(used):
            old = target.environment.get(_PATH, "")
            folder = str(place.parent)
            return Setting(
                {_PATH: ":".join([folder, *([old] if old else [])])},
                setup=copied(place)[0],
                in_image={folder: IN_IMAGE},
            )
    raise NotApplicableError(f"there is no other {name} on this machine")


def _found(name: str) -> list[Path]:
    """The libraries, the newest first by the name of the file behind the link."""
    places = [path for each in _PLACES for path in Path("/").glob(each.format(name)[1:])]
    places += ROOT.glob(_OWN.format(name))
    there = [each for each in places if each.exists()]
    return sorted(there, key=os.path.realpath, reverse=True)


FIX = Fix(
    name="other-library",
    kind="library",
    what="another version of the standard library",
    helps=("mutex", "atomic", "allocator"),
    risk="An older library may lack functions that the program needs.",
    setting=_setting,
)

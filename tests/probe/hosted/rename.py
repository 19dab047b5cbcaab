#!/usr/bin/env python3
"""Gives the functions that the agent wraps other names, in objects of the agent and of its host.

Each name of the C library that the agent defines becomes hosted_NAME, in its definition and in its
calls. The function with which the agent looks up functions also gets such a name. Other objects
keep the names.
Usage: rename.py OBJCOPY NM FOLDER DEFINING_OBJECT... -- CALLING_OBJECT...
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def _hosted(name: str) -> str:
    """The new name. `name@version` is an old version, `name@@version` is the version of new
    callers."""
    plain, at, version = name.partition("@")
    old = at and not version.startswith("@") and plain not in ("dlsym", "dlvsym")
    return f"hosted_{'old_' if old else ''}{plain}"


def main() -> int:
    objcopy, nm, folder, *objects = sys.argv[1:]
    apart = objects.index("--")
    defining, calling = objects[:apart], objects[apart + 1 :]
    line = [nm, "-P", "--extern-only", *defining]
    listed = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    words = [each.split() for each in listed.splitlines()]
    defined = [each[0] for each in words if len(each) > 2 and each[1] in "TW"]
    names = {name for name in defined if not name.startswith(("_ZN", "_ZT", "threadmark_"))}
    wanted = {each[0] for each in words if len(each) > 1 and each[1] == "U"}
    lookups = {name for name in wanted if name.partition("@")[0] in ("dlsym", "dlvsym")}
    if len(names) < 50 or not lookups:
        print(f"rename: {len(names)} functions and {sorted(lookups)}: these are not the agent's")
        return 1
    own = {name: _hosted(name) for name in names | lookups}
    asked = {name.partition("@")[0]: f"hosted_{name.partition('@')[0]}" for name in names}
    for table, paths in ((own, defining), (asked, calling)):
        file = Path(folder) / "names"
        lines = [f"{name} {new}\n" for name, new in sorted(table.items())]
        file.write_text("".join(lines), encoding="utf-8")
        for path in map(Path, paths):
            line = [objcopy, f"--redefine-syms={file}", str(path), str(Path(folder) / path.name)]
            subprocess.run(line, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

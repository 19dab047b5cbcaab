"""Cleans up after a lab that was killed: `python orphans.py LAB GROUP...`, standard library only.

Its stdin is a pipe whose other end only the lab holds. When the lab ends, in whatever way, the
pipe closes, and every program that still carries the lab's mark dies.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from threadmark.machine import cgroups, processes


def main(lab: str, folders: list[str]) -> None:
    """Wait for the end of `lab`, then clean up."""
    while os.read(0, 4096):
        pass
    for folder in folders:
        cgroups.remove(Path(folder))
    processes.kill_marked(lab)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

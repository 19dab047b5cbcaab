"""The time until 1,000 tasks have met, with tmk and with std.

    meeting.py STD TMK [--tasks 1000] [--pairs 7]
    cmake --build build/PLATFORM --target bars.meeting

The tasks meet at a latch, at a condition variable, or by polling with sleep_for(1ms). Each time is
one process; std and tmk run in turns. A figure is the mean of the ratios of the turns, tmk / std,
with its 95 % interval. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab"))
from threadmark.judge import estimates

BAR = 5.0


def seconds(executable: Path, how: str, tasks: int) -> float:
    """One process."""
    command = [str(executable), how, str(tasks)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> int:
    """See the module's docstring. Exit status 1 if a bar is not met."""
    parser = argparse.ArgumentParser(usage="meeting.py STD TMK [--tasks 1000] [--pairs 7]")
    parser.add_argument("std", type=Path)
    parser.add_argument("tmk", type=Path)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    print(f"{'tasks that meet by':<20} {'std, ms':>9} {'tmk, ms':>9}  tmk / std")
    good = True
    for how in ("latch", "condition", "poll"):
        times = [
            tuple(seconds(each, how, options.tasks) for each in (options.std, options.tmk))
            for _ in range(options.pairs)
        ]
        found = estimates.geometric_mean([tmk / std for std, tmk in times])
        middle = [1e3 * estimates.median(list(each)) for each in zip(*times, strict=True)]
        met = found.estimate <= BAR
        good = good and met
        print(
            f"{how:<20} {middle[0]:>9.0f} {middle[1]:>9.0f}  {found.estimate:.2f} "
            f"({found.low:.2f} .. {found.high:.2f}), bar {BAR:.0f}: {'met' if met else 'NOT MET'}",
            flush=True,
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

"""Compare the variants `fork_join` with the same programs written against their libraries by hand.

    byhand.py BY_HAND BIN [--rounds 15] [--json]
    cmake --build build/PLATFORM --target byhand

Pairs are BY_HAND/byhand.PROGRAM.BACKEND and BIN/PROGRAM.BACKEND. Both run in turns, so that they
share the other load of the machine. A ratio is of medians of the processes' fastest repeats; a
ratio above 1.10 is a failure. With --json the table goes to stderr, and its rows go to stdout.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

REPEATS = 5
ALLOWED = 1.10


def output(*command: str | Path) -> list[str]:
    """The lines that a process printed; its failure ends this program."""
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()


def contract_ns(executable: Path, threads: int) -> int:
    """The fastest repeat of one process of the suite's program."""
    lines = [
        json.loads(line)
        for line in output(
            executable,
            "--run",
            "--variant",
            "fork_join",
            "--threads",
            str(threads),
            "--repeats",
            str(REPEATS),
        )
    ]
    return min(
        int(line["wall_ns"]) for line in lines if line["event"] == "repeat" and not line["warmup"]
    )


def byhand_ns(executable: Path, threads: int, parameters: list[str]) -> int:
    """The fastest repeat of one process of the program written by hand."""
    return min(int(line) for line in output(executable, str(threads), str(REPEATS), *parameters))


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(usage="byhand.py BY_HAND BIN [--rounds 15] [--json]")
    parser.add_argument("by_hand", type=Path)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    out = sys.stderr if options.json else sys.stdout
    heads = f"{'program':<20} {'threads':>7} {'by hand ms':>11} {'ours ms':>9} {'ratio':>6}"
    print(heads, file=out)
    slower = []
    rows = []
    for hand in sorted(options.by_hand.glob("byhand.*")):
        ours = options.bin / hand.name.removeprefix("byhand.")
        description = json.loads(output(ours, "--describe")[0])
        parameters = [str(parameter["sizes"]["quick"]) for parameter in description["parameters"]]
        for threads in (1, 2):
            times = [
                (byhand_ns(hand, threads, parameters), contract_ns(ours, threads))
                for _ in range(options.rounds)
            ]
            by_hand, by_contract = (
                statistics.median(column) for column in zip(*times, strict=True)
            )
            ratio = by_contract / by_hand
            print(
                f"{ours.name:<20} {threads:>7} {by_hand / 1e6:>11.2f}"
                f" {by_contract / 1e6:>9.2f} {ratio:>6.2f}",
                file=out,
                flush=True,
            )
            met = ratio <= ALLOWED
            what = f"{ours.name}, {threads} thread{'s' * (threads > 1)}"
            rows.append({"what": what, "figure": ratio, "bar": f"<= {ALLOWED:.2f}", "met": met})
            if not met:
                slower.append(f"{ours.name} with {threads} threads")
    if options.json:
        print(json.dumps({"rounds": options.rounds, "rows": rows}))
    if slower:
        sys.exit(f"more than {ALLOWED - 1:.0%} slower than by hand: {', '.join(slower)}")


if __name__ == "__main__":
    main()

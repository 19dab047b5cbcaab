"""Programs with given behaviour for the lab to measure: one for each way of ending.

A fake is one small Python script that follows the contract of ARCHITECTURE.md, then misbehaves.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_SCRIPT = """\
#!{python} -IS
import json, os, signal, sys, time
NAME, VARIANTS, PARAMETERS = {name!r}, {variants!r}, {parameters!r}
ALLOCATES = {allocates!r}
program, backend = NAME.split(".")
def say(**line):
    print(json.dumps(line), flush=True)
def tell(text):
    print(text, file=sys.stderr, flush=True)
words = sys.argv[1:]
def option(name, default=""):
    return words[words.index(name) + 1] if name in words else default
if "--describe" in words and backend == "threads":
    say(program=program, kind="contention", backend=backend, backend_version="fake 1",
        summary="a fake", operation="nothing", origin="", contract=1, allocates=ALLOCATES,
        variants=VARIANTS,
        platform=dict(compiler="none", standard_library="fake 1", c_library="none", flags=""))
    sys.exit(0)
if "--describe" in words:
    say(program=program, backend=backend, backend_version="fake 1", summary="a fake",
        structure="", granularity="", synchronisation="", origin="", contract=1, input="",
        variants=VARIANTS, parameters=PARAMETERS,
        platform=dict(compiler="none", standard_library="none", c_library="none", flags=""))
    sys.exit(0)
counts = [int(each) for each in option("--threads").split(",")]
threads = max(counts)
def start(**other):
    say(**(dict(event="start", program=program, backend=backend, backend_version="fake 1",
        variant=option("--variant"), threads=threads, size=option("--size"), seed=1,
        arguments={{}}, cpus=len(os.sched_getaffinity(0))) | other))
def repeats(wall_ns=20_000_000, slowed=1.0, ok=True):
    for index in range(1 + int(option("--repeats"))):
        say(event="repeat", repeat=index, warmup=index == 0, wall_ns=wall_ns, cpu_ns=wall_ns,
            run_delay_ns=0, voluntary_switches=0, yardstick_ns=11_500.0 * slowed,
            max_rss_bytes=1 << 20, tasks=1, nodes=0, answer="42", ok=ok)
def rounds(speedup=1.9, count=9, one=1e6, **other):
    for index in range(1 + count):
        for p in counts:
            each = one * (1 if p == 1 else speedup / p)
            say(**(dict(event="repeat", repeat=index, warmup=index == 0, threads=p, wall_ns=4e6,
                operations=4000, per_second=each, slowest_per_second=each * 0.9,
                fastest_per_second=each, overlap=1.0, yardstick_ns=20_000, run_delay_ns=0,
                max_rss_bytes=1 << 20, ok=True) | other))
def end(status="ok", reason="", code=0):
    say(event="end", status=status, reason=reason)
    sys.exit(code)
{body}
"""

PARALLEL = [{"name": "futures", "parallel": True}]
SERIAL = [{"name": "plain", "parallel": False}]
GOOD = "start(); repeats(); end()"
CONTENDED = "start(); rounds(); end()"

PARAMETERS = [
    {
        "name": "n",
        "meaning": "size",
        "min": 0,
        "max": 45,
        "sizes": {"smoke": 5, "quick": 10, "full": 20},
    }
]


def write(
    folder: Path,
    name: str,
    body: str = GOOD,
    platform: str = "fake",
    variants: Sequence[dict[str, object]] = (),
    *,
    allocates: bool = False,
) -> Path:
    """Make the executable PLATFORM/bin/NAME below `folder`; NAME is program.backend."""
    path = folder / platform / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    variants = variants or (SERIAL if name.endswith(".serial") else PARALLEL)
    path.write_text(
        _SCRIPT.format(
            python=os.path.realpath(sys.executable),
            name=name,
            variants=variants,
            parameters=PARAMETERS,
            allocates=allocates,
            body=body,
        ),
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path


def way(name: str, **changes: object) -> dict[str, object]:
    """A way of a contention program, as the program describes it."""
    usual: dict[str, object] = {"meaning": "a fake", "remedy": False, "parallel": True}
    return {"name": name, **usual, "use": "threads", "lacks": "", **changes}


def contend(
    folder: Path,
    program: str,
    ways: Sequence[dict[str, object]],
    body: str = CONTENDED,
    **options: object,
) -> Path:
    """Make a contention program; `platform` and `allocates` may be among the options."""
    allocates = bool(options.get("allocates", False))
    platform = str(options.get("platform", "fake"))
    return write(folder, f"{program}.threads", body, platform, list(ways), allocates=allocates)


def calibrate(folder: Path, platform: str = "fake", free: float = 1.98, bound: float = 0.3) -> Path:
    """Make the calibration. It passes unless the caller gives other numbers."""
    body = f"start(); rounds({free} if option('--variant') == 'arithmetic' else {bound}); end()"
    ways = [way("arithmetic"), way("shared_atomic")]
    return contend(folder, "calibration", ways, body, platform=platform)


def lines(text: str) -> list[dict[str, object]]:
    """JSON lines as objects."""
    return [json.loads(line) for line in text.splitlines()]

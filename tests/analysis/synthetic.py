"""Makes a realistic run without measuring anything, for tests of everything that shows results.

Fourteen programs on five backends and two platforms, with each way to fail, and with disturbed and
dropped cells. `hostile` adds names that try to be markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from threadmark.model.cell import Cell, Row, Status
from threadmark.store.store import Store

PLATFORMS = {
    "gcc-libstdc++": {"compiler": "GCC 12.2.0", "standard_library": "libstdc++ 12"},
    "clang-libc++": {"compiler": "Clang 19.1.7", "standard_library": "libc++ 19"},
}
# A program: serial milliseconds, tasks, share of the work that runs in parallel, needs a lock.
PROGRAMS = {
    "alignment": (62.0, 4950, 0.995, False),
    "fft": (41.0, 131_070, 0.97, False),
    "fib": (5.1, 2_692_536, 0.999, False),
    "floorplan": (88.0, 312_000, 0.97, False),
    "health": (71.0, 410_000, 0.96, True),
    "intersim": (47.0, 63_953, 0.80, True),
    "nqueens": (33.0, 180_000, 0.99, False),
    "pyramids": (96.0, 11_234, 0.93, False),
    "qap": (58.0, 98_000, 0.97, False),
    "round": (52.0, 512, 0.98, True),
    "sort": (79.0, 8_200, 0.96, False),
    "sparselu": (66.0, 11_675, 0.97, False),
    "strassen": (84.0, 2_800, 0.90, False),
    "uts": (92.0, 1_100_000, 0.98, False),
}
NODES = {"floorplan": 1_900_000, "qap": 420_000}
# A backend's variants with nanoseconds per task, and whether they run in parallel.
BACKENDS = {
    "serial": {"plain": (0.0, False), "locked": (0.4, False)},
    "std_async": {
        "deferred": (45.0, False),
        "async": (11_000.0, True),
        "optional": (11_000.0, True),
    },
    "tbb": {"futures": (150.0, True), "fork_join": (72.0, True)},
    "openmp": {"futures": (310.0, True), "fork_join": (260.0, True)},
    "boost_fiber": {"futures": (900.0, True)},
}
FORK_JOIN = {"fib", "nqueens", "sort", "strassen", "pyramids"}
LIMIT = 30.0  # a process may take this many times the serial time


@dataclass(frozen=True)
class Lab:
    """The sizes of a run: thread counts, rounds, platforms; `rename` maps the names of programs."""

    threads: Sequence[int] = (1, 2)
    rounds: int = 6
    platforms: Sequence[str] = tuple(PLATFORMS)
    programs: Sequence[str] = tuple(PROGRAMS)
    seed: int = 7
    noise: float = 0.02
    hostile: bool = False


HOSTILE = {"fib": "</script><script>alert(1)</script>", "sort": "<img src=x onerror=alert(2)>"}


def fill(store: Store, lab: Lab = Lab()) -> int:
    """Add one finished run to `store`; returns its number."""
    machine = {
        "processor": "Example CPU 2.60 GHz",
        "processors": max(lab.threads),
        "cores": max(lab.threads),
        "sockets": 1,
        "memory_bytes": 16 << 30,
        "kernel": "Linux 6.1.0",
        "caches": {"L1d": "32K", "L2": "1M", "L3": "32M"},
        "commit": "0123456789ab",
        "executables": {
            f"{p}/{name}.tbb": 64 * "a" for p in lab.platforms for name in lab.programs
        },
    }
    run_id = store.start_run(
        "quick", lab.seed, {"profile": "quick", "threads": list(lab.threads)}, machine
    )
    rng = np.random.default_rng(lab.seed)
    cells = list(_cells(lab))
    for platform in lab.platforms:
        for program in lab.programs:
            for backend in BACKENDS:
                store.add_description(
                    run_id, platform, _description(program, backend, platform, lab)
                )
    rows = []
    for round_number in range(lab.rounds):
        for index in rng.permutation(len(cells)):
            row = _row(cells[index], round_number, rng, lab)
            if row is not None:
                rows.append(row)
    store.append_all(run_id, rows)
    store.add_note(
        run_id, "The time budget of 300 s was used up: 2 cells of uts were not measured."
    )
    store.add_note(
        run_id, "boost_fiber is unavailable on clang-libc++: Boost.Fiber is built for libstdc++."
    )
    store.finish(run_id)
    return run_id


def _named(program: str, lab: Lab) -> str:
    return HOSTILE.get(program, program) if lab.hostile else program


def _variants(program: str, backend: str) -> dict[str, tuple[float, bool]]:
    return {
        name: kind
        for name, kind in BACKENDS[backend].items()
        if (name != "fork_join" or program in FORK_JOIN)
        and (name != "locked" or PROGRAMS[program][3])
    }


def _description(program: str, backend: str, platform: str, lab: Lab) -> dict[str, object]:
    return {
        "program": _named(program, lab),
        "summary": f"what {program} does",
        "structure": "recursive balanced",
        "granularity": "fine",
        "synchronisation": "none",
        "origin": "new",
        "backend": backend,
        "backend_version": f"{backend} 1.0",
        "variants": [
            {"name": n, "parallel": p} for n, (_, p) in _variants(program, backend).items()
        ],
        "platform": {**PLATFORMS[platform], "c_library": "glibc 2.36", "flags": "-O3"},
        "parameters": [],
        "input": "",
        "contract": 1,
    }


def _cells(lab: Lab) -> Iterator[tuple[str, Cell]]:
    for platform in lab.platforms:
        for program in lab.programs:
            for backend in BACKENDS:
                for variant, (_, parallel) in _variants(program, backend).items():
                    for threads in lab.threads if parallel else (1,):
                        yield (
                            program,
                            Cell(
                                _named(program, lab),
                                "quick",
                                backend,
                                variant,
                                platform,
                                "glibc",
                                threads,
                            ),
                        )


def _fault(program: str, cell: Cell) -> tuple[Status, str] | None:
    fiber, many = cell.backend == "boost_fiber", cell.threads > 1
    faults = (
        (
            fiber and cell.platform == "clang-libc++",
            Status.UNAVAILABLE,
            "Boost.Fiber is built for libstdc++; measure it on gcc-libstdc++",
        ),
        (
            program == "uts" and cell.backend == "openmp" and cell.platform == "clang-libc++",
            Status.DROPPED,
            "the time budget of the run was used up",
        ),
        (fiber and program == "qap", Status.CRASHED, "ended by signal 11 (segmentation fault)"),
        (
            fiber and many and program == "sparselu",
            Status.WRONG,
            "residual 3.1e-2, at most 1e-9 is allowed",
        ),
        (
            program == "uts" and cell.variant in ("async", "optional"),
            Status.REFUSED,
            "thread 15000 was refused; the lab allows 15000 on this machine",
        ),
        (
            fiber and not many and program == "strassen",
            Status.OUT_OF_MEMORY,
            "resident set beyond the limit of 8 GiB",
        ),
    )
    return next(((status, reason) for hit, status, reason in faults if hit), None)


def _row(
    named: tuple[str, Cell], round_number: int, rng: np.random.Generator, lab: Lab
) -> Row | None:
    program, cell = named
    serial_ms, tasks, share, locked = PROGRAMS[program]
    per_task, parallel = BACKENDS[cell.backend][cell.variant]
    executable = f"build/{cell.platform}/bin/{cell.program}.{cell.backend}"
    options = f"--threads {cell.threads} --variant {cell.variant} --size quick"
    command = (executable, "--run", *options.split())
    contention = 1 + (0.9 if locked and cell.variant != "plain" else 0.0) * (cell.threads - 1)
    work = serial_ms * contention + tasks * per_task / 1e6
    slow = 1.06 if cell.platform == "clang-libc++" else 1.0
    time_ms = slow * work * (1 - share + share / cell.threads)
    time_ms *= (1 + 0.03 * np.sin(round_number)) * float(np.exp(rng.normal(0, lab.noise)))
    limit = f"no end within {LIMIT * serial_ms / 1e3:.1f} s, {LIMIT:.0f} times serial"
    fault = _fault(program, cell)
    if fault is None and time_ms > LIMIT * serial_ms:
        fault = Status.TIMEOUT, limit
    if fault is not None:  # tried once
        status, reason = fault
        return None if round_number else Row(cell, 0, status, reason, command=command)
    wall = int(time_ms * 1e6)
    repeat = {
        "event": "repeat",
        "wall_ns": wall,
        "cpu_ns": wall * cell.threads,
        "run_delay_ns": 1000,
        "voluntary_switches": 3,
        "max_rss_bytes": 4 << 20,
        "tasks": tasks if parallel else 0,
        "nodes": int(NODES.get(program, 0) * float(rng.uniform(0.9, 1.3))),
        "answer": "42",
        "ok": True,
    }
    return Row(
        cell=cell,
        round=round_number,
        status=Status.OK,
        sample_ns=float(wall),
        repeats=(
            {**repeat, "repeat": 0, "warmup": True},
            {**repeat, "repeat": 1, "warmup": False},
        ),
        command=command,
        started_at="2025-01-02T03:04:05+00:00",
        disturbed="another process took 31 % of the processor" if _disturbs(program, cell) else "",
    )


def _disturbs(program: str, cell: Cell) -> bool:
    return program == "round" and cell.backend == "openmp" and cell.threads == 2

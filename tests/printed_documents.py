"""Every JSON document that a command prints, made by the commands with small made-up programs.

`all_documents(folder)` runs them in this process, in that folder; a document is under the name of
its schema in docs/schemas/.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from explain.analysis.made import MAIN, Made, waits, works
from lab.lab_support import store_again
from threadmark import cli
from threadmark.judge.estimates import Interval
from threadmark.kinds.explain import functions
from threadmark.kinds.gates import demands
from threadmark.machine import load
from threadmark.present import plain

from lab import fakes
from lab import test_students as made_students

Documents = list[tuple[str, dict[str, Any]]]
# The program that try and gate run takes half as long on two threads.
PROGRAM = '#!/bin/sh\n[ "$1" = 2 ] && sleep 0.02 || sleep 0.04\necho done\n'
COLUMNS = ("clang", "clang_limit64", "gcc", "gcc_limit64", "win_x86")


def all_documents(folder: Path) -> Documents:
    """All documents; `folder` must exist and be empty."""
    # compare needs undisturbed rounds, whatever else this machine does.
    quiet = mock.patch.object(load, "disturbance", lambda *_: "")
    with contextlib.chdir(folder), quiet:
        return [
            *_measured(folder),
            *_catalogue(folder),
            *_students(folder),
            *_imported(),
            *_explained(),
            *_own_program(),
            *_of_the_machine(),
        ]


def printed(*words: str, statuses: tuple[int, ...] = (0,)) -> Any:
    """The JSON that a command line prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as errors:
        status = cli.main(words)
    assert status in statuses, errors.getvalue()
    return json.loads(out.getvalue())


def _measured(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in ("fib.serial", "fib.tbb", "sort.serial", "sort.tbb"):
        fakes.write(folder / "programs", name)
    wrong = "start(); repeats(ok=False); end('wrong', 'no', 3)"
    fakes.write(folder / "programs", "fib.wrong", wrong)
    fakes.write(folder / "programs", "sort.gone", "tell('no'); sys.exit(2)")
    store = ("--store", "run.db")
    how = ("--executables", "programs", "--threads", "1,2", "--profile", "smoke", "--no-report")
    yield "plan", printed("run", *how, *store, "--dry-run", "--json")
    yield "run", printed("run", *how, *store, "--json", statuses=(1,))
    yield "run", printed("run", *how, *store, "--arg", "fib.n=7", "--json", statuses=(1,))
    yield "run", printed("show", *store, "--json")
    yield "run", printed("export", *store, "--format", "json")
    yield "summary", printed("export", *store, "--format", "summary")
    yield "report", printed("report", *store, "--json")
    yield "compare", printed("compare", "1", "2", *store, "--json")
    yield "compare", printed("compare", "tbb", "wrong", *store, "--json")
    more = ("--executables", "programs", "--threads", "1", "--programs", "sort", "--no-report")
    yield "run", printed("run", *more, *store, "--budget", "4s", "--json")
    fails = ("--fail-above", "5", "--json")
    yield "compare", printed("compare", "tbb", "serial", *store, *fails, statuses=(0, 1))
    yield "runs", printed("list", "runs", *store, "--json")


def _catalogue(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    programs = folder / "contention"
    fakes.calibrate(programs)
    ways = [fakes.way("bad"), fakes.way("missing", lacks="version 3 has it")]
    fakes.contend(programs, "facility", ways, "start(); rounds(0.4); end()")
    how = ("--executables", "contention", "--threads", "1,2", "--no-report", "--profile", "smoke")
    store = ("--store", "catalogue.db")
    yield "catalogue", printed("catalogue", *how, *store, "--json")
    yield "plan", printed("catalogue", *how, *store, "--dry-run", "--json")
    yield "catalogue-summary", printed("export", *store, "--format", "summary")
    store_again(Path("catalogue.db"))
    yield "compare", printed("compare", "last", "1", *store, "--json")


def _students(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    made_students.write(folder)
    words = ("students", *made_students.SMALL, "--threads", "2", "--store", "students.db")
    yield "students", printed(*words, "--json")


def _imported() -> Iterator[tuple[str, dict[str, Any]]]:
    policies = ("deferred", "optional", "async")
    columns = ",".join(f"{platform}:{policy}" for platform in COLUMNS for policy in policies)
    rows = [f"{p},{','.join([str(800 // p)] * 15)}" for p in (1, 2, 4, 8, 16, 32, 64)]
    rows[-1] = rows[-1].removesuffix("12") + "1"  # less than the work needs, so there is a doubt
    Path("results.csv").write_text("\n".join(["fib", f"#Cores,{columns}", *rows, ""]), "utf-8")
    yield "import", printed("import", "results.csv", "--store", "import.db", "--json")
    yield "table2", printed("show", "--table2", "--store", "import.db", "--json")


def _explained() -> Iterator[tuple[str, dict[str, Any]]]:
    lock = waits("mutex", 1, "Cache::get worker", MAIN + 1)
    made = Made().thread(MAIN, [lock, works()]).thread(MAIN + 1, works(), "main")
    Path("a.tmr").write_text("\n".join(made.thing(1, "mutex").text()), encoding="ascii")
    store = ("--store", "explain.db")
    yield "explain", printed("explain", "a.tmr", *store, "--json")
    yield "explain", printed("explain", "a.tmr", "--to", "0.1", *store, "--json")
    # A made-up record has no symbols, so the stacks of `show --function` are made up too.
    stacks = {
        "running": [(["malloc", "worker", "main"], 30), (["worker", "main"], 10)],
        "waiting": [(["read", "worker", "main"], 500, "io"), (["worker", "main"], 20, "lock")],
        "hot": {"worker": {"lines": [["m.c:7", 30]], "instructions": [["m+8", "lock inc", 30]]}},
    }
    yield "function", plain.document("function", functions.function(stacks, "worker").record())
    yield "compare-explain", printed("compare", "1", "2", *store, "--json")


def _own_program() -> Iterator[tuple[str, dict[str, Any]]]:
    program = Path("prog")
    program.write_text(PROGRAM, encoding="ascii")
    program.chmod(0o755)
    store = ("--store", "own.db")
    words = ("--only", "c-locale", "--budget", "5s", "--threads", "1,2", "--json")
    yield "try", printed("try", *store, *words, "--", "./prog", "{threads}")
    words = ("--min-efficiency", "0.7@2", "--budget", "3s", "--no-explain", "--json")
    yield "gate", printed("gate", *store, *words, "--", "./prog", "{threads}", statuses=(0, 1, 3))
    demands.write_baseline(Path("baseline.json"), ["./prog"], {2: Interval(1.4, 1.5, 1.6)})
    yield "gate-baseline", json.loads(Path("baseline.json").read_text(encoding="utf-8"))


def _of_the_machine() -> Iterator[tuple[str, dict[str, Any]]]:
    for what in ("programs", "backends", "platforms"):
        yield what, printed("list", what, "--json")
    yield "setup", printed("setup", "--no-install", "--json")
    yield "doctor", printed("doctor", "--pairs", "0", "--json", statuses=(0, 1))

"""Runs the model: every scenario of the runtime, and each of its memory orders left out in turn.

It takes minutes, so it is part of `check` and not of `test`; model.md describes its results. The
test copies the headers and shortens their waiting loops, so that there is little to explore.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
R = TypeVar("R")

EVERY = "1000"  # preemptions: as many as the scenario allows
HERE = Path(__file__).parent
HEADERS = HERE.parents[2] / "include" / "tmk"

SHORTER = (
    (
        "detail/spin_lock.hpp",
        "int spins = 0; !try_lock(); ++spins",
        "int spins = 0; model::when_zero(&word_), !try_lock(); ++spins",
    ),
    ("detail/spin_lock.hpp", "spins < 64", "spins < 0"),
    ("detail/deque.hpp", "max<std::size_t>(256", "max<std::size_t>(2"),
    ("detail/task_memory.hpp", "std::size_t{32} << 10", "std::size_t{256}"),
    ("detail/surplus.hpp", "kAtOnce = 32", "kAtOnce = 1"),
    ("detail/surplus.hpp", "kFewBlocks = 64", "kFewBlocks = 2"),
    ("detail/surplus.hpp", "sysconf(_SC_PAGESIZE) <=", "0 <="),
    ("detail/counter.hpp", "defined(__x86_64__)", "false"),
    ("detail/deque.hpp", "kFew = 16", "kFew = 1"),
    ("detail/wait.hpp", "helps ? 4'000 : 2'000", "helps ? 0 : 0"),
    ("detail/deque.hpp", "spins < 64", "spins < model::thieves_hear()"),
    ("detail/threads.hpp", "hold(ask(self))", "hold(model::threads_ask() && ask(self))"),
    ("detail/pool.hpp", "keeps_woken_threads_away()", "model::wakers_choose()"),
    ("detail/threads.hpp", "other.steal(true)", "other.steal(false)"),
    (
        "detail/threads.hpp",
        "constexpr int kLooks = 48, kPatientLooks = 4'000;",
        "model::begin_round(); constexpr int kLooks = 1, kPatientLooks = 1;",
    ),
    ("mutex.hpp", "spins < 100", "spins < 1"),
)

# Orders by tag and part that no scenario needs, with the reasons to keep them.
_BOTTOM = (
    "Who sees a bottom sees the entries below it, plainly. Here it is a hint: what the thread does "
    "with it, it decides under the lock, or it counts."
)
_ERASED = (
    "Who sees that an entry was claimed sees the mark on its task, plainly; without it the lock "
    "says so, as the owner leaves what thieves may claim, which is below split, only under it."
)
NOT_NEEDED = {
    ("read-bottom", "acquire"): _BOTTOM,
    ("pending-bottom", "acquire"): _BOTTOM,
    ("erase-claimed", "release"): _ERASED,
    ("skip-erased", "acquire"): _ERASED,
}

# Orders that no scenario reaches, with the reasons.
NOT_AT_WORK: dict[str, str] = {}


@dataclass(frozen=True)
class Order:
    """An explicit memory order, or a part of one, at the place where it was at work."""

    file: str
    line: int
    column: int
    part: str

    @property
    def tag(self) -> str:
        return tag_at(find(self.file), self.line, self.part)


def find(name: str) -> Path:
    return next(path for path in HEADERS.rglob("*.hpp") if path.name == name)


def tag_at(header: Path, line: int, part: str) -> str:
    """The tag of the nearest ORDER comment with this part, at the line or within seven above it."""
    above = "\n".join(header.read_text().splitlines()[max(0, line - 8) : line])
    tags = re.findall(r"// ORDER ([a-z0-9-]+): (\w+)", above)
    wanted = {part, "acq_rel"} if part != "fence" else set()
    return next((tag for tag, order in reversed(tags) if order in wanted), "")


@dataclass(frozen=True)
class Explored:
    """The result of a scenario."""

    name: str
    executions: int
    cut: int
    seconds: float
    failure: str
    orders: frozenset[Order]

    @classmethod
    def of(cls, row: dict[str, Any]) -> Explored:
        orders = frozenset(Order(*each) for each in row["orders"])
        return cls(
            row["scenario"], row["executions"], row["cut"], row["seconds"], row["failure"], orders
        )


def in_parallel(do: Callable[[T], R], jobs: Sequence[T]) -> list[R]:
    """The results of the jobs, in their order; as many at a time as there are processors."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(do, jobs))


class Model:
    """The executable and its calls."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("g++-12") or shutil.which("g++")
        if compiler is None:
            pytest.skip("g++ is missing; run: ./threadmark setup")
        shutil.copytree(HEADERS, folder / "tmk")
        for name, long, short in SHORTER:
            header = folder / "tmk" / name
            text = header.read_text()
            assert text.count(long) == 1, f"{name} has not one '{long}'"
            header.write_text(text.replace(long, short))  # so that line numbers stay
        warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
        common = [compiler, "-std=c++20", "-g", *warnings, f"-I{folder}", "-c"]
        # The instrumentation's calls end in the explorer, which must not be instrumented itself.
        watched = ["-O1", "-fsanitize=thread", "-fno-threadsafe-statics"]
        # The explorer jumps between stacks, which a hardened C library would take for a mistake.
        explorer = ["-O3", "-U_FORTIFY_SOURCE"]
        flags = {"explorer": explorer, "main": ["-O1"], "litmus": watched, "scenarios": watched}
        commands = [
            [*common, *more, str(HERE / f"{name}.cpp"), "-o", str(folder / f"{name}.o")]
            for name, more in flags.items()
        ]
        in_parallel(lambda command: subprocess.run(command, check=True), commands)
        self.executable = folder / "model"
        objects = [str(folder / f"{name}.o") for name in flags]
        subprocess.run([compiler, "-o", str(self.executable), *objects], check=True)

    def run(self, *words: str, membarrier: bool = True) -> tuple[int, list[dict[str, object]]]:
        """The exit status and the printed lines of a call."""
        environment = os.environ if membarrier else {**os.environ, "WITHOUT_MEMBARRIER": "1"}
        line = [str(self.executable), *words]
        done = subprocess.run(line, check=False, capture_output=True, text=True, env=environment)
        assert done.returncode in (0, 1), f"{words}: {done.returncode} {done.stderr}"
        return done.returncode, [json.loads(each) for each in done.stdout.splitlines()]

    @cached_property
    def scenarios(self) -> dict[bool, list[Explored]]:
        """The results of each, with membarrier and without; the quickest first."""
        command = [str(self.executable), "names"]
        named = subprocess.run(command, check=True, capture_output=True, text=True).stdout

        def explore(job: tuple[str, bool]) -> Explored:
            name, membarrier = job
            _, rows = self.run("scenarios", EVERY, name, membarrier=membarrier)
            return Explored.of(rows[0])

        jobs = [(name, each) for name in named.splitlines() for each in (True, False)]
        found = list(zip(jobs, in_parallel(explore, jobs), strict=True))
        return {
            membarrier: sorted(
                (each for job, each in found if job[1] == membarrier), key=lambda e: e.executions
            )
            for membarrier in (True, False)
        }

    def orders(self) -> list[Order]:
        """All orders beyond relaxed at work in the scenarios, with membarrier or without."""
        explored = [*self.scenarios[True], *self.scenarios[False]]
        own = {path.name for path in HERE.glob("*.cpp")}
        return sorted(
            {order for each in explored for order in each.orders if order.file not in own},
            key=lambda o: (o.file, o.line, o.part),
        )

    def finds(self, order: Order, most: int) -> bool:
        """Whether a scenario fails without it, with at most `most` preemptions.

        Only a scenario in which the order is at work can fail.
        """
        words = ("without", order.file, str(order.line), str(order.column), order.part, str(most))
        for membarrier, explored in self.scenarios.items():
            names = [each.name for each in explored if order in each.orders]
            if names and self.run(*words, *names, membarrier=membarrier)[0] == 0:
                return True
        return False


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return Model(tmp_path_factory.mktemp("model"))


def test_the_explorer_finds_what_the_memory_model_allows_and_nothing_else(model: Model) -> None:
    _, rows = model.run("litmus")
    assert rows
    assert [row for row in rows if not row["ok"]] == []


@pytest.mark.parametrize("membarrier", [True, False])
def test_every_scenario_holds_in_every_execution(model: Model, membarrier: bool) -> None:
    explored = model.scenarios[membarrier]
    for each in explored:
        print(f"{each.name}: {each.executions} executions ({each.cut} cut), {each.seconds} s")
    assert explored
    failures = [f"{each.name}: {each.failure}" for each in explored if each.failure]
    assert not failures, "\n".join(failures)


def test_every_order_of_the_headers_is_at_work_in_a_scenario(model: Model) -> None:
    seen = {(order.file, order.line) for order in model.orders()}
    idle = set()
    for header in sorted(HEADERS.rglob("*.hpp")):
        for number, line in enumerate(header.read_text().splitlines(), 1):
            code = line.split("//")[0]
            found = re.search(r"memory_order_(acquire|release|acq_rel)|[a-z]+_fence\(", code)
            # A call may begin some lines before its order. The fences themselves are functions, so
            # their callers stand for them.
            at_work = any((header.name, number - back) in seen for back in range(3))
            if found and not at_work and header.name != "fence.hpp":
                part = "release" if found[1] == "acq_rel" else found[1] or "fence"
                idle.add(tag_at(header, number, part) or f"{header.name}:{number}")
    assert idle == set(NOT_AT_WORK)


def test_a_scenario_fails_without_each_order(model: Model) -> None:
    def is_needed(order: Order) -> bool:
        expected = (order.tag, order.part) not in NOT_NEEDED
        return any(model.finds(order, most) for most in ((1, 2) if expected else (1,)))

    orders = model.orders()
    needed = in_parallel(is_needed, orders)
    not_needed = {
        (order.tag or f"{order.file}:{order.line}", order.part)
        for order, found in zip(orders, needed, strict=True)
        if not found
    }
    assert not_needed == set(NOT_NEEDED)

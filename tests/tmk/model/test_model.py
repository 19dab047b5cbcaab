"""Runs the model: every scenario of the runtime, and each of its memory orders left out in turn.

It takes minutes, so it is part of `check` and not of `test`; model.md says what it shows. The
headers are copied with their waiting loops shortened, so that there is little to explore in them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HEADERS = HERE.parents[2] / "include" / "tmk"

SHORTER = (
    ("detail/spin_lock.hpp", "spins < 64", "spins < 0"),
    ("detail/deque.hpp", "max<std::size_t>(256", "max<std::size_t>(2"),
    ("detail/task_memory.hpp", "std::size_t{32} << 10", "std::size_t{256}"),
    ("detail/deque.hpp", "kFew = 16", "kFew = 1"),
    ("detail/wait.hpp", "spins < 40", "spins < 0"),
    (
        "detail/threads.hpp",
        "constexpr int kLooks = 48;",
        "model::begin_round(); constexpr int kLooks = 1;",
    ),
    ("mutex.hpp", "spins < 100", "spins < 1"),
)

# Orders by tag and part that no scenario needs, and why they stay.
_BOTTOM = (
    "Who sees a bottom sees the entries below it, plainly; without it a thief may take a place "
    "that was just filled for an erased one, which the pusher's fence and unshare_pushed put right."
)
_ERASED = (
    "Who sees that an entry was claimed sees the mark on its task, plainly; without it the lock "
    "says so, as the owner leaves what thieves may claim, which is below split, only under it."
)
NOT_NEEDED = {
    ("publish-bottom", "release"): _BOTTOM,
    ("read-bottom", "acquire"): _BOTTOM,
    ("open-bottom", "acquire"): _BOTTOM,
    ("oldest-bottom", "acquire"): _BOTTOM,
    ("pending-bottom", "acquire"): _BOTTOM,
    ("erase-claimed", "release"): _ERASED,
    ("skip-erased", "acquire"): _ERASED,
}

# Orders that no scenario comes by, and why.
NOT_AT_WORK: dict[str, str] = {}


@dataclass(frozen=True)
class Order:
    """An explicit memory order, or the part of one, where it was seen at work."""

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
    """Of the nearest ORDER comment, at the line or within seven above it, that says the part."""
    above = "\n".join(header.read_text().splitlines()[max(0, line - 8) : line])
    tags = re.findall(r"// ORDER ([a-z0-9-]+): (\w+)", above)
    wanted = {part, "acq_rel"} if part != "fence" else set()
    return next((tag for tag, order in reversed(tags) if order in wanted), "")


class Model:
    """The executable, and how it is asked."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("g++-12") or shutil.which("g++")
        if compiler is None:
            pytest.skip("g++ is missing; run: ./threadmark setup")
        shutil.copytree(HEADERS, folder / "tmk")
        for name, long, short in SHORTER:
            header = folder / "tmk" / name
            text = header.read_text()
            assert text.count(long) == 1, f"{name} has not one '{long}'"
            header.write_text(text.replace(long, short))  # line numbers stay
        warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
        common = [compiler, "-std=c++20", "-g", *warnings, f"-I{folder}", "-c"]
        # The instrumentation's calls end in the explorer, which must not be instrumented itself.
        watched = ["-O1", "-fsanitize=thread", "-fno-threadsafe-statics"]
        flags = {"explorer": ["-O3"], "main": ["-O1"], "litmus": watched, "scenarios": watched}
        commands = [
            [*common, *more, str(HERE / f"{name}.cpp"), "-o", str(folder / f"{name}.o")]
            for name, more in flags.items()
        ]
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(lambda command: subprocess.run(command, check=True), commands))
        self.executable = folder / "model"
        objects = [str(folder / f"{name}.o") for name in flags]
        subprocess.run([compiler, "-o", str(self.executable), *objects], check=True)

    def run(self, *words: str, membarrier: bool = True) -> tuple[int, list[dict[str, object]]]:
        """Its exit status and what it printed."""
        environment = os.environ if membarrier else {**os.environ, "WITHOUT_MEMBARRIER": "1"}
        line = [str(self.executable), *words]
        done = subprocess.run(line, check=False, capture_output=True, text=True, env=environment)
        assert done.returncode in (0, 1), f"{words}: {done.returncode} {done.stderr}"
        return done.returncode, [json.loads(each) for each in done.stdout.splitlines()]

    def orders(self) -> list[Order]:
        """All beyond relaxed that are at work in the scenarios, with membarrier or without."""
        seen = set()
        with ThreadPoolExecutor(2) as pool:
            runs = pool.map(
                lambda membarrier: self.run("scenarios", "1", membarrier=membarrier), (True, False)
            )
        for _, rows in runs:
            seen |= {Order(*row["order"]) for row in rows if "order" in row}  # type: ignore[misc]
        own = {path.name for path in HERE.glob("*.cpp")}
        return sorted(
            (each for each in seen if each.file not in own), key=lambda o: (o.file, o.line)
        )

    def finds(self, order: Order, most: int) -> bool:
        """Whether a scenario fails without it, with at most so many preemptions."""
        words = ("without", order.file, str(order.line), str(order.column), order.part, str(most))
        return any(self.run(*words, membarrier=each)[0] == 0 for each in (True, False))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return Model(tmp_path_factory.mktemp("model"))


def test_the_explorer_finds_what_the_memory_model_allows_and_nothing_else(model: Model) -> None:
    _, rows = model.run("litmus")
    assert rows
    assert [row for row in rows if not row["ok"]] == []


@pytest.fixture(scope="module")
def explored(model: Model) -> dict[bool, list[dict[str, object]]]:
    """All scenarios with membarrier and without, explored side by side."""
    ways = (True, False)
    with ThreadPoolExecutor(len(ways)) as pool:
        runs = pool.map(lambda way: model.run("scenarios", membarrier=way)[1], ways)
        return dict(zip(ways, runs, strict=True))


@pytest.mark.parametrize("membarrier", [True, False])
def test_every_scenario_holds_in_every_execution(
    explored: dict[bool, list[dict[str, object]]], membarrier: bool
) -> None:
    scenarios = [row for row in explored[membarrier] if "scenario" in row]
    for row in scenarios:
        print(f"{row['scenario']}: {row['executions']} executions, {row['seconds']} s")
    assert scenarios
    failures = [f"{row['scenario']}: {row['failure']}" for row in scenarios if row["failure"]]
    assert not failures, "\n".join(failures)


def test_every_order_of_the_headers_is_at_work_in_a_scenario(model: Model) -> None:
    seen = {(order.file, order.line) for order in model.orders()}
    idle = set()
    for header in sorted(HEADERS.rglob("*.hpp")):
        for number, line in enumerate(header.read_text().splitlines(), 1):
            code = line.split("//")[0]
            found = re.search(r"memory_order_(acquire|release|acq_rel)|[a-z]+_fence\(", code)
            # A call may begin some lines before its order. The fences themselves are functions,
            # which stand for their callers.
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
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        needed = list(pool.map(is_needed, orders))
    not_needed = {
        (order.tag or f"{order.file}:{order.line}", order.part)
        for order, found in zip(orders, needed, strict=True)
        if not found
    }
    assert not_needed == set(NOT_NEEDED)

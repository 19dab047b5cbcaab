"""The code of each card builds with each standard library, and does as the card says.

A driver, snippets/NAME.cpp, has the surroundings that the code assumes; each of its lines
`// snippet` stands for the code. It may hold `// uses: TBB` and, for a platform that cannot build
the code, `// lacks: PLATFORM: reason`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from threadmark.kinds.catalogue import cards
from threadmark.model.places import ROOT
from threadmark.setup import platforms

DRIVERS = ROOT / "tests/programs/snippets"
PROGRAMS = sorted(each.stem for each in cards.FOLDER.glob("*.md"))
PLATFORMS = {each.name: each for each in platforms.platforms() if not each.optional}
JOBS = 2
PLACE = "// snippet"

Built = tuple[Path, subprocess.CompletedProcess[str]]  # the executable, how the compiler ended
Build = Callable[[str, str], Future[Built]]


def said(program: str, word: str) -> list[str]:
    """The texts of a driver's lines `// word: `."""
    text = (DRIVERS / f"{program}.cpp").read_text(encoding="utf-8")
    return re.findall(rf"^// {word}: (.+)$", text, flags=re.MULTILINE)


def surrounded(program: str) -> str:
    """The driver with the code in it. A compiler's complaint names the line of driver or card."""
    card = cards.read(program)
    assert card is not None
    lines = []
    driver = DRIVERS / f"{program}.cpp"
    for number, line in enumerate(driver.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip() != PLACE:
            lines.append(line)
            continue
        lines += [f'#line {card.line} "{cards.FOLDER / program}.md"', *card.code]
        lines.append(f'#line {number + 1} "{driver}"')
    return "\n".join([*lines, ""])


def build(program: str, platform: platforms.Platform, folder: Path) -> Built:
    folder.mkdir(parents=True)
    source, executable = folder / f"{program}.cpp", folder / program
    source.write_text(surrounded(program), encoding="utf-8")
    venv = ROOT / ".venv"
    line = [
        *platform.compiler.split(";"),
        *platform.flags,
        *["-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-pthread"],
        *[f"-I{DRIVERS}", f"-I{ROOT / 'include'}", "-isystem", str(venv / "include")],
        *[str(source), "-o", str(executable)],
        *[f"-L{venv / 'lib'}", f"-Wl,-rpath,{venv / 'lib'}"],
        *[f"-l{library.lower()}" for library in said(program, "uses")],
    ]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return executable, done


@pytest.fixture(scope="module")
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Build]:
    """built(program, platform): its build, which runs meanwhile with all other requested builds."""
    folder = tmp_path_factory.mktemp("snippets")
    asked = [
        (each.callspec.params["program"], each.callspec.params["platform"])
        for each in request.session.items
        if isinstance(each, pytest.Function)
        and each.originalname == test_the_code_of_a_card_does_what_the_card_says.__name__
    ]
    with ThreadPoolExecutor(JOBS) as jobs:
        futures = {
            (program, name): jobs.submit(build, program, PLATFORMS[name], folder / name / program)
            for program, name in asked
            if (DRIVERS / f"{program}.cpp").exists() and shutil.which(PLATFORMS[name].compiler)
        }
        yield lambda program, name: futures[program, name]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_card_has_a_driver_that_uses_its_code(program: str) -> None:
    driver = DRIVERS / f"{program}.cpp"
    assert driver.exists(), f"write {driver.relative_to(ROOT)}, which drives the code of the card"
    lines = driver.read_text(encoding="utf-8").splitlines()
    assert PLACE in [line.strip() for line in lines], "the code of the card is nowhere in it"


def test_every_driver_is_one_of_a_card() -> None:
    assert {each.stem for each in DRIVERS.glob("*.cpp")} <= set(PROGRAMS)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_code_of_a_card_does_what_the_card_says(
    built: Build, program: str, platform: str
) -> None:
    if not shutil.which(PLATFORMS[platform].compiler):
        pytest.skip(f"there is no {PLATFORMS[platform].compiler}; run: ./threadmark setup")
    assert (DRIVERS / f"{program}.cpp").exists()
    executable, compiled = built(program, platform).result()
    lacks = [each for each in said(program, "lacks") if each.startswith(f"{platform}: ")]
    if lacks:
        assert compiled.returncode != 0, f"it builds: take '// lacks: {lacks[0]}' out"
        remedy = (cards.FOLDER / f"{program}.md").read_text(encoding="utf-8").split("## Instead")[1]
        library = platform.removeprefix("clang-").removeprefix("gcc-")
        assert library in remedy, f"the card does not say what {library} lacks"
        return
    assert compiled.returncode == 0, compiled.stderr
    done = subprocess.run([executable], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr

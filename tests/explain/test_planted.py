"""The planted programs of the tests' build compute the expected results on 1 and 2 threads."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import expectation as expectations
import pytest
from expectation import PLANTED, Expectation, ExpectationError

ROOT = Path(__file__).parents[2]
# The builds of the compiler of the tests, which also makes the programs without the cause.
BUILT = [each.parent for each in (ROOT / "build").glob("*/explain/planted/without")]
PROGRAMS = expectations.read_all()


def test_there_are_enough_programs_of_enough_categories() -> None:
    assert len(PROGRAMS) >= 80
    planted = {category for each in PROGRAMS for category in each.categories}
    # A wait for a join is passed on to its cause, and no program may have the answer `unknown`.
    assert expectations.CATEGORIES - planted == {"join", "unknown"}


@pytest.mark.parametrize("each", PROGRAMS, ids=lambda each: each.program)
def test_a_holder_is_a_function_of_the_program_that_is_not_inlined(each: Expectation) -> None:
    sources = [PLANTED / f"{each.program}.cpp", PLANTED / f"{each.program}.plugin.cpp"]
    text = " ".join(path.read_text() for path in sources if path.exists())
    for equal in each.holder:
        function = equal[0].split("::")[-1]
        if function not in ("read", "fsync"):
            assert re.search(rf'(noinline\]\]|extern "C") [^;{{]*\b{function}\(', text), function


@pytest.mark.parametrize("each", PROGRAMS, ids=lambda each: each.program)
def test_no_name_in_a_program_tells_its_category(each: Expectation) -> None:
    told = {"false_sharing", "convoy", "herd", "contention", "contended", "imbalance"}
    source = (PLANTED / f"{each.program}.cpp").read_text()
    code = re.sub(r"//.*", "", source)
    assert not told & set(re.findall(r"\w+", code.lower()))
    assert each.program not in expectations.CATEGORIES


@pytest.mark.skipif(not BUILT, reason="no platform is built; run: ./threadmark test")
@pytest.mark.parametrize("folder", BUILT, ids=lambda folder: folder.parents[1].name)
@pytest.mark.parametrize("each", PROGRAMS, ids=lambda each: each.program)
def test_a_program_computes_the_same_on_any_number_of_threads_and_without_its_cause(
    folder: Path, each: Expectation
) -> None:
    program = folder / "plain" / each.program
    if not program.exists():
        assert each.build in ("openmp", "tbb", "tmk", "static"), f"{program} was not built"
        pytest.skip(f"cannot be built here: {each.build}")
    source = (PLANTED / f"{each.program}.cpp").read_text()
    expected = re.search(r"expected = (\d+);", source)
    assert expected or re.search(r"return .* \? 0 : 1;", source), "it does not check its result"
    without = folder / "without" / each.program
    assert without.exists() == bool(re.search(r"WITHOUT_CAUSE|without\.hpp", source))
    runs = [(program, "1"), (program, "2")] + [(without, "2")] * without.exists()
    for command in runs:
        ended = subprocess.run(
            [*command, "0.1"], capture_output=True, text=True, timeout=300, check=False
        )
        assert ended.returncode == 0, command
        assert not expected or ended.stdout == f"checksum {expected[1]}\n", command


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("// category: mutex\n// certain: yes", "no 'why:'"),
        ("// category: lock\n// certain: yes\n// why: x", "not in the contract"),
        ("// category: io\n// certain: no\n// why: x", "yes or any"),
        ("// category: io\n// certain: any\n// why: x\n// build: lto", "'build' is one of"),
        ("// category: io\n// certain: any\n// why: x\n// threads: all", "'threads' is numbers"),
        ("// category: io\n// category: io", "there twice"),
        ("// categories: io", "not a key"),
    ],
)
def test_a_comment_that_is_no_expectation_is_refused(
    tmp_path: Path, comment: str, said: str
) -> None:
    source = tmp_path / "program.cpp"
    source.write_text(f"// A program.\n//\n{comment}\n\nint main() {{}}\n")
    with pytest.raises(ExpectationError, match=said):
        expectations.read(source)


def test_an_expectation_is_read_from_the_comment_alone(tmp_path: Path) -> None:
    source = tmp_path / "program.cpp"
    source.write_text(
        "// A program.\n//\n// category: mutex | io\n// name: a_lock | Box\n// made: main\n"
        "// holder: fsync|write < Log::add\n// certain: any\n// threads: 1,2\n// build: static\n"
        "// why: So.\n"
        "\n// category: none\n"
    )
    assert expectations.read(source) == Expectation(
        program="program",
        categories=("mutex", "io"),
        why="So.",
        names=("a_lock", "Box"),
        made=("main",),
        holder=(("fsync", "write"), ("Log::add",)),
        must_be_certain=False,
        threads="1,2",
        build="static",
    )

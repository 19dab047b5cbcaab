"""The loader preloads a library from any path, and the user's environment reaches no program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import fakes
import pytest
from lab_support import Attempt
from threadmark.machine import preload
from threadmark.machine.limits import default_limits
from threadmark.machine.preload import preloadable
from threadmark.measure.cage import Cage
from threadmark.model.cell import Status
from threadmark.model.errors import LabError
from threadmark.present import plain
from threadmark.setup import allocators, discovery, preload_library
from threadmark.setup.platforms import platforms

PLACES = ("a pläce/lib", "a:b", "a  b")
ANSWER = "int answer(void) { return 42; }\n"
ASKS = """
#include <stdio.h>
int answer(void);
int main(void) { return answer() == 42 ? 0 : 1; }
"""


@pytest.fixture(autouse=True)
def links(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("links")
    monkeypatch.setattr(preload, "_LINKS", folder)
    return folder


@pytest.fixture
def linked(tmp_path: Path) -> tuple[Path, Path]:
    """A program, and the folder in which its loader must look for a library."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path / "libraries"
    folder.mkdir()
    (tmp_path / "answer.c").write_text(ANSWER)
    (tmp_path / "asks.c").write_text(ASKS)
    program = tmp_path / "asks.needy"
    library = ["cc", "-shared", "-fPIC", "-o", folder / "libanswer.so", tmp_path / "answer.c"]
    subprocess.run(library, check=True)
    line = ["cc", "-o", program, tmp_path / "asks.c", f"-L{folder}", "-lanswer"]
    subprocess.run(line, check=True)
    return program, folder


@pytest.mark.parametrize("place", PLACES)
def test_a_library_below_any_path_can_be_preloaded(tmp_path: Path, place: str) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    library = tmp_path / place / "libanswer.so"
    library.parent.mkdir(parents=True)
    source = tmp_path / "answer.c"
    loud = (
        '#include <stdio.h>\n__attribute__((constructor)) static void say(void) { puts("here"); }'
    )
    source.write_text(loud)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    for _ in range(2):
        env = {"LD_PRELOAD": preloadable(library)}
        done = subprocess.run(["/bin/true"], env=env, check=True, capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("here\n", "")


def test_a_library_below_a_plain_path_is_named_by_it(links: Path) -> None:
    assert preloadable(Path("/usr/lib/libälter.so")) == "/usr/lib/libälter.so"
    assert not list(links.iterdir())


def test_what_a_killed_lab_left_beside_a_link_is_no_obstacle(links: Path, tmp_path: Path) -> None:
    library = tmp_path / "a b.so"
    link = preloadable(library)
    Path(f"{link}.{os.getpid()}").symlink_to(library)  # process numbers come again
    assert preloadable(library) == link
    assert Path(link).readlink() == library


def test_links_are_only_made_where_no_other_user_can_change_them(
    links: Path, tmp_path: Path
) -> None:
    library = tmp_path / "a b.so"
    folder = links / f"threadmark-{os.geteuid()}"
    (tmp_path / "trap").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "trap")
    with pytest.raises(LabError, match="remove it or move this checkout"):
        preloadable(library)
    folder.unlink()
    folder.write_text("")
    with pytest.raises(LabError, match="remove it or move this checkout"):
        preloadable(library)
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o770)
    with pytest.raises(LabError, match="remove it or move this checkout"):
        preloadable(library)
    folder.chmod(0o700)
    assert Path(preloadable(library)).readlink() == library
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
        with pytest.raises(LabError, match="remove it or move this checkout"):
            preloadable(library)


def test_an_allocator_and_the_thread_cap_below_a_path_with_a_space_are_preloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocators, "_ENVIRONMENT", tmp_path / "a b")
    monkeypatch.setattr(preload_library, "BUILD", tmp_path / "a b")
    (tmp_path / "a b").mkdir()
    libraries = [tmp_path / f"a b/libtbbmalloc{part}.so.2" for part in ("_proxy", "")]
    for each in libraries:
        each.touch()
    chosen, _ = allocators.setting("tbbmalloc")
    with Cage(default_limits(), use_groups=False) as cage:
        environment = cage.environment(chosen)
    found = [
        Path(each).resolve() for each in environment["LD_PRELOAD"].replace(" ", ":").split(":")
    ]
    cap = [tmp_path / "a b/preload/thread_cap.so"] if shutil.which("cc") else []
    assert found == [*cap, *libraries]


def test_what_a_program_sees_of_the_environment_is_in_its_row(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "TMPDIR", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "MALLOC_CONF", "LC_TIME"):
        monkeypatch.setenv(name, "/tmp")
    row = attempt(f"start(backend_version=json.dumps(dict(os.environ))); {fakes.GOOD[9:]}")
    assert row.status is Status.OK, row.reason
    seen = json.loads(row.facts["backend_version"])
    assert seen.pop("THREADMARK_LAB")
    assert row.facts["environment"] == seen
    assert seen.keys() <= {"LC_ALL", "LD_PRELOAD", "THREADMARK_THREAD_CAP"}


def test_the_command_of_a_row_gives_its_program_the_same_environment_again(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = attempt(f"start(backend_version=json.dumps(dict(os.environ))); {fakes.GOOD[9:]}")
    for name in ("OMP_NUM_THREADS", "MALLOC_CONF", "LC_TIME"):
        monkeypatch.setenv(name, "3")
    line = plain.shell_command(row)
    done = subprocess.run(["sh", "-c", line], check=True, capture_output=True, text=True)
    seen = json.loads(json.loads(done.stdout.splitlines()[0])["backend_version"])
    assert seen == row.facts["environment"]


def test_the_library_path_is_passed_to_a_program_that_does_not_start_without_it(
    linked: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, folder = linked
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    preload.library_path.cache_clear()
    assert preload.surroundings(program) == {"LC_ALL": "C.UTF-8"}
    for value in (str(folder), f"/nowhere:{folder}"):
        monkeypatch.setenv("LD_LIBRARY_PATH", value)
        preload.library_path.cache_clear()
        assert preload.library_path(program) == {"LD_LIBRARY_PATH": value}
        assert preload.library_path(Path("/bin/true")) == {}
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    preload.library_path.cache_clear()
    assert preload.library_path(program) == {}
    assert preload.library_path(program.with_name("absent")) == {}


def test_a_run_says_which_programs_got_the_library_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threadmark.kinds.session import perform
    from threadmark.kinds.tasks.kind import KIND
    from threadmark.model.request import Request
    from threadmark.options import Measuring
    from threadmark.store.store import Store

    needs = "if not os.environ.get('LD_LIBRARY_PATH'): sys.exit(127)"
    for backend in ("serial", "tbb"):
        path = fakes.write(tmp_path, f"fib.{backend}")
        if backend == "tbb":
            text = path.read_text().replace("NAME, VAR", f"{needs}\nNAME, VAR", 1)
            path.write_text(text)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    preload.library_path.cache_clear()
    asked = Request(size="smoke", profile="smoke", threads=(1,))
    store_path = tmp_path / "s.db"
    options = Measuring(
        executables=tmp_path, store=store_path, json=True, report=False, install=False
    )
    perform(KIND, options, asked)
    with Store.open(tmp_path / "s.db", create=False) as store:
        [note] = [each for each in store.run(1).notes if "LD_LIBRARY_PATH" in each]
        assert note.startswith("LD_LIBRARY_PATH was passed to fib.tbb, because")
        for row in store.rows(1):
            needy = row.cell.backend == "tbb"
            assert ("LD_LIBRARY_PATH" in row.facts["environment"]) == needy
            assert (f"LD_LIBRARY_PATH={tmp_path}" in row.command) == needy


def test_a_description_that_failed_is_asked_for_again(tmp_path: Path) -> None:
    path = fakes.write(tmp_path, "fib.tbb", fakes.GOOD)
    switch = tmp_path / "ready"
    text = path.read_text().replace(
        "NAME, VAR", f"if not os.path.exists({str(switch)!r}): sys.exit(127)\nNAME, VAR", 1
    )
    path.write_text(text)
    [found] = discovery.find(["fake"], tmp_path)
    assert "ended with 127" in found.fault
    switch.touch()
    [found] = discovery.find(["fake"], tmp_path)
    assert not found.fault


def test_the_flags_of_a_platform_keep_a_path_with_a_space_whole(tmp_path: Path) -> None:
    root = tmp_path / "a b"
    root.mkdir()
    presets = Path(__file__).resolve().parents[2] / "CMakePresets.json"
    (root / "CMakePresets.json").write_bytes(presets.read_bytes())
    flags = {each.name: each.flags for each in platforms(root)}["clang-libc++16"]
    inside = f"{root}/.deps/libc++-16/usr/lib/llvm-16"
    assert f"{inside}/include/c++/v1" in flags
    assert f"-L{inside}/lib" in flags

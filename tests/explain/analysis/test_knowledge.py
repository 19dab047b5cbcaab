"""The loader reads each file of knowledge; the file matches its own examples first, and has a
remedy."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made import MAIN, Made, Names, waits, works
from threadmark.kinds.catalogue import cards
from threadmark.kinds.explain.analysis.advice import has, known, libraries
from threadmark.kinds.explain.analysis.frames import Frame
from threadmark.kinds.explain.analysis.meaning import Operand
from threadmark.kinds.explain.analysis.pieces import Piece, Version
from threadmark.kinds.explain.analysis.recording import Module
from threadmark.kinds.explain.knowledge import FOLDER, examples, knowledge, load, remedy
from threadmark.model.errors import LabError
from threadmark.model.places import ROOT

FILES = sorted(FOLDER.glob("*.toml"))
ALL = knowledge()
GROUPS = {"lock": ALL.locks, "word": ALL.words, "code": ALL.code, "advice": ALL.advice}
PIECES = {piece.file: (what, piece) for what, group in GROUPS.items() for piece in group}
EXAMPLES = [(each.stem, text) for each in FILES for text in examples(each)]


def stack(text: str) -> tuple[Frame, ...]:
    return Names({text: 1}, {}).frames(1)


def first(what: str, piece: Piece, frames: tuple[Frame, ...]) -> Piece | None:
    """The piece that explain chooses for a stack."""
    if what == "lock":
        return ALL.cause(frames)
    if what == "word":
        return ALL.atomic(frames)
    return ALL.advised(piece.category, "", [frames])


@pytest.mark.parametrize(("file", "text"), EXAMPLES)
def test_a_stack_of_a_file_is_explained_by_that_file(file: str, text: str) -> None:
    what, piece = PIECES[file]
    found = first(what, piece, stack(text))
    assert found is not None
    assert found.file == file


@pytest.mark.parametrize(("file", "text"), EXAMPLES)
def test_no_two_files_are_equally_good_for_a_stack(file: str, text: str) -> None:
    what, piece = PIECES[file]
    frames = stack(text)
    if what == "lock":
        frames = tuple(ALL.library_part(frames, 16))
    ranks = GROUPS[what].ranked(frames, piece.category if what == "advice" else "")
    assert [each.file for each in ranks if ranks[each] <= ranks[piece]] == [file]


@pytest.mark.parametrize("file", PIECES)
def test_a_remedy_is_a_sentence_or_two(file: str) -> None:
    text = remedy(PIECES[file][1])
    assert 10 < len(text) <= 260
    assert text.endswith(".")
    assert text[0].isupper()


def test_every_kind_of_cause_has_a_remedy() -> None:
    kinds = {piece.category for _, piece in PIECES.values()}
    assert kinds >= {"mutex", "rwlock", "condition", "barrier", "semaphore", "once", "spin"}
    assert kinds >= {"atomic", "false_sharing", "allocator", "kernel_memory", "stdio", "loader"}
    assert kinds >= {"io", "sleep", "thread_creation", "run_queue", "affinity", "imbalance"}
    assert kinds >= {"serial_dependency", "task_overhead", "task_idle"}


@pytest.mark.parametrize("program", sorted(each.stem for each in cards.FOLDER.glob("*.md")))
def test_a_card_names_files_of_knowledge(program: str) -> None:
    card = cards.read(program)
    assert card is not None
    assert {name for each in card.explained for name in each.knowledge} <= PIECES.keys()


def copy(tmp_path: Path, name: str, text: str) -> Path:
    folder = tmp_path / "knowledge"
    shutil.copytree(FOLDER, folder)
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


GOOD = """
what = "lock"
category = "mutex"
name = "cellar"
words = "the cellar's own lock"
frames = ["cellar_\\\\w+"]
remedy = "Keep bottles of one's own."
examples = ["cellar_open@libcellar.so drink"]
"""


def test_one_file_is_all_that_a_new_piece_needs(tmp_path: Path) -> None:
    found = load(copy(tmp_path, "cellar", GOOD)).cause(stack("cellar_open@libcellar.so drink"))
    assert found is not None
    assert (found.file, found.name) == ("cellar", "cellar")


def test_the_file_on_the_page_is_read_and_matches_its_examples(tmp_path: Path) -> None:
    page = (ROOT / "docs/explain.md").read_text(encoding="utf-8")
    [text] = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    folder = copy(tmp_path, "rand", text)  # replaces the file for the same cause
    stacks = examples(folder / "rand.toml")
    assert stacks
    for each in stacks:
        found = load(folder).cause(stack(each))
        assert found is not None
        assert found.file == "rand"
        assert remedy(found)
        assert found.versions


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("what =", "whit ="), "field `whit`|required field `what`"),
        (('"mutex"', '"mutexes"'), "Invalid enum value 'mutexes'"),
        (("name =", "frame ="), "unknown field `frame`|needs `name`"),
        (('frames = ["cellar_\\\\w+"]', 'frames = ["cellar_("]'), "no regular expression"),
        (('frames = ["cellar_\\\\w+"]', "frames = 3"), r"Expected `array`, got `int`"),
        (("remedy =", "card ="), "the catalogue has no card|needs"),
        (('what = "lock"', "what = lock"), "Invalid value"),
        (("examples =", "instead_of ="), "needs `examples`|there is no"),
        (('remedy = "Keep bottles of one\'s own."', ""), "a `remedy`, or a `card`"),
        (('["cellar_open@libcellar.so drink"]', "[]"), "needs `examples`"),
    ],
)
def test_a_malformed_file_is_one_sentence_that_names_it(
    tmp_path: Path, change: tuple[str, str], fault: str
) -> None:
    assert change[0] in GOOD
    folder = copy(tmp_path, "cellar", GOOD.replace(*change))
    with pytest.raises(LabError, match=fault) as complaint:
        for piece in load(folder).locks:
            remedy(piece)
    assert "cellar.toml" in str(complaint.value)
    assert "\n" not in str(complaint.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = copy(tmp_path, "cellar", GOOD)
    (folder / "attic.toml").mkdir()
    with pytest.raises(LabError, match=r"attic\.toml cannot be read"):
        load(folder)


@pytest.mark.parametrize(
    ("since", "until", "here", "expected"),
    [
        ("", "13", "12", True),
        ("", "13", "13", False),
        ("", "2.35", "2.4", True),
        ("", "2.35", "2.36", False),
        ("11", "", "12", None),
        ("11", "", "10", False),
        ("", "", "12", None),
        ("", "13", None, None),
    ],
)
def test_a_version_says_whether_a_program_has_the_cause(
    since: str, until: str, here: str | None, expected: bool | None
) -> None:
    assert has(Version("GCC", since, until), here) is expected


def test_versions_of_libraries_are_told_by_their_files() -> None:
    paths = (
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
        "/usr/lib/llvm-19/lib/libc++.so.1.0",
        "/opt/tbb/libtbb.so.12.14",
        "/home/me/prog",
    )
    modules = {number: Module(path, "", 0, 1, 0) for number, path in enumerate(paths)}
    recording = SimpleNamespace(machine={"glibc": "2.36"}, modules=modules)
    assert libraries(recording) == {
        "glibc": "2.36", "libstdc++": "12", "GCC": "12", "libc++": "19", "oneTBB": "2022.0",
    }  # fmt: skip


def test_the_answer_says_what_is_known() -> None:
    found = known(PIECES["unwinder"][1], ALL, {"GCC": "12"})
    assert found["knowledge"] == "unwinder.toml"
    assert found["remedy"] == "Return failure as a value where failing is usual."
    [version] = found["versions"]
    assert (version["until"], version["here"], version["has"]) == ("13", "12", True)
    assert known(None, ALL, {}) == {"knowledge": None, "remedy": "", "versions": []}


A, B = MAIN + 1, MAIN + 2


def taking_turns() -> Made:
    wait = waits("mutex", 1, "take worker")
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    made.thread(A, [wait, works()], "main").thread(B, [works(), wait], "main")
    return made.thing(1, "mutex", module=1, offset=64)


def test_a_lock_of_the_programs_own_keeps_its_name_and_gets_a_remedy() -> None:
    made = taking_turns()
    made.data[1, 64] = ("jobs", "prog.cpp:3")
    cause = made.first()
    assert (cause["category"], cause["knowledge"]) == ("mutex", "own_mutex.toml")
    assert "smaller and shorter lock" in cause["remedy"]


def test_a_lock_that_the_programs_code_takes_is_named_by_what_it_does_beside() -> None:
    made = taking_turns()
    beside = "__gnu_cxx::__pool_alloc_base::_M_get_mutex"
    made.beside[made.stack("take worker")] = frozenset({beside})
    assert made.first()["knowledge"] == "pool_alloc.toml"


def contended(text: str, *beside: str) -> dict[str, Any]:
    """The first cause of threads with samples behind one atomic instruction."""
    made = Made().thread(A, works()).thread(B, works())
    for tid in (A, B):
        made.sample(tid, "read worker", 60, bx=0x5000)
    made.operands[made.stack("read worker")] = Operand("bx", offset=8)
    made.texts[made.stack("read worker")] = text
    made.beside[made.stack("read worker")] = frozenset(beside)
    return made.first()


def test_an_atomic_is_a_shared_ptrs_by_its_instruction_and_what_is_beside() -> None:
    count = "lock add dword ptr [rbx + 8], 1"
    assert contended(count, "__libc_single_threaded")["knowledge"] == "shared_ptr_count.toml"
    assert contended(count, "getenv")["knowledge"] == "own_atomic.toml"
    other = "lock add dword ptr [rbx + 0x40], 1"
    assert contended(other, "__libc_single_threaded")["knowledge"] == "own_atomic.toml"


def test_a_word_of_the_libraries_pool_is_no_wait_for_a_latch() -> None:
    made = Made().thread(A, works()).thread(B, works())
    for tid in (A, B):
        made.sample(tid, "std::latch::wait worker", 60, bx=0x5000)
    made.operands[made.stack("std::latch::wait worker")] = Operand("bx")
    assert made.first()["category"] == "barrier"
    made.data[0, 0x5000] = ("std::__detail::__waiter_pool_base::_S_for::__w+64", "prog+0x1")
    cause = made.first()
    assert (cause["category"], cause["knowledge"]) == ("atomic", "waiter_pool.toml")


def test_an_instruction_that_takes_long_is_a_cause() -> None:
    made = Made().thread(A, works()).thread(B, works())
    for tid in (A, B):
        made.sample(tid, "libstdc++.so.6+0xd3@libstdc++.so.6 seed worker", 60)
    assert made.first()["category"] == "none"
    made.texts[made.stack("libstdc++.so.6+0xd3@libstdc++.so.6 seed worker")] = "rdseed eax"
    assert made.first()["knowledge"] == "random_device.toml"


def test_a_wake_up_at_the_end_of_call_once_is_no_lock() -> None:
    made = Made().thread(A, works()).thread(B, works())
    for tid in (A, B):
        made.sample(tid, "futex_wake@libc.so.6 __pthread_once_slow@libc.so.6 make worker", 60)
    assert made.first()["category"] == "none"
    for tid in (A, B):
        made.sample(tid, "futex_wake@libc.so.6 __lll_lock_wake@libc.so.6 give worker", 60)
    assert made.first()["category"] == "mutex"


def test_who_waits_while_all_processors_work_loses_nothing() -> None:
    made = Made().thread(MAIN, waits("condition", 1, "run main"))
    made.thread(A, works(), "main").thread(B, works(), "main").thing(1, "condition")
    for tid in (A, B):
        made.sample(tid, "work worker", 60)
    cause = made.first()
    assert (cause["category"], cause["certain"]) == ("none", True)


def test_who_polls_for_a_lock_is_why_a_processor_is_free() -> None:
    made = Made().thread(MAIN, waits("condition", 1, "run main"))
    polls = "yield", 0, "take worker", 0, "R", -1
    made.thread(A, works(), "main").thread(B, [works(), polls], "main").thing(1, "condition")
    assert "imbalance" not in {each["category"] for each in made.answer()["causes"]}


@pytest.mark.parametrize(("writes", "certain"), [(0, False), (9, True)])
def test_reading_that_only_computes_in_the_kernel_may_scale(writes: int, certain: bool) -> None:
    made = Made()
    runs = "io", 0, "read@libc.so.6 load worker", 0, "R", 0
    for tid in (A, B):
        made.thread(tid, runs)
    made.line(kind="file", tid=0, object=4, descriptor=3, path="/dev/urandom", calls=99,
              writes=writes, bytes=writes, ns=99)  # fmt: skip
    cause = made.first()
    assert (cause["category"], cause["certain"]) == ("io", certain)


def test_a_runtime_that_lies_in_the_program_is_known_by_its_functions() -> None:
    idle = stack(
        "syscall@libc.so.6 tmk::detail::Pool::run_until_idle tmk::detail::Pool::thread_main"
    )
    assert ALL.in_runtime(idle)
    assert ALL.activity(idle) == "barrier"
    made = stack("tmk::detail::Deque::share walk main")
    assert ALL.in_runtime(made) and ALL.makes_task(made)
    # Without line numbers, the program's function may be inlined into the template that calls it.
    calls = stack("tmk::detail::CallState::run tmk::detail::Pool::run_until_idle")
    assert ALL.in_runtime(calls)
    assert not ALL.in_runtime([replace(frame, where="prog+0x10") for frame in calls])


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("tmk::detail::Deque::share walk", "tmk_tasks"),
        ("GOMP_task@libgomp.so.1 walk", "libgomp_tasks"),
        ("__kmpc_omp_task@libomp.so.5 walk", "libomp_tasks"),
        ("tbb::detail::r1::spawn@libtbb.so.12 walk", "onetbb_tasks"),
    ],
)
def test_tasks_that_are_too_small_have_the_remedy_of_their_runtime(text: str, file: str) -> None:
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    for tid in (A, B):
        made.thread(tid, works(), "main").sample(tid, text, 60).sample(tid, "visit walk", 30)
    cause = made.first()
    assert (cause["category"], cause["knowledge"]) == ("task_overhead", f"{file}.toml")


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("QFutureInterfaceBase::waitForFinished", "future"),
        ("QThreadPool::waitForDone", "future"),
        ("absl::debian3::Barrier::Block", "barrier"),
        ("uv_barrier_wait", "barrier"),
        ("std::sync::barrier::Barrier::wait", "barrier"),  # of Rust
        ("QReadWriteLock::tryLockForRead", "read_lock"),
        ("QReadWriteLock::lockForWrite", "write_lock"),
        ("std::sys::sync::rwlock::futex::RwLock::write_contended", "write_lock"),
        ("QSemaphore::tryAcquire", "semaphore"),
        ("uv_sem_wait", "semaphore"),
        ("QWaitCondition::wait", "condition"),
        ("g_cond_wait_until", "condition"),
        ("g_async_queue_timeout_pop", "condition"),
        ("uv_cond_timedwait", "condition"),
        ("absl::debian3::Mutex::AwaitWithTimeout", "condition"),
        ("std::sys::sync::condvar::futex::Condvar::wait_optional_timeout", "condition"),
        ("absl::debian3::Notification::WaitForNotification", "event"),
        ("std::sys::sync::thread_parking::futex::Parker::park", "event"),
        ("QMutex::lock", ""),
    ],
)
def test_the_functions_of_further_libraries_tell_what_they_wait_for(
    function: str, kind: str
) -> None:
    library = Frame(function, "", "libQt5Core.so.5", own=False)
    assert ALL.activity([library, Frame("work", "work.cpp:1", "prog")]) == kind

"""tmk-sat answers bad files, options and machines with one sentence, and leaves no file. The
sentence names line, record and field."""

from __future__ import annotations

import fcntl
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Sat = Callable[..., subprocess.CompletedProcess[str]]
Refused = Callable[..., str]
READERS = ("info", "check", "map")


@pytest.mark.parametrize("command", READERS)
def test_a_file_that_is_cut_off_is_refused_and_read_in_part_on_request(
    sat: Sat, refused: Refused, generated: Path, tmp_path: Path, command: str
) -> None:
    text = generated.read_bytes()
    cut = tmp_path / "cut.sat"
    cut.write_bytes(text[: len(text) // 2])
    line = text[: len(text) // 2].count(b"\n") + 1
    found = re.search(r"cut\.sat: line (\d+), record \d+", refused(1, command, cut))
    assert found
    assert line - 500 < int(found[1]) <= line  # a surface has some hundred lines
    done = sat(command, cut, "--partial")
    assert (done.returncode, done.stderr) == (1, "")
    assert "PARTIAL     this is not the whole file" in done.stdout


def test_a_reference_to_nothing_names_line_record_and_field(
    refused: Refused, generated: Path, tmp_path: Path
) -> None:
    lines = generated.read_text("ascii").split("\n")
    number = next(i for i, line in enumerate(lines) if line.startswith("lump"))
    lines[number] = re.sub(r"\$(\d+) \$(\d+) #", r"$99999 $\2 #", lines[number])
    bad = tmp_path / "bad.sat"
    bad.write_text("\n".join(lines), "ascii")
    sentence = refused(1, "map", bad, "--threads", 2)
    assert f"bad.sat: line {number + 1}, record {number - 3} (lump), field shell: " in sentence
    assert "$99999 names no record" in sentence
    assert sentence.endswith(" --partial reads what it can of the rest.\n")
    for words in (("write", bad), ("replicate", bad, 2)):  # these have no --partial
        assert refused(1, *words, "-o", tmp_path / "y.sat").endswith("; the file has 3031.\n")


@pytest.mark.parametrize("command", ["check", "map"])
def test_problems_are_all_counted_and_the_first_twenty_are_shown(
    sat: Sat, tmp_path: Path, command: str
) -> None:
    bad = tmp_path / "bad.sat"
    bad.write_text(f"700 0 0 0\n1 a 1 b 1 c\n1 1e-6 1e-10\n{'1 #' * 60_000}\nEnd-of-ACIS-data\n")
    done = sat(command, bad, "--partial")
    assert (done.returncode, done.stderr) == (1, "")
    assert "problems: 60000\n" in done.stdout
    assert done.stdout.endswith("  and 59980 more.\n")
    assert done.stdout.count("  line 4, record ") == 20


@pytest.mark.parametrize("command", ["check", "map"])
def test_a_list_without_an_end_is_refused(
    sat: Sat, refused: Refused, generated: Path, tmp_path: Path, command: str
) -> None:
    text = generated.read_text("ascii")
    faces = re.findall(r"^face \$-1 -1 \$-1 \$(\d+) ", text, re.MULTILINE)
    bad = tmp_path / "bad.sat"
    second = f"face $-1 -1 $-1 ${faces[1]} "
    bad.write_text(text.replace(second, f"face $-1 -1 $-1 ${faces[0]} ", 1), "ascii")
    assert "which never ends" in refused(1, command, bad)
    assert "which never ends" in sat(command, bad, "--partial").stdout


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (b"", "the file is empty."),
        (b"ACIS BinaryFile4\x01\x02", "the file is binary (SAB); save it as text (SAT)."),
        (b"hello", "line 1, field version: a whole number is expected, not 'hello'."),
        (b"700 0 1 0\n", "line 2, field product: the file ends where the length"),
    ],
)
def test_what_is_no_sat_file_is_refused(
    refused: Refused, tmp_path: Path, contents: bytes, said: str
) -> None:
    path = tmp_path / "x.sat"
    path.write_bytes(contents)
    for command in READERS:
        assert said in refused(1, command, path)


def test_a_file_that_memory_has_no_room_for_is_refused_before_it_is_read(
    refused: Refused, tmp_path: Path
) -> None:
    path = tmp_path / "huge.sat"
    with path.open("wb") as file:
        file.truncate(1 << 43)  # takes no space on the disk
    start = time.monotonic()
    sentence = refused(1, "map", path)
    assert time.monotonic() - start < 30
    assert re.search(r"has 8388608 MiB and needs about \d+ MiB of memory, of which \d+", sentence)
    with path.open("wb") as file:
        file.truncate(1 << 30)

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))

    assert "MiB are free" in refused(1, "info", path, preexec_fn=little)


def test_objects_that_memory_has_no_room_for_are_refused_before_they_are_made(
    refused: Refused, tmp_path: Path
) -> None:
    path = tmp_path / "short.sat"
    header = b"700 0 0 0\n1 a 1 b 1 c\n1 1e-6 1e-10\n"
    path.write_bytes(header + b"a#" * 4_000_000 + b"\nEnd-of-ACIS-data\n")

    def little() -> None:  # enough for the file and for the table of its records
        resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))

    for words in (("map", path), ("write", path, "-o", tmp_path / "x.sat")):
        sentence = refused(1, *words, "--threads", 1, preexec_fn=little)
        assert "short.sat: the objects of its 4000000 records would take" in sentence
        assert sentence.endswith(" MiB are free; free some, or split the file.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "The first word must be a command"),
        (("view",), "not 'view'"),
        (("info",), "file is required"),
        (("map", "x", "--form", "magic"), "--form must be one of from_chars, tmk_text"),
        (("map", "x", "--threads", "0"), "--threads must be a whole number from 1"),
        (("generate", "-o", "x", "--entities", "0"), "--entities must be a whole number from 1"),
        (("generate", "-o", "x", "--seed", "-1"), "--seed must be a whole number from 0"),
        (("generate",), "--out is required"),
        (("replicate", "x", "0", "-o", "y"), "copies must be from 1"),
        (("replicate", "x", "3"), "--out is required"),
    ],
)
def test_what_cannot_be_granted_is_refused(
    refused: Refused, words: tuple[str, ...], said: str
) -> None:
    assert said in refused(2, *words)


def test_paths_that_cannot_be_read_or_written_are_refused(
    refused: Refused, generated: Path, tmp_path: Path
) -> None:
    assert "(No such file or directory)" in refused(1, "info", "absent.sat")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        for command in READERS:
            assert "is not a file" in refused(1, command, path)
    for words in (("generate",), ("write", generated), ("replicate", generated, 2)):
        assert "is a folder" in refused(1, *words, "-o", tmp_path)
        assert "pipe is not a regular file" in refused(1, *words, "-o", tmp_path / "pipe")
        assert (tmp_path / "pipe").is_fifo()
        assert "cannot be written" in refused(1, *words, "-o", "absent/x.sat")


def test_versions_without_dollars_are_not_replicated(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "old.sat"
    path.write_text("105 0 1 0\nbody -1 -1 -1 -1 #\nEnd-of-ACIS-data\n", "ascii")
    assert "references as plain numbers" in refused(1, "replicate", path, 2, "-o", "y.sat")


def test_a_limit_of_file_sizes_leaves_nothing_and_keeps_the_earlier_file(
    sat: Sat, refused: Refused, tmp_path: Path
) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))

    assert sat("generate", "-o", "x.sat").returncode == 0
    before = (tmp_path / "x.sat").read_bytes()
    words = ("generate", "-o", "x.sat", "--entities", 50_000)
    assert "cannot be written (File too large)" in refused(1, *words, preexec_fn=small_files)
    assert (tmp_path / "x.sat").read_bytes() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_part_of_a_file(
    executable: Path, tmp_path: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [executable, "generate", "-o", "x.sat", "--entities", "1000000000"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # The process that runs the tests may ignore Ctrl-C or hang-ups, and a child inherits that.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
    )
    end = time.monotonic() + 60
    while not list(tmp_path.iterdir()):
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(number)
    assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == -number
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", [*READERS, "write", "replicate"])
def test_a_signal_ends_a_command_that_reads(
    executable: Path, generated: Path, tmp_path: Path, command: str, number: signal.Signals
) -> None:
    words = {"write": ["-o", "x.sat"], "replicate": ["2", "-o", "x.sat"]}.get(command, [])
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    # A process that opens a file on which another has a lease waits until the lease is given back.
    with generated.open("r+b") as file:
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError:
            pytest.skip("the file system has no leases")
        try:
            process = subprocess.Popen(
                [executable, command, generated, *words],
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
            )
            end = time.monotonic() + 60
            status = Path(f"/proc/{process.pid}/status")
            # Wait until the command has its signal handlers and its open() breaks the lease.
            while fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_WRLCK or not caught(
                status, number
            ):
                assert time.monotonic() < end
                time.sleep(0.005)
            process.send_signal(number)
        finally:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            signal.signal(signal.SIGIO, before)
    assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == -number
    assert list(tmp_path.iterdir()) == [generated]


def caught(status: Path, number: signal.Signals) -> bool:
    found = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status.read_text("ascii"), re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> (number - 1) & 1)


def test_a_full_standard_output_is_a_failure(sat: Sat, generated: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = sat("info", generated, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert "Standard output cannot be written (No space left on device)" in done.stderr

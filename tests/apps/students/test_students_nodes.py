"""The nodes of tmk-students as processes: kills, refusals, absent neighbours."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import kills
import mounting
import pytest
import records

Students = Callable[..., subprocess.CompletedProcess[str]]
Refused = Callable[..., str]


@pytest.fixture(autouse=True)
def _built_with_nodes(students: Students) -> None:
    """Skip the test if the build had no ZeroMQ or LMDB."""
    if "without nodes" in students("pipeline").stderr:
        pytest.skip("ZeroMQ or LMDB is missing; run ./threadmark setup --apps")


@pytest.fixture
def data(students: Students, tmp_path: Path) -> Path:
    """A folder with the files of 3000 students."""
    folder = tmp_path / "data"
    folder.mkdir()
    assert students("generate", "-s", 3000, "--seed", 4, "--out", folder).returncode == 0
    return folder


@pytest.fixture
def large(students: Students, tmp_path: Path) -> Path:
    """A folder with the files of so many students that a signal comes before their end."""
    folder = tmp_path / "large"
    folder.mkdir()
    words = ("-s", 200_000, "-e", 3, "--seed", 4)
    assert students("generate", *words, "--out", folder).returncode == 0
    return folder


def held(line: list[object], **how: object) -> tuple[subprocess.Popen[str], dict[str, int]]:
    """A pipeline and its nodes, with the last node stopped so that no node ends.

    On a machine with other work the stop may come too late, and the function starts another
    pipeline.
    """
    for _ in range(10):
        process = subprocess.Popen(line, **how)  # type: ignore[call-overload]
        while process.poll() is None:
            nodes = kills.children(process.pid)
            if len(nodes) < len(kills.NODES):
                time.sleep(0.002)
                continue
            last = nodes["project"]
            with suppress(ProcessLookupError):
                os.kill(last, signal.SIGSTOP)
            wait_until(lambda last=last: state(last) in ("T", "Z", ""))
            if state(last) == "T":
                return process, nodes
        process.communicate()
    pytest.fail("no pipeline was stopped in time")


@pytest.fixture
def ports() -> list[str]:
    """Three addresses of the loopback device without a listener."""
    sockets = [socket.socket() for _ in range(3)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    found = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return found


class Nodes:
    """Nodes that a test starts, each with a state of its own. No node outlives the test."""

    def __init__(self, executable: Path, folder: Path, data: Path, ports: list[str]) -> None:
        self.executable = executable
        self.folder = folder
        self.data = data
        self.ports = ports
        self.processes: list[subprocess.Popen[str]] = []

    def line(self, name: str, *words: object) -> list[str]:
        place = kills.NODES.index(name)
        line = [self.executable, "node", name, "--in", self.data]
        line += ["--state", self.folder / f"state-{name}"]
        if place > 0:
            line += ["--listen", self.ports[place - 1]]
        line += ["-o", self.folder / "result"] if place == 3 else ["--next", self.ports[place]]
        return [str(each) for each in (*line, *words)]

    def start(self, name: str, *words: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self.line(name, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        return process


@pytest.fixture
def nodes(executable: Path, tmp_path: Path, data: Path, ports: list[str]) -> Iterator[Nodes]:
    found = Nodes(executable, tmp_path, data, ports)
    yield found
    for each in found.processes:
        with suppress(ProcessLookupError):
            each.kill()
        each.communicate()


def merged(students: Students, data: Path) -> bytes:
    students("merge", "--in", data, "-o", "merged")
    return (data.parent / "merged").read_bytes()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, error = process.communicate(timeout=60)
    return process.returncode, out, error


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_four_nodes_write_what_merge_writes(
    students: Students, nodes: Nodes, data: Path, tmp_path: Path
) -> None:
    running = [nodes.start(name) for name in reversed(kills.NODES)]
    said = [ended(each) for each in running]
    assert said == [
        (0, "project: 3000 received\n", ""),
        (0, "exercise: 3000 received, 3000 passed on, 3000 acknowledged\n", ""),
        (0, "exam: 3000 received, 3000 passed on, 3000 acknowledged\n", ""),
        (0, "basic: 3000 passed on, 3000 acknowledged\n", ""),
    ]
    assert (tmp_path / "result").read_bytes() == merged(students, data)


def test_nodes_that_have_finished_can_be_started_again(
    students: Students, nodes: Nodes, data: Path, tmp_path: Path
) -> None:
    for each in [nodes.start(name) for name in kills.NODES]:
        assert ended(each)[0] == 0
    (tmp_path / "result").unlink()
    for each in [nodes.start(name) for name in kills.NODES]:
        assert ended(each)[0] == 0
    assert (tmp_path / "result").read_bytes() == merged(students, data)


def test_the_pipeline_survives_kills_at_moments_of_a_fixed_seed(
    executable: Path, tmp_path: Path
) -> None:
    rng = random.Random(12)
    for number in range(3):
        data = kills.make(executable, tmp_path / f"data{number}", 20_000, rng)
        target = data.folder / "result"
        kills.disturb(executable, data, target, rng, most=3, too=number == 2)


def test_the_pipeline_says_that_it_starts_a_node_again(
    executable: Path, large: Path, tmp_path: Path
) -> None:
    line = [executable, "pipeline", "--in", large, "-o", tmp_path / "result"]
    process, nodes = held(line, stdout=-3, stderr=subprocess.PIPE, text=True)
    os.kill(nodes["exam"], signal.SIGKILL)
    os.kill(nodes["project"], signal.SIGCONT)
    _, error = process.communicate(timeout=60)
    assert "The node exam was ended by signal 9 (Killed) and is started again.\n" in error
    assert process.returncode == 0


def test_a_node_that_always_dies_ends_the_pipeline_with_a_sentence(
    executable: Path, data: Path, tmp_path: Path
) -> None:
    line = [executable, "pipeline", "--in", data, "-o", tmp_path / "result"]
    with subprocess.Popen(line, stdout=-3, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            for number in kills.children(process.pid).values():
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
        error = process.stderr.read() if process.stderr else ""
    assert process.returncode == 1
    assert "times without progress; see to its cause" in error
    assert "lets the same command go on.\n" in error
    # The same command goes on, as the sentence promises.
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_incomplete_students_are_listed_as_merge_lists_them(
    students: Students, data: Path, tmp_path: Path
) -> None:
    rng = random.Random(3)
    for name in records.FILES:
        kills.thin(data / name, rng)
    of_merge = students("merge", "--in", data, "-o", "merged")
    done = students("pipeline", "--in", data, "-o", "result")
    assert done.returncode == of_merge.returncode == kills.INCOMPLETE
    assert done.stderr == of_merge.stderr.replace("merged", "result")
    assert (tmp_path / "result").read_bytes() == (tmp_path / "merged").read_bytes()
    listed = (tmp_path / "result.incomplete").read_bytes()
    assert listed == (tmp_path / "merged.incomplete").read_bytes()
    assert listed.count(b"\n") > 100
    assert not (tmp_path / "result.state").exists()


def test_an_earlier_list_of_incomplete_students_is_removed(
    students: Students, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "result.incomplete").write_text("old")
    assert students("pipeline", "--in", data, "-o", "result").returncode == 0
    assert not (tmp_path / "result.incomplete").exists()


def test_files_without_students_make_an_empty_result(students: Students, tmp_path: Path) -> None:
    for name, first in records.FILES.items():
        (tmp_path / name).write_text(f"{first}\n")
    assert students("pipeline", "-o", "result").returncode == 0
    assert (tmp_path / "result").read_text() == "summarydata\n"


def test_the_points_are_those_of_merge(students: Students, data: Path, tmp_path: Path) -> None:
    students("merge", "--in", data, "-o", "merged", "--points", 3)
    done = students("pipeline", "--in", data, "-o", "result", "--points", 3)
    assert (tmp_path / "result").read_bytes() == (tmp_path / "merged").read_bytes()
    assert re.search(r"exam: \d+ lines have points above 3, which count in full", done.stderr)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_nodes_and_the_state_lets_the_command_go_on(
    executable: Path, students: Students, large: Path, tmp_path: Path, number: signal.Signals
) -> None:
    right = merged(students, large)
    line = [executable, "pipeline", "--in", large, "-o", tmp_path / "result"]
    process, nodes = held(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    os.killpg(process.pid, number)
    os.kill(nodes["project"], signal.SIGCONT)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out) == (-number, "")
    assert error == (
        "tmk-students: The nodes have ended; the same command goes on from the state in "
        f"{tmp_path}/result.state.\n"
    )
    assert not any(Path(f"/proc/{each}").exists() for each in nodes.values())
    assert not list(tmp_path.glob("*.partial*"))
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "result").read_bytes() == right


def test_no_node_outlives_a_pipeline_that_is_killed(
    executable: Path, large: Path, tmp_path: Path
) -> None:
    line = [executable, "pipeline", "--in", large, "-o", tmp_path / "result"]
    process, nodes = held(line, stdout=-3, stderr=-3)
    process.kill()
    process.wait()
    with suppress(ProcessLookupError):
        os.kill(nodes["project"], signal.SIGCONT)
    wait_until(lambda: not any(alive(each) for each in nodes.values()))


def alive(number: int) -> bool:
    """Whether the process runs; a zombie, for which nobody has waited yet, does not."""
    return state(number) not in ("Z", "")


def state(number: int) -> str:
    """The kernel's letter for the state of the process; empty if the process does not exist."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.mark.parametrize("name", list(records.FILES))
def test_a_bad_line_ends_the_pipeline_with_one_sentence_that_names_the_node(
    students: Students, data: Path, tmp_path: Path, name: str
) -> None:
    with (data / name).open("a", encoding="utf-8") as file:
        file.write("wrong\n")
    done = students("pipeline", "--in", data, "-o", "result")
    of_merge = students("merge", "--in", data, "-o", "merged")
    node = kills.NODES[list(records.FILES).index(name)]
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{data / name}, line 3002: " in done.stderr
    assert done.stderr == of_merge.stderr.replace("tmk-students: ", f"tmk-students: {node}: ")
    assert not (tmp_path / "result").exists()


def test_a_student_who_is_twice_in_a_file_is_refused_as_by_merge(
    students: Students, data: Path
) -> None:
    with (data / "exam-info.txt").open("a", encoding="utf-8") as file:
        file.write("00007\t3\n")
    done = students("pipeline", "--in", data, "-o", "result")
    of_merge = students("merge", "--in", data, "-o", "merged")
    assert "line 3002: the student 00007 is already in line" in done.stderr
    assert done.stderr == of_merge.stderr.replace("tmk-students: ", "tmk-students: exam: ")


def test_a_second_node_on_a_state_is_refused(nodes: Nodes, data: Path) -> None:
    first = nodes.start("basic")
    wait_until((nodes.folder / "state-basic/data.mdb").exists)
    status, out, error = ended(nodes.start("basic"))
    assert (status, out) == (1, "")
    assert error.startswith("tmk-students: basic: Another process works on the state in ")
    assert first.poll() is None


def test_a_second_pipeline_on_a_state_is_refused(
    executable: Path, students: Students, large: Path, tmp_path: Path
) -> None:
    line = [executable, "pipeline", "--in", large, "-o", tmp_path / "result"]
    process, nodes = held(line, stdout=-3, stderr=-3)
    with process:
        process.send_signal(signal.SIGSTOP)
        done = students("pipeline", "--in", large, "-o", "result")
        process.send_signal(signal.SIGCONT)
        os.kill(nodes["project"], signal.SIGCONT)
    assert done.returncode == 1
    assert "Another pipeline works on the state in result.state" in done.stderr
    assert process.returncode == 0


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def begun(executable: Path, data: Path, target: Path) -> None:
    """Kill a run of the pipeline early, so that it leaves its state."""
    line = [executable, "pipeline", "--in", data, "-o", target]
    folder = target.with_name(target.name + ".state")

    def is_begun() -> bool:
        return all(size(folder / each / "data.mdb") > 100_000 for each in kills.NODES[1:])

    for _ in range(10):  # on a machine with other work the kill may come too late
        with subprocess.Popen(line, stdout=-3, stderr=-3) as process:
            wait_until(lambda process=process: process.poll() is not None or is_begun())
            numbers = list(kills.children(process.pid).values())
            process.kill()
        wait_until(lambda numbers=numbers: not any(alive(each) for each in numbers))
        if is_begun():
            return
    pytest.fail("no pipeline was killed in time")


def test_a_state_of_other_files_is_refused_until_it_is_to_be_fresh(
    executable: Path, students: Students, data: Path, large: Path, tmp_path: Path
) -> None:
    begun(executable, large, tmp_path / "result")
    right = merged(students, data)
    done = students("pipeline", "--in", data, "-o", "result")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert re.search(
        r"^tmk-students: (\w+): The state in result.state/\1 was begun with another [\w-]+.txt; "
        r"choose another --state, or begin anew with --fresh.\n$",
        done.stderr,
    )
    assert students("pipeline", "--in", data, "-o", "result", "--fresh").returncode == 0
    assert (tmp_path / "result").read_bytes() == right


def test_a_neighbour_that_is_away_is_awaited_so_long_and_no_longer(nodes: Nodes) -> None:
    first = nodes.start("basic", "--timeout", 1)
    second = nodes.start("project", "--timeout", 1)
    status, out, error = ended(first)
    assert (status, out) == (1, "")
    assert error == (
        f"tmk-students: basic: The node exam has not answered at {nodes.ports[0]} for 1 s; start "
        f"it, or choose a longer --timeout. The state in {nodes.folder}/state-basic lets this node "
        "go on.\n"
    )
    status, out, error = ended(second)
    assert (status, out) == (1, "")
    assert f"The node exercise has sent nothing to {nodes.ports[2]} for 1 s; start it" in error


def test_an_address_in_use_is_refused(nodes: Nodes) -> None:
    with socket.socket() as holder:
        host, port = nodes.ports[2].split(":")
        holder.bind((host, int(port)))
        holder.listen()
        status, _, error = ended(nodes.start("project"))
    assert status == 1
    assert f"{nodes.ports[2]} is in use by another process; end it or choose another" in error


def test_bytes_of_another_program_disturb_nothing(
    students: Students, nodes: Nodes, data: Path, tmp_path: Path
) -> None:
    last = nodes.start("project")
    host, port = nodes.ports[2].split(":")
    wait_until(lambda: connects(host, int(port)))
    with socket.create_connection((host, int(port))) as foreign:
        foreign.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
        for name in kills.NODES[:3]:
            nodes.start(name)
        assert ended(last)[0] == 0
    assert (tmp_path / "result").read_bytes() == merged(students, data)


def connects(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port)).close()
    except OSError:
        return False
    return True


def test_a_node_begun_anew_alone_is_refused(nodes: Nodes) -> None:
    for each in [nodes.start(name) for name in kills.NODES]:
        assert ended(each)[0] == 0
    shutil.rmtree(nodes.folder / "state-basic")
    first = nodes.start("basic")
    # The first node looks for its neighbour on a thread of its own; the neighbour goes away soon.
    wait_until(lambda: len(list(Path(f"/proc/{first.pid}/task").iterdir())) > 1)
    second = nodes.start("exam", "--timeout", 2)
    status, _, error = ended(first)
    assert status == 1
    assert "The next node refuses: its state is of another run; begin all nodes anew" in error
    assert ended(second)[0] == 0  # the node has ended its work, and only waits for a last message


@pytest.mark.parametrize("place", [1, 3])
def test_a_node_begun_anew_alone_is_refused_when_the_others_have_finished(
    nodes: Nodes, place: int
) -> None:
    for each in [nodes.start(name) for name in kills.NODES]:
        assert ended(each)[0] == 0
    nodes.start(kills.NODES[place], "--fresh")
    host, port = nodes.ports[place - 1].split(":")
    wait_until(lambda: connects(host, int(port)))
    status, _, error = ended(nodes.start(kills.NODES[place - 1]))
    assert status == 1
    assert "The next node refuses: its state has not the end of the stream, which it ackn" in error
    assert "or begin all nodes anew with --fresh." in error


def small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))


def test_a_state_that_may_not_grow_is_one_sentence_and_goes_on_later(
    students: Students, data: Path, tmp_path: Path
) -> None:
    done = students("pipeline", "--in", data, "-o", "result", preexec_fn=small_files)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "(File too large); raise the limit of file sizes (ulimit -f)" in done.stderr
    assert not (tmp_path / "result").exists()
    assert students("pipeline", "--in", data, "-o", "result").returncode == 0
    assert (tmp_path / "result").read_bytes() == merged(students, data)


@pytest.mark.parametrize("kilobytes", [60, 100, 200, 350])
def test_a_full_disk_loses_nothing_that_was_acknowledged(
    executable: Path, students: Students, data: Path, tmp_path: Path, kilobytes: int
) -> None:
    merged(students, data)
    disk = tmp_path / "disk"
    disk.mkdir()
    command = f"{executable} pipeline --in {data} -o {disk}/result"
    script = (
        f"mount -t tmpfs -o size={kilobytes}k none {disk} || exit {mounting.REFUSED}\n"
        f"{command}; echo status $?\n"
        f"mount -o remount,size=50m {disk}\n"
        f"{command} && cmp {disk}/result {tmp_path}/merged && ls {disk}\n"
    )
    done = mounting.run(script)
    assert done.returncode == 0, done
    assert done.stdout.splitlines()[0] == "status 1", done
    assert done.stdout.splitlines()[-1] == "result"
    assert "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("node",), "NODE is required"),
        (("node", "first", "--state", "s"), "There is no node 'first'; choose basic, exam"),
        (("node", "exam"), "--state is required"),
        (("node", "basic", "--state", "s"), "The node basic needs --next ADDRESS"),
        (("node", "basic", "--state", "s", "--listen", "x", "--next", "y"), "leave --listen out"),
        (("node", "exam", "--state", "s", "--next", "x"), "The node exam needs --listen ADDRESS"),
        (
            ("node", "project", "--state", "s", "--listen", "x", "--next", "y"),
            "leave --next out",
        ),
        (
            ("node", "basic", "--state", "s", "--next", "y", "-o", "z"),
            "The node basic writes no result",
        ),
        (("pipeline", "--points", "0"), "--points must be a whole number from 1 to"),
        (("pipeline", "--timeout", "0"), "--timeout must be"),
        (("pipeline", "more"), "more"),
    ],
)
def test_what_cannot_be_understood_is_refused_in_one_sentence(
    refused: Refused, words: tuple[str, ...], said: str
) -> None:
    assert said in refused(2, *words)


def test_an_address_that_is_none_is_refused(nodes: Nodes) -> None:
    nodes.ports[0] = "nowhere"
    status, out, error = ended(nodes.start("basic"))
    assert (status, out) == (2, "")
    assert "--next must be HOST:PORT, such as 127.0.0.1:5555" in error


def test_a_result_in_place_of_a_file_that_is_read_is_refused(
    students: Students, data: Path
) -> None:
    before = (data / "exam-info.txt").read_bytes()
    done = students("pipeline", "--in", data, "-o", data / "exam-info.txt")
    assert done.returncode == 2
    assert "is one of the four files; choose another file with -o." in done.stderr
    assert (data / "exam-info.txt").read_bytes() == before


def test_a_result_in_place_of_a_folder_is_refused_before_anything_is_sent(
    nodes: Nodes, tmp_path: Path
) -> None:
    (tmp_path / "result").mkdir()
    status, out, error = ended(nodes.start("project"))
    assert (status, out) == (1, "")
    assert f"{tmp_path}/result is a folder; remove it or choose another file with -o." in error
    assert not (tmp_path / "state-project").exists()


def test_a_folder_without_the_files_is_refused(students: Students, tmp_path: Path) -> None:
    done = students("pipeline", "-o", "result")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "does not exist; choose the folder of the four files with --in." in done.stderr
    assert not (tmp_path / "result").exists()

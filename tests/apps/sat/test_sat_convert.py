"""tmk-sat convert writes whole files, names every loss, and leaves no part of a file."""

from __future__ import annotations

import json
import re
import signal
import struct
import subprocess
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import mounting
import pytest
from sat_data import REAL

Sat = Callable[..., subprocess.CompletedProcess[str]]
Refused = Callable[..., str]
Point = tuple[float, float, float]


@pytest.fixture(autouse=True)
def _kernel(sat: Sat, tmp_path: Path) -> None:
    """If Open CASCADE is absent, the command prints one sentence with the remedy."""
    done = sat("convert", "absent.sat", "absent.step")
    if "has no shapes" not in done.stderr:
        return
    assert done.returncode == 1
    assert "apt-get install libocct-modeling-algorithms-dev" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    pytest.skip("this build has no Open CASCADE")


@pytest.fixture
def solids(sat: Sat, tmp_path: Path) -> tuple[Path, dict[int, tuple[float, float | None]]]:
    """One solid of each sort, with the volume and area that formulas give."""
    path = tmp_path / "solids.sat"
    done = sat("generate", "-o", path, "--entities", 600, "--seed", 7, "--measures")
    assert (done.returncode, done.stderr) == (0, "")
    found = re.findall(r"body (\d+): volume (\S+) area (\S+)", done.stdout)
    return path, {
        int(number): (float(volume), None if area == "unknown" else float(area))
        for number, volume, area in found
    }


def test_generated_solids_have_the_volume_and_area_of_their_formulas(
    sat: Sat, solids: tuple[Path, dict[int, tuple[float, float | None]]]
) -> None:
    path, exact = solids
    done = sat("convert", path, "solids.brep", "--bodies", "--threads", 2)
    assert (done.returncode, done.stderr) == (0, "")
    counts = re.search(r"^faces +(\d+), made (\d+), valid (\d+)$", done.stdout, re.MULTILINE)
    assert counts
    assert len(set(counts.groups())) == 1
    assert "not valid" not in done.stdout
    rows = re.findall(
        r"body (\d+): volume (\S+) area (\S+) solids 1 sheets 0 free edges 0", done.stdout
    )
    assert len(rows) == len(exact) >= 10
    for number, volume, area in rows:
        exact_volume, exact_area = exact[int(number)]
        assert float(volume) == pytest.approx(exact_volume, rel=1e-6), number
        if exact_area is not None:
            assert float(area) == pytest.approx(exact_area, rel=1e-6), number


def triangles(path: Path) -> list[tuple[Point, Point, Point]]:
    data = path.read_bytes()
    (count,) = struct.unpack_from("<I", data, 80)
    assert len(data) == 84 + 50 * count
    found = []
    for i in range(count):
        n = struct.unpack_from("<12f", data, 84 + 50 * i)
        found.append(((*n[3:6],), (*n[6:9],), (*n[9:12],)))
    return found  # type: ignore[return-value]


def test_an_stl_file_is_closed_and_has_nearly_the_volume(
    sat: Sat, solids: tuple[Path, dict[int, tuple[float, float | None]]], tmp_path: Path
) -> None:
    path, exact = solids
    done = sat("convert", path, "solids.stl")
    assert (done.returncode, done.stderr) == (0, "")
    found = triangles(tmp_path / "solids.stl")
    volume = sum(
        a[0] * (b[1] * c[2] - b[2] * c[1])
        - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
        for a, b, c in found
    )
    assert volume / 6 == pytest.approx(sum(each for each, _ in exact.values()), rel=0.05)
    edges: Counter[tuple[Point, Point]] = Counter()
    for corners in found:
        for i in range(3):
            edges[corners[i], corners[(i + 1) % 3]] += 1
    assert all(edges[b, a] == times for (a, b), times in edges.items() if a != b)


def test_a_gltf_file_and_a_picture_are_whole(sat: Sat, generated: Path, tmp_path: Path) -> None:
    assert sat("convert", generated, "solids.glb").returncode == 0
    data = (tmp_path / "solids.glb").read_bytes()
    magic, version, size, length, kind = struct.unpack_from("<4sIII4s", data)
    assert (magic, version, size, kind) == (b"glTF", 2, len(data), b"JSON")
    document = json.loads(data[20 : 20 + length])
    assert len(document["meshes"]) >= 10
    assert sat("convert", generated, "solids.svg").returncode == 0
    picture = ET.fromstring((tmp_path / "solids.svg").read_text("utf-8"))
    paths = picture.findall("{http://www.w3.org/2000/svg}path")
    assert len(paths) == 2
    assert paths[1].get("d", "").count("M") > 100
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "generated.sat",
        "solids.glb",
        "solids.svg",
    ]


def test_threads_write_the_same_bytes(sat: Sat, generated: Path, tmp_path: Path) -> None:
    for threads in (1, 3):
        name = f"with{threads}.brep"
        assert sat("convert", generated, name, "--threads", threads).returncode == 0
    assert (tmp_path / "with1.brep").read_bytes() == (tmp_path / "with3.brep").read_bytes()


def test_a_face_that_cannot_be_made_is_named_and_left_out_on_request(
    sat: Sat, refused: Refused, generated: Path, tmp_path: Path
) -> None:
    text = generated.read_text("ascii")
    bad = tmp_path / "bad.sat"
    bad.write_text(text.replace("\nsphere-surface", "\nmagic-surface", 1), "ascii")
    sentence = refused(1, "convert", bad, "bad.step")
    found = re.search(r"bad\.sat: line (\d+), record \d+ \(face\)", sentence)
    assert found
    assert text.splitlines()[int(found[1]) - 1].startswith("face ")
    assert "its surface is not there" in sentence
    assert sentence.endswith(" --partial reads what it can of the rest.\n")
    done = sat("convert", bad, "bad.step", "--partial")
    assert (done.returncode, done.stderr) == (1, "")
    assert "PARTIAL     this is not the whole file" in done.stdout
    assert (tmp_path / "bad.step").read_text("ascii").rstrip().endswith("END-ISO-10303-21;")


def test_bad_requests_and_files_are_refused(
    refused: Refused, generated: Path, tmp_path: Path
) -> None:
    assert "must end in .step" in refused(2, "convert", generated, "x.iges")
    assert "out is required" in refused(2, "convert", generated)
    assert "(No such file or directory)" in refused(1, "convert", "absent.sat", "x.step")
    assert "cannot be written" in refused(1, "convert", generated, "absent/x.step")
    cut = tmp_path / "cut.sat"
    cut.write_bytes(generated.read_bytes()[:20000])
    assert "cut.sat: line" in refused(1, "convert", cut, "x.step")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_part_of_a_converted_file(
    sat: Sat, executable: Path, tmp_path: Path, number: signal.Signals
) -> None:
    assert sat("generate", "-o", "many.sat", "--entities", 60_000).returncode == 0
    for _ in range(10):  # on a machine with other work the signal may come too late
        process = subprocess.Popen(
            [executable, "convert", "many.sat", "many.step"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
        )
        end = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        if process.returncode != 0:
            assert (process.returncode, out, err) == (-number, b"", b"")
            assert [each.name for each in tmp_path.iterdir()] == ["many.sat"]
            return
        (tmp_path / "many.step").unlink()
    pytest.fail("no signal came in time")


@pytest.mark.skipif(not REAL, reason="there are no real files")
@pytest.mark.parametrize("path", [each for each in REAL if each.stat().st_size < 60_000])
def test_real_files_become_valid_faces(sat: Sat, path: Path) -> None:
    done = sat("convert", path, "real.brep", "--partial")
    counts = re.search(r"^faces +(\d+), made (\d+), valid (\d+)$", done.stdout, re.MULTILINE)
    assert counts
    faces, _, valid = map(int, counts.groups())
    # Two faces of these files belong to no solid: edges are points, and a plane has no loop.
    lost = 2 if path.name.startswith(("adapy-exactcur_full", "adapy-point_with_refs")) else 0
    assert valid == faces - lost
    assert "ought to be closed" in done.stdout
    assert re.search(r"^free edges +0 ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("ending", ["stl", "glb", "brep", "step", "svg"])
@pytest.mark.parametrize("share", [0, 1], ids=["no room", "but for the last page"])
def test_a_disk_too_small_for_the_last_bytes_is_one_sentence_and_keeps_the_earlier_file(
    executable: Path, sat: Sat, generated: Path, tmp_path: Path, ending: str, share: int
) -> None:
    assert sat("convert", generated, f"x.{ending}").returncode == 0
    whole = tmp_path / f"x.{ending}"
    page = 4096
    pages = (whole.stat().st_size - 1) // page  # all pages but the last one
    # Room for the earlier file and for less than a second one.
    room = (pages + 1 + share * pages) * page
    disk = tmp_path / "disk"
    disk.mkdir()
    script = (
        f"mount -t tmpfs -o size={room} none {disk} || exit {mounting.REFUSED}\n"
        f"cp {whole} {disk}\n"
        f"{executable} convert {generated} {disk}/x.{ending}\n"
        f"echo status $?; cmp {whole} {disk}/x.{ending} && ls -A {disk}\n"
    )
    done = mounting.run(script)
    assert done.stdout.split() == ["status", "1", f"x.{ending}"], done
    assert done.stderr.count("\n") == 1, done.stderr
    assert "cannot be written" in done.stderr

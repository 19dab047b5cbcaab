"""tmk-sat on good files: generated ones, copies of them, and real ones."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from sat_data import REAL

Sat = Callable[..., subprocess.CompletedProcess[str]]


def whole(done: subprocess.CompletedProcess[str]) -> str:
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def classes(text: str) -> Counter[str]:
    """The counts that info prints."""
    found = re.findall(r"^ +(\d+)  (\S+)", text, re.MULTILINE)
    return Counter({name: int(count) for count, name in found})


def test_a_generated_file_is_as_the_schema_wants_it(sat: Sat, generated: Path) -> None:
    text = whole(sat("check", generated))
    assert "fields      all as the schema wants them" in text
    assert "references  all name a record of a fitting class" in text
    assert "lists, rings" in text
    assert "end and close" in text
    assert re.search(r"unknown +none", text)
    assert re.search(r"beyond +none", text)
    assert re.search(r"round trip +equal", text)


def test_a_generated_file_has_all_sorts_of_geometry(sat: Sat, generated: Path) -> None:
    found = classes(whole(sat("info", generated)))
    for name in ("plane", "cone", "sphere", "torus", "spline"):
        assert found[f"{name}-surface"], name
    for name in ("straight-curve", "ellipse-curve", "intcurve-curve", "pcurve"):
        assert found[name], name
    assert found["rgb_color-st-attrib"] == found["body"]
    assert sum(found.values()) >= 3000


def edges_with_their_faces(path: Path) -> dict[str, list[str]]:
    """The senses of the coedges of each edge, by a reader of this test's own."""
    records = [each.split() for each in path.read_text("ascii").split("#\n")]
    uses: dict[str, list[str]] = {}
    for record in records:
        if record and record[0] == "coedge":
            uses.setdefault(record[7], []).append(record[8])
    return uses


def test_each_edge_of_a_generated_solid_is_used_once_in_each_direction(generated: Path) -> None:
    uses = edges_with_their_faces(generated)
    # An apex is an edge that only one loop has.
    apexes = [senses for senses in uses.values() if len(senses) == 1]
    assert 0 < len(apexes) < len(uses) / 10
    others = [sorted(senses) for senses in uses.values() if len(senses) != 1]
    assert others
    assert all(senses == ["forward", "reversed"] for senses in others)


def test_the_seed_decides_the_file_and_its_size_the_entities(sat: Sat, tmp_path: Path) -> None:
    def made(*words: object) -> bytes:
        whole(sat("generate", "-o", "x.sat", *words))
        return (tmp_path / "x.sat").read_bytes()

    assert made("--seed", 3) == made("--seed", 3)
    assert made("--seed", 3) != made("--seed", 4)
    large = made("--entities", 20_000)
    assert 20_000 <= large.count(b"#\n") < 20_300
    assert int(large.split()[1]) == large.count(b"#\n")


@pytest.mark.parametrize("copies", [1, 3])
def test_a_replicated_file_has_everything_so_many_times(
    sat: Sat, generated: Path, tmp_path: Path, copies: int
) -> None:
    once = classes(whole(sat("info", generated)))
    whole(sat("replicate", generated, copies, "-o", "many.sat"))
    text = whole(sat("info", "many.sat"))
    assert classes(text) == Counter({name: copies * count for name, count in once.items()})
    assert re.search(r"round trip +equal", whole(sat("check", "many.sat")))
    if copies == 1:
        whole(sat("write", generated, "-o", "again.sat"))
        again = (tmp_path / "again.sat").read_text("ascii").split()
        assert again == (tmp_path / "many.sat").read_text("ascii").split()


def test_replicated_subtypes_stay_within_their_copy(sat: Sat, tmp_path: Path) -> None:
    path = tmp_path / "curves.sat"
    curves = "".join(
        f"intcurve-curve $-1 -1 $-1 forward {{ {text} }} I I #\n"
        for text in (
            "exactcur 0 full nubs 1 open 2 0 1 1 1 0 0 0 1 1 1 0 { x 1 }",
            "ref 1",
            "ref 0",
        )
    )
    path.write_text(f"2600 0 0 0\n1 a 1 b 1 c\n1 1e-6 1e-10\n{curves}End-of-ACIS-data\n")
    whole(sat("replicate", path, 2, "-o", "two.sat"))
    text = (tmp_path / "two.sat").read_text("ascii")
    assert re.findall(r"\{ (\w+ \d+)", text) == [
        *("exactcur 0", "x 1", "ref 1", "ref 0"),
        *("exactcur 2", "x 3", "ref 3", "ref 2"),
    ]
    whole(sat("check", "two.sat"))


def test_a_number_that_no_subtype_has_is_replicated_as_it_is(sat: Sat, tmp_path: Path) -> None:
    path = tmp_path / "numbers.sat"
    records = "".join(
        f"x-attrib $-1 -1 $-1 $-1 $-1 {{ foo {number} }} #\n" for number in (2**63 - 1, -5, 3, 2)
    )
    path.write_text(f"2600 0 0 0\n1 a 1 b 1 c\n1 1e-6 1e-10\n{records}End-of-ACIS-data\n")
    whole(sat("replicate", path, 2, "-o", "two.sat"))
    text = (tmp_path / "two.sat").read_text("ascii")
    numbers = [int(each) for each in re.findall(r"\{ foo (-?\d+) \}", text)]
    assert numbers == [2**63 - 1, -5, 3, 2, 2**63 - 1, -5, 7, 6]


def test_mapping_says_how_long_each_step_took_in_every_form(sat: Sat, generated: Path) -> None:
    forms = re.findall(r"^ +(\w+): ", whole(sat("map", "--help")), re.MULTILINE)
    assert {"from_chars", "tmk_text", "streams", "streams_imbue", "streams_reused"} <= set(forms)
    for form in forms:
        text = whole(sat("map", generated, "--form", form, "--threads", 2, "--counted"))
        assert f"{form}, 2 threads" in text
        for step in ("framing", "pass 1", "pass 2", "mapping", "verifying"):
            assert re.search(rf"^{step} +[\d.]+ ms +[\d.]+ MB/s$", text, re.MULTILINE)
        assert re.search(r"^memory .*times the file", text, re.MULTILINE)


def test_check_lists_classes_printably_and_the_most_frequent_ones_only(
    sat: Sat, tmp_path: Path
) -> None:
    records = "".join(f"class_{i:03} 1 #\n" for i in range(100))
    path = tmp_path / "classes.sat"
    path.write_text(
        "700 0 0 0\n1 a 1 b 1 c\n1 1e-6 1e-10\n"
        f"{records}often\x1b[31m 1 #\noften\x1b[31m 1 #\nEnd-of-ACIS-data\n"
    )
    text = whole(sat("check", path))
    assert re.search(r"unknown +2 often\?\[31m, 1 class_000, .* and 81 more classes \(kept", text)
    assert "\x1b" not in text


@pytest.mark.skipif(not REAL, reason="no real files")
def test_every_real_file_passes_its_check(sat: Sat) -> None:
    for path in REAL:
        text = whole(sat("check", path))
        assert re.search(r"round trip +equal", text), path
        assert whole(sat("info", path)).startswith("file "), path


@pytest.mark.skipif(not REAL, reason="no real files")
def test_real_files_are_replicated_with_all_that_is_not_understood(sat: Sat) -> None:
    for path in REAL:
        if path.stat().st_size < 200_000:
            whole(sat("replicate", path, 3, "-o", "three.sat"))
            assert re.search(r"round trip +equal", whole(sat("check", "three.sat"))), path

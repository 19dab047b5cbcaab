"""explain as a helper of another command: the variables of a fix reach the program alone; an
interrupt."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from threadmark.fixes.fix import Setting
from threadmark.kinds.explain import briefly, invocation, probe
from threadmark.kinds.explain.briefly import explained
from threadmark.kinds.explain.output import Output
from threadmark.model.errors import LabError
from threadmark.model.workload import Workload

WORKLOAD = Workload(
    ("./prog", "{threads}"), threads="1,4", threads_env="N", ready="ready", load="load"
)
FIX = Setting({"A": "new"}, ("/x.so",), prefix=("nice",), threads=2)
CAUSE = {
    "category": "run_queue", "name": "n", "knowledge": None, "bound": 1.3, "share": 0.4,
    "words": "w", "where": "", "certain": True,
}  # fmt: skip
ANSWER = {"causes": [CAUSE], "fixes": [{"name": "batch", "bound": 1.4}]}


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments of the recorder. It records nothing, unless `record` is set."""
    seen: dict[str, Any] = {"interrupted": False, "record": b""}

    def record(
        options: Sequence[str], into: Path, *, apart: bool, environment: Mapping[str, str],
        output: Output,
    ) -> int:  # fmt: skip
        seen.update(options=list(options), environment=dict(environment))
        into.write_bytes(seen["record"])
        output.interrupted = seen["interrupted"]
        return 3

    monkeypatch.setattr(probe, "record", record)
    return seen


def test_the_variables_of_a_fix_are_for_the_recorded_program_alone(
    recorded: dict[str, Any], tmp_path: Path
) -> None:
    environment = {"PATH": os.environ["PATH"], "A": "old", "LD_PRELOAD": "/own.so"}
    with pytest.raises(LabError, match=r"Nothing was recorded .the recorder's status is 3"):
        explained(WORKLOAD, FIX, environment, tmp_path / "s.db")
    assert recorded["environment"] == {**environment, "N": "4"}
    options = recorded["options"]
    at = options.index("--")
    assert options[at + 1 :] == ["nice", "./prog", "2"]
    given = [options[i + 1] for i, each in enumerate(options[:at]) if each == "--set"]
    assert sorted(given) == ["A=new", "LD_PRELOAD=/x.so:/own.so", "N=2"]
    assert not list(tmp_path.glob("*.tmr"))


def test_an_interrupt_of_the_recording_ends_the_command(
    recorded: dict[str, Any], tmp_path: Path
) -> None:
    recorded["interrupted"] = True
    with pytest.raises(KeyboardInterrupt):
        explained(WORKLOAD, FIX, {}, tmp_path / "s.db")


def test_each_cause_comes_with_its_bound_and_the_fixes_for_it(
    recorded: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded["record"] = b"x"
    monkeypatch.setattr(invocation, "analysed", lambda *_: (5, ANSWER))
    monkeypatch.setattr(briefly, "summary", lambda _: "40 % n")
    found = explained(WORKLOAD, FIX, {}, tmp_path / "s.db")
    assert (tmp_path / "explain-s-5.tmr").read_bytes() == b"x"
    (about,) = found["about"]
    assert about["bound"] == 1.3
    assert found["bounds"] == {"batch": 1.4}
    assert "batch" in about["fixes"]
    assert "jemalloc" not in about["fixes"]
    assert json.dumps(found)

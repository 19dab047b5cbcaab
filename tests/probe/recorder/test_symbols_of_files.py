"""The symbols and the code of mapped files in a record."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from recorder_support import Recorder

Compile = Callable[..., Path]


def test_frames_and_samples_have_their_symbol_and_code(
    recorder: Recorder, compiled: Compile, agent: str
) -> None:
    target = compiled("on_stack.cpp")
    recorder.run(target, options=("--agent", agent))
    record = recorder.read()
    own = {each["id"] for each in record.all("module") if each["path"] == str(target)}
    symbols = [each for each in record.all("symbol") if each["module"] in own]
    assert len(symbols) == len({(each["address"], each["data"]) for each in symbols})
    functions = {each["name"]: each for each in symbols if not each["data"]}
    assert {"main", "_Z12own_the_lockv"} <= set(functions)
    code = target.read_bytes()
    for stack in record.all("stack"):
        for number, (module, address) in enumerate(stack["frames"]):
            call = address - (0 if stack["exact"] and number == 0 else 1)
            if module in own and number > 0:
                assert any(s["address"] <= call < s["address"] + s["size"] for s in symbols)
            elif module in own and stack["exact"]:
                assert any(
                    c["address"] <= address <= c["address"] + len(c["bytes"]) // 2
                    for c in record.all("code")
                )
    pieces = [bytes.fromhex(c["bytes"]) for c in record.all("code") if c["module"] in own]
    assert all(piece in code for piece in pieces)


def test_a_file_that_became_a_pipe_is_left_out(
    recorder: Recorder, compiled: Compile, agent: str, tmp_path: Path
) -> None:
    shutil.copy(compiled("on_stack.cpp"), tmp_path / "own")
    change = f"cd {tmp_path}; ./own & sleep 0.3; rm own; mkfifo own; wait"
    done = recorder.run("sh", "-c", change, options=("--follow", "--agent", agent))
    assert done.returncode == 0
    record = recorder.read()
    paths = {each["id"]: each["path"] for each in record.all("module")}
    named = {paths[each["module"]] for each in record.all("symbol")}
    assert any(path.endswith("libc.so.6") for path in named)
    assert not any("own" in Path(path).name for path in named)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code is for x86-64")
def test_code_that_was_made_at_run_time_has_the_name_that_the_program_wrote(
    recorder: Recorder, compiled: Compile
) -> None:
    done = recorder.run(compiled("made_code.cpp"))
    Path(done.stdout.strip()).unlink()
    record = recorder.read()
    (made,) = [each for each in record.all("symbol") if each["module"] == 0]
    assert (made["name"], made["size"]) == ("py::count down:/a b.py", 10)
    inner = {each["id"]: each["frames"][0] for each in record.all("stack") if each["frames"]}
    samples = [inner[each["stack"]] for each in record.all("sample") if each["stack"] in inner]
    inside = [module == 0 and 0 <= at - made["address"] < 10 for module, at in samples]
    assert sum(inside) > len(inside) // 2

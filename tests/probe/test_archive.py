"""The recorder works from an archive of two files, without any other file of this project."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from threadmark.kinds.explain import probe
from threadmark.model.errors import LabError
from threadmark.model.places import ROOT


def test_two_files_alone_record_a_program(tmp_path: Path) -> None:
    try:
        probe.recorder(build=False)
    except LabError as problem:
        pytest.skip(str(problem))
    archive = tmp_path / "recorder.tar.gz"
    script = [sys.executable, str(ROOT / "tools/recorder_archive")]
    subprocess.run([*script, "--output", str(archive)], check=True)
    with tarfile.open(archive) as opened:
        assert len(opened.getnames()) == 2
        opened.extractall(tmp_path, filter="data")
    recorder = tmp_path / "threadmark-record/threadmark-record"
    record = tmp_path / "true.tmr"
    line = [str(recorder), "-o", str(record), "--", "/bin/sh", "-c", "true"]
    done = subprocess.run(
        line, check=False, capture_output=True, text=True, cwd=tmp_path, env={"PATH": "/bin"}
    )
    assert done.returncode == 0, done.stderr
    assert probe.is_record(record)
    assert probe.load(record).command

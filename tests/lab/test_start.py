"""The start of the command line, before any command is known."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
from threadmark import __main__ as start


def test_an_interrupt_while_modules_are_loaded_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = builtins.__import__

    def interrupted(name: str, *rest: Any, **more: Any) -> Any:
        if name == "threadmark.cli":
            raise KeyboardInterrupt
        return known(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    assert start.run() == 130
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "threadmark: interrupted before the command began.\n")

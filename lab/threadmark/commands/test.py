"""`threadmark test`: the ordinary builds and their tests."""

from __future__ import annotations

import cyclopts

from threadmark.options import InstallOption


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(test)


def test(*, install: InstallOption = True) -> int:
    """Set up, build and run the tests of every platform and of the lab."""
    from threadmark.checks import Level
    from threadmark.commands.check import perform

    return perform(Level.TEST, (), install=install)

"""`threadmark test`: the ordinary builds and their tests."""

from __future__ import annotations

import cyclopts

from threadmark.options import InstallOption


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(test)


def test(*, install: InstallOption = True) -> int:
    """Set up, build and run the tests of every platform and of the lab."""
    from threadmark.commands.check import perform
    from threadmark.setup.checks import Level

    return perform(Level.TEST, (), install=install)

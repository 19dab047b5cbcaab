"""`threadmark lengths`."""

from __future__ import annotations

import cyclopts
from threadmark.model.request import Request
from threadmark.options import Measuring


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(lengths)


def lengths(*, measuring: Measuring = Measuring()) -> int:
    """Measure the time that programs take."""
    from threadmark.kinds.lengths.kind import KIND, PROFILE
    from threadmark.kinds.session import perform

    return perform(KIND, measuring, Request(profile=PROFILE.name, size=PROFILE.size))

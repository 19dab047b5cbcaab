"""`threadmark letters TEXT`."""

from __future__ import annotations

import cyclopts
from threadmark.options import DEFAULT_STORE, StoreOption


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(letters)


def letters(text: str, *, store: StoreOption = DEFAULT_STORE) -> int:
    """Count the letters of a text, and keep the result as a run."""
    from threadmark.kinds.letters.kind import KIND
    from threadmark.store.store import Store

    with Store.open(store, create=True) as opened, opened.at_once():
        number = opened.start_run(KIND.profiles[0], 0, {"text": text}, {})
        opened.finish(number)
    return 0
